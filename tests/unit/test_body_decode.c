/* test_body_decode.c -- compressed bodies: made with the libraries' own
 * compressors, then cut, bent and blown up. */
#include <zlib.h>
#include <zstd.h>

#include "base/budget.h"
#include "base/buf.h"
#include "http/body_decode.h"
#include "lib/fixture.h"
#include "lib/test.h"

enum { MIB = 1024 * 1024 };

/* ---- compressors */

static struct buf zlib_packed(str text, int window_bits)
{
    struct buf out = {.limit = 0};
    z_stream z = {.next_in = (unsigned char *)(uintptr_t)text.p, .avail_in = (uInt)text.len};

    assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, window_bits, 8, Z_DEFAULT_STRATEGY), Z_OK);
    z.avail_out = (uInt)deflateBound(&z, text.len);
    z.next_out = (unsigned char *)buf_reserve(&out, z.avail_out);
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    out.len = z.total_out;
    assert_int_equal(deflateEnd(&z), Z_OK);
    return out;
}

static struct buf gzip_packed(str text)
{
    return zlib_packed(text, 15 + 16);
}

static struct buf deflate_packed(str text)
{
    return zlib_packed(text, 15);
}

/* With a checksum, and as a stream of unknown length: its window is really needed. */
static struct buf zstd_packed_with(str text, int window_log)
{
    struct buf out = {.limit = 0};
    size_t room = ZSTD_compressBound(text.len) + 64;
    ZSTD_outBuffer to = {buf_reserve(&out, room), room, 0};
    ZSTD_inBuffer from = {text.p, text.len, 0};
    ZSTD_CCtx *z = ZSTD_createCCtx();

    assert_non_null(z);
    (void)ZSTD_CCtx_setParameter(z, ZSTD_c_checksumFlag, 1);
    (void)ZSTD_CCtx_setParameter(z, ZSTD_c_windowLog, window_log);
    assert_int_equal(ZSTD_compressStream2(z, &to, &from, ZSTD_e_flush), 0);
    assert_int_equal(ZSTD_compressStream2(z, &to, &from, ZSTD_e_end), 0);
    out.len = to.pos;
    (void)ZSTD_freeCCtx(z);
    return out;
}

static struct buf zstd_packed(str text)
{
    return zstd_packed_with(text, 20);
}

static const struct {
    const char *name;
    struct buf (*pack)(str text);
} codings[] = {
    {"gzip", gzip_packed},       {"x-gzip", gzip_packed}, {"GZip", gzip_packed},
    {"deflate", deflate_packed}, {"zstd", zstd_packed},
};

/* ---- bodies */

static struct buf words(size_t n)
{
    struct chance chance = {0};
    struct buf out = {.limit = 0};

    while (out.len < n)
        buf_char(&out, (char)('a' + chance_below(&chance, 20)));
    return out;
}

static struct buf zeros(size_t n)
{
    struct buf out = {.limit = 0};

    memset(buf_reserve(&out, n), 0, n);
    out.len = n;
    return out;
}

/* Decodes from a block of exactly the body's size. */
static int decode(const char *coding, str body, size_t limit, struct buf *out, struct err *e)
{
    char *exact = exact_copy(body);
    int rc;

    buf_init(out, limit);
    rc = body_decode(str_from_c(coding), str_from(exact, body.len), out, e);
    free(exact);
    return rc;
}

static void assert_refused(const char *coding, str body, size_t limit, int status)
{
    struct buf out;
    struct err e;

    assert_int_equal(decode(coding, body, limit, &out, &e), -1);
    assert_int_equal(err_http_status(&e), status);
    assert_true(limit == 0 || out.len <= limit);
    buf_fini(&out);
}

/* ---- claims */

static void every_coding_gives_back_what_was_packed(void **state)
{
    static const size_t sizes[] = {0, 1, 100, 16383, 16384, 16385, 200000};

    (void)state;
    for (size_t i = 0; i < COUNT_OF(codings) * COUNT_OF(sizes); i++) {
        const char *name = codings[i % COUNT_OF(codings)].name;
        struct buf text = words(sizes[i / COUNT_OF(codings)]), out;
        struct buf packed = codings[i % COUNT_OF(codings)].pack(buf_str(&text));
        struct err e;

        assert_int_equal(decode(name, buf_str(&packed), 0, &out, &e), 0);
        assert_true(str_eq(buf_str(&out), buf_str(&text)));
        buf_fini(&text);
        buf_fini(&packed);
        buf_fini(&out);
    }
}

static void several_members_or_frames_are_one_body(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(codings); i++) {
        struct buf one = codings[i].pack(STR("one ")), two = codings[i].pack(STR("two")), out;
        struct err e;

        buf_append(&one, buf_str(&two));
        if (strcmp(codings[i].name, "deflate") == 0) {
            assert_refused("deflate", buf_str(&one), 0, 400);
        } else {
            assert_int_equal(decode(codings[i].name, buf_str(&one), 0, &out, &e), 0);
            assert_str_c(buf_str(&out), "one two");
            buf_fini(&out);
        }
        buf_fini(&one);
        buf_fini(&two);
    }
}

