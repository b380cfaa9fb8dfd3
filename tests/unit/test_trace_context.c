/* test_trace_context.c -- traceparent, tracestate, samplers and the lists of variables. */
#include "lib/fixture.h"
#include "lib/test.h"
#include "trace/trace_context.h"
#include "trace/trace_list.h"
#include "trace/trace_sample.h"

#define TRACE  "0af7651916cd43dd8448eb211c80319c"
#define PARENT "b7ad6b7169203331"
#define GOOD   "00-" TRACE "-" PARENT "-01"

/* In a block of its own size, so that a sanitizer sees a read past its end. */
static bool reads(const char *text, size_t n, struct trace_context *ret)
{
    char *copy = exact_copy(str_from(text, n));
    const bool ok = trace_context_read(str_from(copy, n), ret);

    free(copy);
    return ok;
}

static void what_was_read_is_written_again(void **state)
{
    struct trace_context c;
    char text[TRACEPARENT_CHARS + 1];

    (void)state;
    assert_true(reads(GOOD, strlen(GOOD), &c));
    assert_true(c.is_sampled);
    trace_context_write(&c, text);
    assert_string_equal(text, GOOD);
    c.is_sampled = false;
    trace_context_write(&c, text);
    assert_string_equal(text, "00-" TRACE "-" PARENT "-00");
}

static void other_flags_are_not_written(void **state)
{
    struct trace_context c;
    char text[TRACEPARENT_CHARS + 1];

    (void)state;
    assert_true(reads("00-" TRACE "-" PARENT "-ff", TRACEPARENT_CHARS, &c));
    trace_context_write(&c, text);
    assert_string_equal(text, GOOD);
}

static void a_later_version_may_be_longer(void **state)
{
    struct trace_context c;
    const char *longer = "cc-" TRACE "-" PARENT "-01-what-else";

    (void)state;
    assert_true(reads(longer, strlen(longer), &c));
    assert_true(reads("fe-" TRACE "-" PARENT "-01", TRACEPARENT_CHARS, &c));
    assert_false(reads("cc-" TRACE "-" PARENT "-01x", TRACEPARENT_CHARS + 1, &c));
    assert_false(reads("00-" TRACE "-" PARENT "-01-x", TRACEPARENT_CHARS + 2, &c));
}

static void what_is_malformed_is_refused(void **state)
{
    static const char *const bad[] = {
        "",
        "ff-" TRACE "-" PARENT "-01",
        "00-" TRACE "-0000000000000000-01",
        "00-00000000000000000000000000000000-" PARENT "-01",
        "00-0AF7651916CD43DD8448EB211C80319C-" PARENT "-01",
        "00-" TRACE "-B7AD6B7169203331-01",
        "00-" TRACE "-" PARENT "-0G",
        "0-" TRACE "-" PARENT "-011",
        "00_" TRACE "-" PARENT "-01",
        "00-" TRACE "_" PARENT "-01",
        "00-" TRACE "-" PARENT "_01",
        " 00-" TRACE "-" PARENT "-01",
    };
    struct trace_context c;

    (void)state;
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        assert_false(reads(bad[i], strlen(bad[i]), &c));
}

static void no_beginning_of_one_is_one(void **state)
{
    struct trace_context c;

    (void)state;
    for (size_t n = 0; n < TRACEPARENT_CHARS; n++)
        assert_false(reads(GOOD, n, &c));
}

/* ---- tracestate */

static void members_are_checked(void **state)
{
    static const char *const good[] = {"a=1",
                                       "rojo=00f067aa0ba902b7,congo=t61rcWkgMzE",
                                       "fw529a3039@dt=FfAB",
                                       " a=1 , b=2 ",
                                       "a=1,,b=2",
                                       "0a=1"};
    static const char *const bad[] = {"",           "a",         "=1",   "a=",    "A=1",
                                      "a=1=2",      "a@=1",      "@a=1", "a b=1", "a=\x7f",
                                      "a=\t1x\x01", "a=1,\nb=2", ",",    "a=1,b", "a@b@c=1"};

    (void)state;
    for (size_t i = 0; i < COUNT_OF(good); i++)
        assert_true(trace_state_is_valid(str_from_c(good[i])));
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        assert_false(trace_state_is_valid(str_from_c(bad[i])));
}

static void a_state_has_32_members_and_512_characters(void **state)
{
    struct buf text = {.limit = 0};

    (void)state;
    for (unsigned i = 0; i < TRACESTATE_MAX_MEMBERS; i++) {
        buf_c(&text, i == 0 ? "k" : ",k");
        buf_uint(&text, i);
        buf_c(&text, "=1");
    }
    assert_true(trace_state_is_valid(buf_str(&text)));
    buf_c(&text, ",z=1");
    assert_false(trace_state_is_valid(buf_str(&text)));
    buf_reset(&text);
    buf_c(&text, "a=");
    while (text.len < TRACESTATE_MAX_CHARS)
        buf_char(&text, 'x');
    assert_true(trace_state_is_valid(buf_str(&text)));
    buf_char(&text, 'x');
    assert_false(trace_state_is_valid(buf_str(&text)));
    buf_fini(&text);
}

/* ---- ids */

static void fill_zero(void *arg, void *p, size_t n)
{
    (void)arg;
    memset(p, 0, n);
}

