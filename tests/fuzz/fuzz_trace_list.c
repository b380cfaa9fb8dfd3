/* fuzz_trace_list.c -- any list of a variable is refused, or read into names and values that can stand in a
 * header; with every one of them escaped it is read alike. */
#include "fuzz/fuzz.h"

#include "base/utf8.h"
#include "lib/fixture.h"
#include "trace/trace_list.h"

static void write_escaped(str text, struct buf *out)
{
    for (size_t i = 0; i < text.len; i++) {
        buf_char(out, '%');
        buf_hex(out, (const unsigned char *)text.p + i, 1);
    }
}

static void check_again(const struct trace_pair *pairs, size_t n)
{
    struct trace_pair again[TRACE_LIST_MAX];
    struct arena memory = {.limit = 0};
    struct buf text = {.limit = 0};
    size_t n_again = 0;

    for (size_t i = 0; i < n; i++) {
        write_escaped(pairs[i].key, &text);
        buf_char(&text, '=');
        write_escaped(pairs[i].value, &text);
        buf_char(&text, ',');
    }
    fuzz_promise(trace_list_read(buf_str(&text), &memory, again, &n_again) == NULL && n == n_again,
                 "escaped it is a list as well");
    for (size_t i = 0; i < n; i++)
        fuzz_promise(str_eq(pairs[i].key, again[i].key) && str_eq(pairs[i].value, again[i].value),
                     "escaped it says the same");
    buf_fini(&text);
    arena_fini(&memory);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    char *copy = exact_copy(fuzz_input(bytes, n));
    struct trace_pair pairs[TRACE_LIST_MAX];
    struct arena memory = {.limit = 0};
    size_t n_pairs = 0;

    if (trace_list_read(str_from(copy, n), &memory, pairs, &n_pairs) == NULL) {
        fuzz_promise(n_pairs <= TRACE_LIST_MAX, "there is room for all");
        for (size_t i = 0; i < n_pairs; i++) {
            fuzz_promise(pairs[i].key.len > 0, "each has a name");
            fuzz_promise(str_is_one_line(pairs[i].key) && str_is_one_line(pairs[i].value),
                         "each fits a header");
            fuzz_promise(utf8_is_valid(pairs[i].key) && utf8_is_valid(pairs[i].value),
                         "each is UTF-8");
        }
        check_again(pairs, n_pairs);
    }
    arena_fini(&memory);
    free(copy);
    return 0;
}
