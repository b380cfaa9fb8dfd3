/* fuzz_compact_question.c -- any file of an operator: it is refused, or the question is made of it and
 * nothing else, in a length that is known beforehand, and can be said in JSON. */
#include "fuzz/fuzz.h"

#include "base/utf8.h"
#include "compact/compact_question.h"
#include "json/json_read.h"
#include "json/json_text.h"
#include "lib/fixture.h"

enum { MAX_SLOT_BYTES = 128 };

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    char *exact = exact_copy(fuzz_input(bytes, n));
    struct compact_question q = {.prompt = str_from(exact, n),
                                 .note = STR("{kept}{words}"),
                                 .max_tokens = 4096,
                                 .n_kept = 12,
                                 .has_earlier = true};
    struct buf text = {0}, escaped = {0};
    struct err e;

    if (compact_prompt_check(q.prompt, &e) == -1) {
        fuzz_promise(e.msg[0] != '\0', "a refusal says why");
        free(exact);
        return 0;
    }
    compact_question_write(&q, &text);
    fuzz_promise(!buf_failed(&text) && utf8_is_valid(buf_str(&text)), "the question is a text");
    fuzz_promise(text.len <= n + n / strlen("{kept}") * MAX_SLOT_BYTES, "slots are short");
    fuzz_promise(text.len == 0 || !str_is_space(text.p[text.len - 1]), "nothing trails");
    json_text_escape(buf_str(&text), &escaped);
    fuzz_promise(jr_is_string_content(buf_str(&escaped)), "it can stand in JSON");
    buf_fini(&text);
    buf_fini(&escaped);
    free(exact);
    return 0;
}