static void a_body_cut_anywhere_is_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(codings); i++) {
        struct buf text = words(300);
        struct buf packed = codings[i].pack(buf_str(&text));

        for (size_t n = 0; n < packed.len; n++)
            assert_refused(codings[i].name, str_from(packed.p, n), 0, 400);
        buf_fini(&text);
        buf_fini(&packed);
    }
}

static void bytes_behind_the_end_are_refused(void **state)
{
    static const char *const tails[] = {"x", "{}", "garbage garbage garbage"};

    (void)state;
    for (size_t i = 0; i < COUNT_OF(codings) * COUNT_OF(tails); i++) {
        struct buf packed = codings[i % COUNT_OF(codings)].pack(STR("{\"model\":\"m\"}"));

        buf_c(&packed, tails[i / COUNT_OF(codings)]);
        assert_refused(codings[i % COUNT_OF(codings)].name, buf_str(&packed), 0, 400);
        buf_fini(&packed);
    }
}

/* A bit of gzip's header may say nothing; the text itself is under a checksum. */
static void a_flipped_bit_is_an_error_or_changes_nothing(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(codings); i++) {
        struct buf text = words(200);
        struct buf packed = codings[i].pack(buf_str(&text)), out;
        struct err e;

        for (size_t bit = 0; bit < packed.len * 8; bit++) {
            packed.p[bit / 8] = (char)(packed.p[bit / 8] ^ (1 << (bit % 8)));
            if (decode(codings[i].name, buf_str(&packed), 4096, &out, &e) == 0)
                assert_true(str_eq(buf_str(&out), buf_str(&text)));
            buf_fini(&out);
            packed.p[bit / 8] = (char)(packed.p[bit / 8] ^ (1 << (bit % 8)));
        }
        buf_fini(&text);
        buf_fini(&packed);
    }
}

static void the_limit_is_exact_and_is_named(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(codings); i++) {
        struct buf text = words(40000), out;
        struct buf packed = codings[i].pack(buf_str(&text));
        struct err e;

        assert_int_equal(decode(codings[i].name, buf_str(&packed), 40000, &out, &e), 0);
        buf_fini(&out);
        assert_int_equal(decode(codings[i].name, buf_str(&packed), 39999, &out, &e), -1);
        assert_int_equal(err_http_status(&e), 413);
        assert_non_null(strstr(e.msg, "39999"));
        buf_fini(&out);
        buf_fini(&text);
        buf_fini(&packed);
    }
}

static void a_bomb_takes_no_more_memory_than_the_limit_allows(void **state)
{
    struct buf text = zeros(64 * MIB);

    (void)state;
    for (size_t i = 0; i < COUNT_OF(codings); i++) {
        struct buf packed = codings[i].pack(buf_str(&text)), out;
        struct err e;

        assert_true(packed.len < 100 * 1024);
        assert_int_equal(decode(codings[i].name, buf_str(&packed), MIB, &out, &e), -1);
        assert_int_equal(err_http_status(&e), 413);
        assert_true(out.cap <= 2 * MIB);
        buf_fini(&out);
        buf_fini(&packed);
    }
    buf_fini(&text);
}

static void a_zstd_window_of_more_than_8_mib_is_refused(void **state)
{
    struct buf largest = zstd_packed_with(STR("{}"), 23), larger = zstd_packed_with(STR("{}"), 24);
    struct buf out;
    struct err e;

    (void)state;
    assert_int_equal(decode("zstd", buf_str(&largest), 0, &out, &e), 0);
    buf_fini(&out);
    assert_int_equal(decode("zstd", buf_str(&larger), 0, &out, &e), -1);
    assert_non_null(strstr(e.msg, "8 MiB"));
    buf_fini(&out);
    buf_fini(&largest);
    buf_fini(&larger);
}

/* ---- in slices, and by ratio */

static enum body_decoder_state run_all(struct body_decoder *d, size_t slice, const struct buf *out,
                                       struct err *e)
{
    enum body_decoder_state state;
    size_t before;

    do {
        before = out->len;
        state = body_decoder_run(d, slice, e);
        assert_true(out->len - before < slice + (size_t)16 * 1024);
    } while (state == BODY_DECODER_MORE);
    return state;
}

static void slices_of_any_size_come_to_the_same(void **state)
{
    static const size_t slices[] = {1, 1000, 16384, 16385, 100000, SIZE_MAX / 2};
    struct buf text = words(300000);

    (void)state;
    for (size_t i = 0; i < COUNT_OF(codings) * COUNT_OF(slices); i++) {
        const char *name = codings[i % COUNT_OF(codings)].name;
        struct buf packed = codings[i % COUNT_OF(codings)].pack(buf_str(&text));
        struct buf out = {.limit = 0};
        size_t before = budget_used();
        struct err e;
        struct body_decoder *d = body_decoder_new(str_from_c(name), buf_str(&packed), 0, &out, &e);

        assert_non_null(d);
        assert_int_equal(run_all(d, slices[i / COUNT_OF(codings)], &out, &e), BODY_DECODER_DONE);
        body_decoder_free(d);
        assert_true(str_eq(buf_str(&out), buf_str(&text)));
        buf_fini(&out);
        assert_true(budget_used() <= before + 128 * 1024);
        buf_fini(&packed);
    }
    buf_fini(&text);
}

