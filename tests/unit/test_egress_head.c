/* test_egress_head.c -- heads of requests to a proxy: what is read, refused and written. */
#include "lib/fixture.h"
#include "lib/test.h"
#include "sandbox/egress_head.h"

/* Reads a copy of exactly its size; the views in *ret point into *ret_copy. */
static const char *read_head(const char *text, struct egress_head *ret, char **ret_copy)
{
    str head = str_from_c(text);

    *ret_copy = exact_copy(head);
    assert_int_equal(egress_head_length(str_from(*ret_copy, head.len)), head.len);
    return egress_head_read(str_from(*ret_copy, head.len), ret);
}

static void assert_written(const char *text, const char *expected)
{
    struct egress_head head;
    struct buf out = {0};
    char *copy;

    assert_null(read_head(text, &head, &copy));
    egress_head_write(&head, &out);
    assert_str_c(buf_str(&out), expected);
    buf_fini(&out);
    free(copy);
}

static void assert_target(const char *text, const char *host, uint16_t port)
{
    struct egress_head head;
    char *copy;

    assert_null(read_head(text, &head, &copy));
    assert_str_c(head.host, host);
    assert_int_equal(head.port, port);
    free(copy);
}

static void assert_refused(const char *text)
{
    struct egress_head head;
    char *copy;

    if (read_head(text, &head, &copy) == NULL)
        fail_msg("taken: %s", text);
    free(copy);
}

static void a_head_ends_with_its_empty_line(void **state)
{
    (void)state;
    assert_int_equal(egress_head_length(STR("")), 0);
    assert_int_equal(egress_head_length(STR("CONNECT a:443 HTTP/1.1\r\n\r")), 0);
    assert_int_equal(egress_head_length(STR("CONNECT a:443 HTTP/1.1\n\n")), 0);
    assert_int_equal(egress_head_length(STR("A\r\n\r\nmore\r\n\r\n")), 5);
}

static void host_and_port_are_read_in_every_form(void **state)
{
    (void)state;
    assert_target("CONNECT example.org:443 HTTP/1.1\r\nHost: x\r\n\r\n", "example.org", 443);
    assert_target("CONNECT example.org.:443 HTTP/1.0\r\n\r\n", "example.org", 443);
    assert_target("CONNECT [2001:db8::1]:443 HTTP/1.1\r\n\r\n", "2001:db8::1", 443);
    assert_target("GET http://example.org HTTP/1.1\r\n\r\n", "example.org", 80);
    assert_target("GET HTTP://example.org:8080/a:b@c HTTP/1.1\r\n\r\n", "example.org", 8080);
    assert_target("GET http://example.org:/ HTTP/1.1\r\n\r\n", "example.org", 80);
    assert_target("GET http://[::1]/ HTTP/1.1\r\n\r\n", "::1", 80);
    assert_target("GET http://example.org?q=/ HTTP/1.1\r\n\r\n", "example.org", 80);
}

static void what_is_not_clearly_a_proxy_request_is_refused(void **state)
{
    static const char *const heads[] = {
        "\r\n\r\n",
        "CONNECT example.org HTTP/1.1\r\n\r\n",
        "CONNECT example.org:0 HTTP/1.1\r\n\r\n",
        "CONNECT example.org:65536 HTTP/1.1\r\n\r\n",
        "CONNECT example.org:443x HTTP/1.1\r\n\r\n",
        "CONNECT :443 HTTP/1.1\r\n\r\n",
        "CONNECT ::1:443 HTTP/1.1\r\n\r\n",
        "CONNECT [::1:443 HTTP/1.1\r\n\r\n",
        "CONNECT [::1]443 HTTP/1.1\r\n\r\n",
        "CONNECT [::1]x:443 HTTP/1.1\r\n\r\n",
        "CONNECT [example.org]:443 HTTP/1.1\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: example.org\r\n\r\n",
        "GET https://example.org/ HTTP/1.1\r\n\r\n",
        "GET ftp://example.org/ HTTP/1.1\r\n\r\n",
        "GET http:///path HTTP/1.1\r\n\r\n",
        "GET http://user:pw@example.org/ HTTP/1.1\r\n\r\n",
        "GET http://user@example.org/ HTTP/1.1\r\n\r\n",
        "GET http://a@b@example.org/ HTTP/1.1\r\n\r\n",
        "GET http://example.org\\@b/ HTTP/1.1\r\n\r\n",
        "CONNECT user@example.org:443 HTTP/1.1\r\n\r\n",
        "GET http://example.org/#x HTTP/1.1\r\n\r\n",
        "GET http://example.org/a b HTTP/1.1\r\n\r\n",
        "GET http://ex\xc3\xa4mple.org/ HTTP/1.1\r\n\r\n",
        "GET  http://example.org/ HTTP/1.1\r\n\r\n",
        "GET http://example.org/ HTTP/2.0\r\n\r\n",
        "GET http://example.org/\r\n\r\n",
        "G(T http://example.org/ HTTP/1.1\r\n\r\n",
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(heads); i++)
        assert_refused(heads[i]);
}

