/* fuzz_token_answer.c -- what a server may say when it is asked for a number of tokens, and a request
 * to ask it with: a count can be used as it is, a prompt is a JSON string, and every question is JSON. */
#include "fuzz/fuzz.h"

#include "base/arena.h"
#include "json/json_read.h"
#include "wire/chunk/token_answer.h"

static const str words[] = {
    STR_INIT("{"),
    STR_INIT("}"),
    STR_INIT("\"count\":"),
    STR_INIT("\"input_tokens\":"),
    STR_INIT("\"tokens\":"),
    STR_INIT("\"prompt\":"),
    STR_INIT("\"usage\":"),
    STR_INIT("\"prompt_tokens\":"),
    STR_INIT("["),
    STR_INIT("]"),
    STR_INIT(","),
    STR_INIT("\"max_model_len\":"),
    STR_INIT("0"),
    STR_INIT("17"),
    STR_INIT("-1"),
    STR_INIT("9007199254740993"),
    STR_INIT("\"a\\n\""),
    STR_INIT("\"messages\":"),
    STR_INIT("null"),
    STR_INIT("\"chat_template_kwargs\":"),
    STR_INIT("\"model\":"),
    STR_INIT("\"reasoning_effort\":"),
    STR_INIT("\"\\u0061\":"),
    STR_INIT("\"stream\":"),
};

static void check_answer(str body)
{
    for (enum token_way way = 0; way < TOKEN_WAYS; way++) {
        struct token_answer a;

        if (token_answer_read(way, false, body, &a))
            fuzz_promise(a.tokens > 0 && a.tokens <= INT32_MAX && a.window >= 0, "a count is one");
        if (token_answer_read(way, true, body, &a))
            fuzz_promise(jr_type_of(a.prompt) == JR_STRING && jr_is_valid(a.prompt),
                         "a prompt is a string");
    }
}

static void check_request(str body)
{
    struct token_request r = {.is_prompt = false};
    struct arena arena;
    struct err e;

    if (jr_type_of(body) != JR_OBJECT || !jr_is_valid(body))
        return;
    arena_init(&arena, 0);
    for (unsigned i = 0; token_request_read(body, &arena, &r, &e) == 0 && i < 2 * TOKEN_WAYS; i++) {
        struct buf question = {.limit = 0};

        r.is_prompt = i >= TOKEN_WAYS;
        token_way_write((enum token_way)(i % TOKEN_WAYS), &r, i % 2 == 0 ? STR_NONE : STR("\"p\""),
                        &question);
        fuzz_promise(jr_is_valid(buf_str(&question)), "a question is JSON");
        buf_fini(&question);
    }
    arena_fini(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct buf text = {.limit = 0};

    for (size_t i = 0; i < n; i++)
        buf_append(&text, words[bytes[i] % (sizeof(words) / sizeof(*words))]);
    check_answer(n == 0 ? STR("") : buf_str(&text));
    check_request(n == 0 ? STR("") : buf_str(&text));
    check_answer(fuzz_input(bytes, n));
    check_request(fuzz_input(bytes, n));
    buf_fini(&text);
    return 0;
}
