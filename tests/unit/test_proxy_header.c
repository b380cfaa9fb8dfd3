/* test_proxy_header.c -- PROXY headers of both versions, at every split point. */
#include "lib/fixture.h"
#include "lib/test.h"
#include "net/proxy_header.h"

#define MARK "\r\n\r\n\0\r\nQUIT\n"

/* Reads a copy that ends where the bytes do. */
static ssize_t read_exactly(str bytes, struct proxy_header *ret)
{
    char *exact = exact_copy(bytes);
    struct err e = {.code = ERR_NONE};
    ssize_t used = proxy_header_read(str_from(exact, bytes.len), ret, &e);

    if (used == -1)
        assert_non_null(strstr(e.msg, "no PROXY header: "));
    free(exact);
    return used;
}

/* Whole as soon as its last byte is there, whatever follows, and never before. */
static void reads_as(str header, const char *client)
{
    struct proxy_header got;
    struct buf more = {.limit = 0};

    for (size_t n = 0; n < header.len; n++)
        assert_int_equal(read_exactly(str_from(header.p, n), &got), 0);
    buf_append(&more, header);
    for (int i = 0; i < 300; i++) {
        assert_int_equal(read_exactly(buf_str(&more), &got), header.len);
        assert_int_equal(got.keeps_peer, client == NULL);
        assert_string_equal(got.client, client == NULL ? "" : client);
        buf_char(&more, "GET / HTTP/1.1\r\n\0"[i % 17]);
    }
    buf_fini(&more);
}

/* Refused at some byte, and at all that follow. */
static void is_refused(str header)
{
    struct proxy_header got;
    bool is_over = false;

    for (size_t n = 0; n <= header.len; n++) {
        ssize_t used = read_exactly(str_from(header.p, n), &got);

        if (used > 0 || (is_over && used != -1))
            fail_msg("%zu bytes of %.*s are taken for a header", n, STR_ARG(header));
        is_over = used == -1;
    }
    assert_true(is_over);
}

static void lines_name_a_client(void **state)
{
    (void)state;
    reads_as(STR("PROXY TCP4 192.0.2.7 198.51.100.1 54321 443\r\n"), "192.0.2.7");
    reads_as(STR("PROXY TCP4 255.255.255.255 255.255.255.255 65535 65535\r\n"), "255.255.255.255");
    reads_as(STR("PROXY TCP6 2001:DB8:0:0::7 ::1 0 0\r\n"), "2001:db8::7");
    reads_as(STR("PROXY TCP6 ::ffff:192.0.2.7 ::1 1 2\r\n"), "192.0.2.7");
    reads_as(STR("PROXY UNKNOWN\r\n"), NULL);
    reads_as(STR("PROXY UNKNOWN ffff:f...f:ffff ffff:f...f:ffff 65535 65535\r\n"), NULL);
}

static void other_lines_are_refused(void **state)
{
    static const char *const lines[] = {
        "GET / HTTP/1.1\r\n",
        "PROXY\r\n",
        "proxy TCP4 192.0.2.7 198.51.100.1 1 2\r\n",
        "PROXY TCP4 192.0.2.7 198.51.100.1 1 2\n",
        "PROXY TCP4  192.0.2.7 198.51.100.1 1 2\r\n",
        "PROXY TCP4 192.0.2.7 198.51.100.1 1 2 \r\n",
        "PROXY TCP4 192.0.2.7 198.51.100.1 1\r\n",
        "PROXY TCP4 192.0.2.7 198.51.100.1 1 65536\r\n",
        "PROXY TCP4 192.0.2.7 198.51.100.1 -1 2\r\n",
        "PROXY TCP4 192.0.2.256 198.51.100.1 1 2\r\n",
        "PROXY TCP4 192.0.2.7 host 1 2\r\n",
        "PROXY TCP4 ::1 ::1 1 2\r\n",
        "PROXY TCP6 192.0.2.7 198.51.100.1 1 2\r\n",
        "PROXY UDP4 192.0.2.7 198.51.100.1 1 2\r\n",
        "PROXY UNKNOWNTCP4 192.0.2.7 198.51.100.1 1 2\r\n",
        ("PROXY UNKNOWN xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
         "xxxxxxxxxxxxxxxx\r\n"),
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(lines); i++)
        is_refused(str_from_c(lines[i]));
}

