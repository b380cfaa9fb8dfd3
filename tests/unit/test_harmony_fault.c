/* test_harmony_fault.c -- reading Harmony with each allocation failing in turn: it is told, and
 * nothing is reported from then on. */
#include "lib/failing_malloc.h"
#include "lib/fixture.h"
#include "lib/test.h"
#include "text/harmony.h"

/* Every buffer is used, and those that can grow do. */
static const char text[] = "<|channel|>analysis<|message|>a\xFF"
                           "b\xE2\x82<|end|>"
                           "stray \xFF text<|channel|>\xFF<|message|>\xFF<|end|>"
                           "commentary to=f<|message|>{}<|call|>"
                           "<|start|>assistant<|channel|>final \xFF and text<|end|>"
                           "end";

struct reports {
    struct harmony parser;
    size_t n, n_after_failure;
    bool failed;
};

static void count(struct reports *r)
{
    r->n++;
    r->n_after_failure += r->failed || r->parser.out_of_memory;
}

static void on_message(void *arg, const struct harmony_header *header)
{
    (void)header;
    count(arg);
}

static void on_content(void *arg, str plain)
{
    (void)plain;
    count(arg);
}

static void on_end(void *arg, enum harmony_end by)
{
    (void)by;
    count(arg);
}

static void on_warning(void *arg, const char *what, str warned)
{
    (void)what;
    (void)warned;
    count(arg);
}

static bool is_function(void *arg, str name)
{
    (void)arg;
    return str_eq(name, STR("f"));
}

static const struct harmony_handler handler = {.on_message = on_message,
                                               .on_content = on_content,
                                               .on_end = on_end,
                                               .on_warning = on_warning,
                                               .is_function = is_function};

static void feed(void *arg, str piece)
{
    struct reports *r = arg;

    r->failed = !harmony_feed(&r->parser, piece) || r->failed;
}

/* Returns whether memory ran out, as the parser tells. */
static bool run(long limit, struct cutting cutting, size_t *ret_n)
{
    struct reports r = {.n = 0};

    failing_malloc_begin(limit, FAILS_FOR_GOOD);
    harmony_init(&r.parser, &handler, &r);
    feed_pieces(str_from_c(text), cutting, feed, &r);
    r.failed = !harmony_finish(&r.parser) || r.failed;
    assert_int_equal(r.failed, r.parser.out_of_memory);
    assert_int_equal(r.n_after_failure, 0);
    assert_true(harmony_is_done(&r.parser));
    assert_int_equal(r.failed, failing_malloc_end());
    harmony_fini(&r.parser);
    *ret_n = r.n;
    return r.failed;
}

static void each_allocation_that_fails_is_told_and_ends_the_reports(void **state)
{
    const struct cutting cuttings[] = {UNCUT, BYTE_BY_BYTE, {7, 7}};

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cuttings); i++) {
        size_t n_all, n = 0;
        long limit = 0;

        assert_false(run(-1, cuttings[i], &n_all));
        while (run(limit, cuttings[i], &n)) {
            assert_true(n < n_all);
            limit++;
        }
        assert_true(limit > 2);
        assert_int_equal(n, n_all);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_allocation_that_fails_is_told_and_ends_the_reports),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