#define GET "GET http://example.org/ HTTP/1.1\r\n"

static void fields_that_two_could_read_in_two_ways_are_refused(void **state)
{
    static const char *const heads[] = {
        GET "Content-Length: 1\r\nContent-Length: 1\r\n\r\n",
        GET "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
        GET "Content-Length: -1\r\n\r\n",
        GET "Content-Length: 1, 1\r\n\r\n",
        GET "Content-Length:\r\n\r\n",
        GET "Transfer-Encoding: gzip, chunked\r\n\r\n",
        GET "Name : value\r\n\r\n",
        GET " folded: value\r\n\r\n",
        GET "no colon\r\n\r\n",
        GET ": value\r\n\r\n",
        GET "a: b\nHost: evil.org\r\n\r\n",
        GET "a: b\rHost: evil.org\r\n\r\n",
        GET "a\nb: c\r\n\r\n",
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(heads); i++)
        assert_refused(heads[i]);
}

static void the_length_of_a_body_is_known(void **state)
{
    static const struct {
        const char *head;
        uint64_t body_bytes;
    } cases[] = {
        {GET "\r\n", 0},
        {GET "content-length: 17\r\n\r\n", 17},
        {GET "Transfer-Encoding: Chunked\r\n\r\n", UINT64_MAX},
        {"CONNECT a:443 HTTP/1.1\r\n\r\n", UINT64_MAX},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct egress_head head;
        char *copy;

        assert_null(read_head(cases[i].head, &head, &copy));
        assert_true(head.body_bytes == cases[i].body_bytes);
        free(copy);
    }
}

static void the_server_gets_what_was_meant_for_it(void **state)
{
    (void)state;
    assert_written("POST http://example.org:8080/p?q HTTP/1.1\r\nHost: evil.org\r\nA: b\r\n"
                   "Proxy-Authorization: secret\r\nConnection: keep-alive\r\n"
                   "proxy-connection: keep-alive\r\nContent-Length: 3\r\n\r\n",
                   "POST /p?q HTTP/1.1\r\nHost: example.org:8080\r\nA: b\r\nContent-Length: 3\r\n"
                   "Connection: close\r\n\r\n");
    assert_written("GET http://example.org HTTP/1.0\r\n\r\n",
                   "GET / HTTP/1.0\r\nHost: example.org\r\nConnection: close\r\n\r\n");
    assert_written("GET http://example.org?a HTTP/1.1\r\n\r\n",
                   "GET /?a HTTP/1.1\r\nHost: example.org\r\nConnection: close\r\n\r\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_head_ends_with_its_empty_line),
        cmocka_unit_test(host_and_port_are_read_in_every_form),
        cmocka_unit_test(what_is_not_clearly_a_proxy_request_is_refused),
        cmocka_unit_test(fields_that_two_could_read_in_two_ways_are_refused),
        cmocka_unit_test(the_length_of_a_body_is_known),
        cmocka_unit_test(the_server_gets_what_was_meant_for_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