/* The fixed part, and what is said to be behind it. */
static str block(struct buf *out, unsigned version_and_command, unsigned family, str rest)
{
    buf_reset(out);
    buf_append(out, STR(MARK));
    buf_char(out, (char)version_and_command);
    buf_char(out, (char)family);
    buf_char(out, (char)(rest.len >> 8));
    buf_char(out, (char)rest.len);
    buf_append(out, rest);
    return buf_str(out);
}

#define V4    "\xc0\0\2\7\xc6\x33\x64\1\1\2\3\4"
#define V6    "\x20\1\xd\xb8\0\0\0\0\0\0\0\0\0\0\0\7" V6_TO "\1\2\3\4"
#define V6_TO "\x20\1\xd\xb8\0\0\0\0\0\0\0\0\0\0\0\1"
#define MAPPED                                                                                     \
    "\0\0\0\0\0\0\0\0\0\0\xff\xff\xc0\0\2\7"                                                       \
    "\0\0\0\0\0\0\0\0\0\0\xff\xff\xc6\x33\x64\1"                                                   \
    "\1\2\3\4"

static void blocks_name_a_client(void **state)
{
    struct buf out = {.limit = 0};
    char long_rest[PROXY_HEADER_MOST - 16] = V4, two_paths[216] = "/a";

    (void)state;
    reads_as(block(&out, 0x21, 0x11, STR(V4)), "192.0.2.7");
    reads_as(block(&out, 0x21, 0x11, STR(V4 "\3\0\4abcd")),
             "192.0.2.7"); /* and more, which is skipped */
    reads_as(block(&out, 0x21, 0x21, STR(V6)), "2001:db8::7");
    reads_as(block(&out, 0x21, 0x21, STR(MAPPED)), "192.0.2.7");
    reads_as(block(&out, 0x21, 0x31, str_from(two_paths, sizeof(two_paths))), "unix");
    reads_as(block(&out, 0x21, 0x00, STR("")), NULL);
    reads_as(block(&out, 0x20, 0x00, STR("")), NULL);
    reads_as(block(&out, 0x20, 0x11, STR(V4)), NULL);
    reads_as(block(&out, 0x21, 0x11, str_from(long_rest, sizeof(long_rest))), "192.0.2.7");
    buf_fini(&out);
}

static void other_blocks_are_refused(void **state)
{
    struct buf out = {.limit = 0};
    char long_rest[PROXY_HEADER_MOST - 15] = V4;

    (void)state;
    is_refused(STR("\r\n\r\n\0\r\nQUIT\r"));
    is_refused(block(&out, 0x11, 0x11, STR(V4)));
    is_refused(block(&out, 0x22, 0x11, STR(V4)));
    is_refused(block(&out, 0x21, 0x12, STR(V4))); /* datagrams */
    is_refused(block(&out, 0x21, 0x41, STR(V4)));
    is_refused(block(&out, 0x21, 0x11, STR("\xc0\0\2\7\xc6\x33\x64\1\1\2\3")));
    is_refused(block(&out, 0x21, 0x21, STR(V4)));
    is_refused(block(&out, 0x21, 0x31, STR("/a")));
    is_refused(block(&out, 0x21, 0x11, str_from(long_rest, sizeof(long_rest))));
    buf_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_name_a_client),
        cmocka_unit_test(other_lines_are_refused),
        cmocka_unit_test(blocks_name_a_client),
        cmocka_unit_test(other_blocks_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
