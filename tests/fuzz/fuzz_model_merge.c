/* fuzz_model_merge.c -- whatever servers list, what clients are shown of a model of several is JSON, has the public
 * name, and of each word for a window that an element has no more than any of them says by it.
 *
 * The input is a list; its elements are those of one model. */
#include "fuzz/fuzz.h"

#include "json/json_read.h"
#include "json/json_text.h"
#include "lib/fixture.h"
#include "wire/dialect/model_merge.h"

enum { MOST = 8 };

/* 0: it says none. */
static int64_t window_of(str element, const char *member)
{
    return jr_member_int(element, str_from_c(member), 0);
}

static void check_element(str name, str shown, const str *elements, size_t n)
{
    static const char *const members[] = {"context_length", "max_model_len"};
    static const char *const all[] = {"object", "created", "owned_by"};

    fuzz_promise(jr_is_valid(shown), "what is shown is JSON");
    fuzz_promise(json_text_eq(jr_member_string(shown, STR("id")), name), "by the public name");
    for (size_t k = 0; k < COUNT_OF(all); k++)
        fuzz_promise(!str_is_none(jr_member(shown, str_from_c(all[k]))), "with what lists have");
    for (size_t k = 0; k < COUNT_OF(members); k++) {
        const int64_t window = window_of(shown, members[k]);

        for (size_t i = 0; window > 0 && i < n; i++) {
            const int64_t said = window_of(elements[i], members[k]);

            fuzz_promise(said <= 0 || window <= said, "the window is the smallest");
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
    const str input = fuzz_input(bytes, n_bytes), name = STR("a\"b");
    char *copy = exact_copy(input);
    const str list = str_trim(str_from(copy, input.len));
    const str data = jr_is_valid(list) ? jr_member(list, STR("data")) : STR_NONE;
    struct buf out = {.limit = 0};
    str elements[MOST];
    size_t n = 0;
    struct jr j;

    jr_init(&j, jr_type_of(data) == JR_ARRAY ? data : STR("[]"));
    (void)jr_enter(&j, JR_ARRAY);
    while (n < MOST && jr_next_element(&j)) {
        const str raw = jr_raw(&j);

        elements[n++] = jr_type_of(raw) == JR_OBJECT ? raw : STR_NONE;
    }
    model_merge_write(name, elements, n, &out);
    if (!buf_failed(&out))
        check_element(name, buf_str(&out), elements, n);
    buf_fini(&out);
    free(copy);
    return 0;
}