static void no_id_is_zero(void **state)
{
    const struct id_source zero = {.fill = fill_zero};
    struct trace_context c = {.is_sampled = true};
    char text[TRACEPARENT_CHARS + 1];

    (void)state;
    trace_id_make(&zero, c.trace_id);
    span_id_make(&zero, c.span_id);
    trace_context_write(&c, text);
    assert_true(reads(text, TRACEPARENT_CHARS, &c));
}

/* ---- samplers */

static void a_parent_decides_where_it_is_followed(void **state)
{
    const struct trace_context yes = {.is_sampled = true}, no = {.is_sampled = false};
    const unsigned char id[TRACE_ID_BYTES] = {1};
    struct trace_sampler s;

    (void)state;
    assert_null(trace_sampler_read(STR("parentbased_always_on"), STR_NONE, &s));
    assert_true(trace_sampler_takes(&s, NULL, id));
    assert_true(trace_sampler_takes(&s, &yes, id));
    assert_false(trace_sampler_takes(&s, &no, id));
    assert_null(trace_sampler_read(STR("parentbased_always_off"), STR_NONE, &s));
    assert_false(trace_sampler_takes(&s, NULL, id));
    assert_true(trace_sampler_takes(&s, &yes, id));
    assert_null(trace_sampler_read(STR("always_off"), STR_NONE, &s));
    assert_false(trace_sampler_takes(&s, &yes, id));
    assert_null(trace_sampler_read(STR("always_on"), STR_NONE, &s));
    assert_true(trace_sampler_takes(&s, &no, id));
}

static void a_share_is_taken_by_the_end_of_the_id(void **state)
{
    unsigned char id[TRACE_ID_BYTES] = {0xff};
    struct trace_sampler s;

    (void)state;
    assert_null(trace_sampler_read(STR("traceidratio"), STR("0.25"), &s));
    assert_true(trace_sampler_takes(&s, NULL, id));
    id[8] = 0x3f;
    assert_true(trace_sampler_takes(&s, NULL, id));
    id[8] = 0x40;
    assert_false(trace_sampler_takes(&s, NULL, id));
    assert_null(trace_sampler_read(STR("traceidratio"), STR("0"), &s));
    assert_false(trace_sampler_takes(&s, NULL, (const unsigned char[TRACE_ID_BYTES]){0}));
}

static void a_wrong_sampler_is_named(void **state)
{
    static const char *const shares[] = {"-0.1", "1.5", "", "a", "0,5", "NaN", "1e400", "[1]"};
    struct trace_sampler s;

    (void)state;
    assert_non_null(trace_sampler_read(STR("sometimes"), STR_NONE, &s));
    for (size_t i = 0; i < COUNT_OF(shares); i++)
        assert_non_null(trace_sampler_read(STR("traceidratio"), str_from_c(shares[i]), &s));
}

/* ---- lists */

static void a_list_is_decoded(void **state)
{
    struct trace_pair pairs[TRACE_LIST_MAX];
    struct arena a = {.limit = 0};
    size_t n = 0;

    (void)state;
    assert_null(trace_list_read(STR(" a = 1 ,, b=x=y,c%2Cd=e%20%C3%A4%2c ,f="), &a, pairs, &n));
    assert_int_equal(n, 4);
    assert_str_c(pairs[0].key, "a");
    assert_str_c(pairs[0].value, "1");
    assert_str_c(pairs[1].value, "x=y");
    assert_str_c(pairs[2].key, "c,d");
    assert_str_c(pairs[2].value, "e \xc3\xa4,");
    assert_str_c(pairs[3].value, "");
    arena_fini(&a);
}

static void a_wrong_list_is_refused(void **state)
{
    static const char *const bad[] = {"a",     "=1",    "a=1,b", "a=%",    "a=%2",
                                      "a=%2g", "a=%0a", "a=%ff", "a=1\n2", "%zz=1"};
    struct trace_pair pairs[TRACE_LIST_MAX];
    struct arena a = {.limit = 0};
    struct buf many = {.limit = 0};
    size_t n;

    (void)state;
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        char *copy = exact_copy(str_from_c(bad[i]));

        assert_non_null(trace_list_read(str_from(copy, strlen(bad[i])), &a, pairs, &n));
        free(copy);
    }
    for (unsigned i = 0; i <= TRACE_LIST_MAX; i++)
        buf_c(&many, "a=1,");
    assert_non_null(trace_list_read(buf_str(&many), &a, pairs, &n));
    buf_fini(&many);
    arena_fini(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_read_is_written_again),
        cmocka_unit_test(other_flags_are_not_written),
        cmocka_unit_test(a_later_version_may_be_longer),
        cmocka_unit_test(what_is_malformed_is_refused),
        cmocka_unit_test(no_beginning_of_one_is_one),
        cmocka_unit_test(members_are_checked),
        cmocka_unit_test(a_state_has_32_members_and_512_characters),
        cmocka_unit_test(no_id_is_zero),
        cmocka_unit_test(a_parent_decides_where_it_is_followed),
        cmocka_unit_test(a_share_is_taken_by_the_end_of_the_id),
        cmocka_unit_test(a_wrong_sampler_is_named),
        cmocka_unit_test(a_list_is_decoded),
        cmocka_unit_test(a_wrong_list_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
