/* text_calls_fixture.h -- a text with calls as one line: text as it is, each call as
 * «name arguments» or «name arguments id», in the order of the reports. */
#ifndef ANTIPHON_TESTS_UNIT_TEXT_CALLS_FIXTURE_H
#define ANTIPHON_TESTS_UNIT_TEXT_CALLS_FIXTURE_H

#include "lib/test.h"

#include "lib/fixture.h"
#include "text/text_calls.h"

struct transcript {
    struct text_calls calls;
    struct buf said;
};

static inline void write_text(void *arg, str plain)
{
    struct transcript *t = arg;

    assert_true(plain.len > 0);
    buf_append(&t->said, plain);
}

static inline void write_call(void *arg, const struct text_call *call)
{
    struct transcript *t = arg;

    buf_c(&t->said, "«");
    buf_append(&t->said, call->name);
    buf_c(&t->said, " ");
    buf_append(&t->said, call->arguments);
    buf_c(&t->said, call->id.len > 0 ? " " : "");
    buf_append(&t->said, call->id);
    buf_c(&t->said, "»");
}

/* Declared are functions whose name has an underscore, as get_weather; and f. */
static inline bool has_underscore(void *arg, str name)
{
    (void)arg;
    return str_find_char(name, '_') < name.len || str_eq(name, STR("f"));
}

/* The type of a parameter is its name up to an underscore: string_a, or untyped. */
static inline str type_by_name(void *arg, str function, str parameter)
{
    size_t n = str_find_char(parameter, '_');

    (void)arg;
    assert_true(function.len > 0);
    return n == parameter.len ? STR("") : str_from(parameter.p, n);
}

static const struct text_calls_handler by_name = {write_text, write_call, has_underscore,
                                                  type_by_name};

static inline void feed_transcript(void *arg, str piece)
{
    struct transcript *t = arg;

    assert_true(text_calls_feed(&t->calls, piece));
}

/* buf_fini() it. */
static inline struct buf read_text(enum text_call_format format, str plain, struct cutting cutting,
                                   const struct text_calls_handler *handler)
{
    struct transcript t = {.said = {.limit = 0}};

    text_calls_init(&t.calls, format, handler, &t);
    feed_pieces(plain, cutting, feed_transcript, &t);
    assert_true(text_calls_finish(&t.calls));
    text_calls_fini(&t.calls);
    return t.said;
}

static inline void check_cut(enum text_call_format format, const char *plain, const char *expected,
                             struct cutting cutting, const struct text_calls_handler *handler)
{
    struct buf said = read_text(format, str_from_c(plain), cutting, handler);

    assert_string_equal(buf_cstr(&said), expected);
    buf_fini(&said);
}

static inline void check_with(enum text_call_format format, const char *plain, const char *expected,
                              const struct text_calls_handler *handler)
{
    check_cut(format, plain, expected, UNCUT, handler);
    for (size_t piece = 1; piece < 8; piece++)
        check_cut(format, plain, expected, (struct cutting){piece, piece}, handler);
    for (size_t at = 1; at < strlen(plain); at++)
        check_cut(format, plain, expected, CUT_AT(at), handler);
}

/* plain is this, in every cutting. */
static inline void check(enum text_call_format format, const char *plain, const char *expected)
{
    check_with(format, plain, expected, &by_name);
}

static inline void check_is_text(enum text_call_format format, const char *plain)
{
    check(format, plain, plain);
}

#endif