static int decode_by_ratio(const char *coding, str body, size_t ratio, struct err *e)
{
    struct buf out;
    struct body_decoder *d;
    enum body_decoder_state state = BODY_DECODER_FAILED;

    buf_init(&out, (size_t)32 * MIB);
    d = body_decoder_new(str_from_c(coding), body, ratio, &out, e);
    if (d != NULL)
        state = body_decoder_run(d, SIZE_MAX, e);
    body_decoder_free(d);
    assert_true(state == BODY_DECODER_DONE || out.cap <= 2 * MIB);
    buf_fini(&out);
    return state == BODY_DECODER_DONE ? 0 : -1;
}

static void what_swells_more_than_the_ratio_is_refused(void **state)
{
    struct buf bomb = zeros((size_t)24 * MIB), small = zeros(MIB), honest = words(3 * MIB);

    (void)state;
    for (size_t i = 0; i < COUNT_OF(codings); i++) {
        struct buf packed = codings[i].pack(buf_str(&bomb));
        struct err e;

        assert_int_equal(decode_by_ratio(codings[i].name, buf_str(&packed), 0, &e), 0);
        assert_int_equal(decode_by_ratio(codings[i].name, buf_str(&packed), 50, &e), -1);
        assert_int_equal(err_http_status(&e), 413);
        assert_non_null(strstr(e.msg, "50 times"));
        assert_non_null(strstr(e.msg, "max_body_ratio"));
        buf_fini(&packed);
        packed = codings[i].pack(buf_str(&small)); /* the first MiB is free */
        assert_int_equal(decode_by_ratio(codings[i].name, buf_str(&packed), 1, &e), 0);
        buf_fini(&packed);
        packed = codings[i].pack(buf_str(&honest));
        assert_int_equal(decode_by_ratio(codings[i].name, buf_str(&packed), 100, &e), 0);
        buf_fini(&packed);
    }
    buf_fini(&bomb);
    buf_fini(&small);
    buf_fini(&honest);
}

static void the_window_counts(void **state)
{
    struct buf text = words((size_t)9 * MIB), packed = zstd_packed_with(buf_str(&text), 23);
    struct buf out = {.limit = 0};
    struct err e;
    struct body_decoder *d;

    (void)state;
    budget_set_limit(budget_used() + 4 * MIB);
    d = body_decoder_new(STR("zstd"), buf_str(&packed), 0, &out, &e);
    assert_non_null(d);
    assert_int_equal(body_decoder_run(d, 1, &e), BODY_DECODER_FAILED);
    assert_int_equal(err_http_status(&e), 503);
    body_decoder_free(d);
    budget_set_limit(0);
    buf_fini(&out);
    buf_fini(&packed);
    buf_fini(&text);
}

static void one_format_is_not_taken_for_another(void **state)
{
    struct buf gzip = gzip_packed(STR("{}")), zstd = zstd_packed(STR("{}"));

    (void)state;
    assert_refused("zstd", buf_str(&gzip), 0, 400);
    assert_refused("gzip", buf_str(&zstd), 0, 400);
    assert_refused("deflate", buf_str(&gzip), 0, 400);
    assert_refused("gzip", STR("{\"model\":\"m\"}"), 0, 400);
    buf_fini(&gzip);
    buf_fini(&zstd);
}

static void other_codings_and_several_are_415(void **state)
{
    static const char *const others[] = {"br", "compress", "gzip, zstd", "gzip,gzip",
                                         "gz", ",",        "*"};

    (void)state;
    for (size_t i = 0; i < COUNT_OF(others); i++)
        assert_refused(others[i], STR("{}"), 0, 415);
    assert_true(body_is_plain(STR_NONE));
    assert_true(body_is_plain(STR("Identity")));
    assert_false(body_is_plain(STR("gzip")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_coding_gives_back_what_was_packed),
        cmocka_unit_test(several_members_or_frames_are_one_body),
        cmocka_unit_test(a_body_cut_anywhere_is_refused),
        cmocka_unit_test(bytes_behind_the_end_are_refused),
        cmocka_unit_test(a_flipped_bit_is_an_error_or_changes_nothing),
        cmocka_unit_test(the_limit_is_exact_and_is_named),
        cmocka_unit_test(a_bomb_takes_no_more_memory_than_the_limit_allows),
        cmocka_unit_test(a_zstd_window_of_more_than_8_mib_is_refused),
        cmocka_unit_test(slices_of_any_size_come_to_the_same),
        cmocka_unit_test(what_swells_more_than_the_ratio_is_refused),
        cmocka_unit_test(the_window_counts),
        cmocka_unit_test(one_format_is_not_taken_for_another),
        cmocka_unit_test(other_codings_and_several_are_415),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
