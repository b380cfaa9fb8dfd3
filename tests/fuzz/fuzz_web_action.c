/* fuzz_web_action.c -- any arguments of a call: an action that can be done, or what is missing. */
#include "fuzz/fuzz.h"

#include "base/utf8.h"
#include "lib/fixture.h"
#include "search/web_session.h"

static void check_text(str text)
{
    fuzz_promise(str_is_none(text) || (text.len > 0 && utf8_is_valid(text)),
                 "a text is not there, or says something");
}

static void check_action(const struct web_action *a)
{
    check_text(a->query);
    check_text(a->url);
    check_text(a->pattern);
    fuzz_promise(a->link >= -1 && a->cursor >= -1 && a->first_line >= -1 && a->n_lines >= -1 &&
                     a->n_lines != 0 && a->max_results >= -1 && a->max_results != 0,
                 "a number is not there, or one that counts");
    fuzz_promise(a->op != WEB_SEARCH || !str_is_none(a->query), "a search has a query");
    fuzz_promise(a->op != WEB_FIND || !str_is_none(a->pattern), "who finds has a pattern");
    fuzz_promise(str_is_none(a->url) || a->link == -1, "a page is named in one way");
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    str input = fuzz_input(bytes, n);
    char *copy = exact_copy(input);
    str arguments = str_from(copy, input.len);
    struct arena arena = {.limit = 0};
    struct web_action a;
    struct err e;

    if (web_action_read(arguments, &arena, &a, &e) == 0)
        check_action(&a);
    else
        fuzz_promise(e.msg[0] != '\0', "a refusal says why");
    arena_fini(&arena);
    free(copy);
    return 0;
}
