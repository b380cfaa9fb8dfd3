/* fuzz_request.c -- any request body: refused with an error that names a status,
 * or turned into valid JSON for the upstream and for the echo. */
#include "fuzz/fuzz.h"

#include "lib/fixture.h"
#include "wire/chat_request.h"
#include "wire/response_echo.h"
#include "json/json_read.h"

static void check_outputs(const struct responses_request *r, const struct id_source *ids,
                          struct arena *arena)
{
    const struct chat_request_options options = {.model = STR_NONE};
    struct buf chat = {0}, echo = {0};
    struct err e;

    if (chat_request_build(r, &options, ids, arena, &chat, &e) == 0)
        fuzz_promise(jr_is_valid(buf_str(&chat)), "the upstream gets valid JSON");
    buf_char(&echo, '{');
    responses_request_echo(r, &echo);
    buf_char(&echo, '}');
    fuzz_promise(jr_is_valid(buf_str(&echo)), "the echo is valid JSON");
    fuzz_promise(str_find_char(buf_str(&echo), '\n') == echo.len, "the echo is one line");
    buf_fini(&chat);
    buf_fini(&echo);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    const struct responses_request_options options = {.default_model = STR("m")};
    char *body = exact_copy(fuzz_input(bytes, n));
    struct test_ids ids = {.chance = {0}};
    struct arena arena = {0};
    struct responses_request r;
    struct err e = {.code = ERR_NONE};

    test_ids_reset(&ids);
    if (responses_request_parse(str_from(body, n), &options, &ids.source, &arena, &r, &e) == 0)
        check_outputs(&r, &ids.source, &arena);
    else
        fuzz_promise(err_http_status(&e) >= 400 && e.msg[0] != '\0', "a refusal says why");
    arena_fini(&arena);
    free(body);
    return 0;
}
