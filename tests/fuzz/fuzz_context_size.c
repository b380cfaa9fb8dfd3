/* fuzz_context_size.c -- an error about a long request, made of what such errors are made of: its
 * numbers can be used as they are, or there are none. */
#include "fuzz/fuzz.h"

#include "base/buf.h"
#include "wire/dialect/context_size.h"
#include "wire/dialect/upstream_error.h"

static const str words[] = {
#define CONTEXT_SIZE(what, place, words) STR_INIT(words),
#include "wire/dialect/context_size.def"
    STR_INIT("2048"),        STR_INIT("14000"),
    STR_INIT("0"),           STR_INIT("9"),
    STR_INIT(" at least "),  STR_INIT("999999999999"),
    STR_INIT("-"),           STR_INIT(" tokens"),
    STR_INIT("{\"error\":"), STR_INIT("\"n_ctx\":"),
    STR_INIT(","),           STR_INIT("}"),
    STR_INIT("{"),           STR_INIT("\"message\":\""),
    STR_INIT("\""),          STR_INIT("\"n_prompt_tokens\":"),
};

static void check_tokens(struct err_tokens t)
{
    fuzz_promise(t.limit >= 0 && t.prompt >= 0 && t.answer >= 0, "no number is negative");
    fuzz_promise(t.limit > 0 || (t.prompt == 0 && t.answer == 0), "no numbers without a limit");
    fuzz_promise(t.limit == 0 || t.answer < t.limit, "an answer leaves room for a prompt");
}

static void check_text(str text)
{
    struct err e;

    check_tokens(context_size_read(text));
    upstream_error_from_answer(400, 0, text, &e);
    check_tokens(e.tokens);
    upstream_error_from_text(text, &e);
    check_tokens(e.tokens);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct buf text = {.limit = 0};

    for (size_t i = 0; i < n; i++)
        buf_append(&text, words[bytes[i] % (sizeof(words) / sizeof(*words))]);
    check_text(n == 0 ? STR("") : buf_str(&text));
    check_text(fuzz_input(bytes, n));
    buf_fini(&text);
    return 0;
}
