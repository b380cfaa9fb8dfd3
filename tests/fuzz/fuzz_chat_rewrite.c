/* fuzz_chat_rewrite.c -- any body: what is left out of a chat request leaves JSON behind that
 * lacks nothing else, and a model that is found in a list is JSON under the name asked for. */
#include "fuzz/fuzz.h"

#include "json/json_read.h"
#include "json/json_text.h"
#include "wire/chat/chat_rewrite.h"
#include "wire/dialect/model_list.h"

static void check_reasoning(str body)
{
    struct buf out = {.limit = 0}, again = {.limit = 0};
    str text = str_trim(body);

    if (chat_drop_reasoning(body, &out)) {
        str rest = str_trim(buf_str(&out));

        fuzz_promise(jr_is_valid(text) && jr_is_valid(rest), "JSON becomes JSON");
        fuzz_promise(str_is_none(jr_member(rest, STR("reasoning"))), "the member is gone");
        fuzz_promise(jr_count(rest) < jr_count(text), "members only go");
        fuzz_promise(!chat_drop_reasoning(buf_str(&out), &again), "once is enough");
    } else {
        fuzz_promise(out.len == 0, "nothing is written when nothing is left out");
    }
    buf_fini(&out);
    buf_fini(&again);
}

static void check_list(str list)
{
    struct buf same = {.limit = 0}, other = {.limit = 0};

    if (model_list_find(list, STR("m"), STR("m"), &same)) {
        str id = STR_NONE;

        fuzz_promise(jr_is_valid(buf_str(&same)), "a model is JSON");
        fuzz_promise(model_list_find(list, STR("m"), STR("a\"\n"), &other), "and found again");
        fuzz_promise(jr_is_valid(buf_str(&other)), "also under another name");
        id = jr_member_string(buf_str(&other), STR("id"));
        fuzz_promise(json_text_eq(id, STR("a\"\n")), "which it shows");
    }
    buf_fini(&same);
    buf_fini(&other);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    str body = fuzz_input(bytes, n);

    check_reasoning(body);
    check_list(body);
    return 0;
}
