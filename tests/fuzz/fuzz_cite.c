/* fuzz_cite.c -- a text made of what markers are made of: the same markers are found in every
 * cutting, little is held back, and a link is text that stands in JSON and in parentheses. */
#include "fuzz/fuzz.h"

#include "json/json_read.h"
#include "lib/cite_run.h"
#include "text/cite.h"

static const str words[] = {
    STR_INIT("\xE3\x80\x90"),
    STR_INIT("\\u3010"),
    STR_INIT("\xE3\x80\x91"),
    STR_INIT("\\u3011"),
    STR_INIT("\xE2\x80\xA0"),
    STR_INIT("\\u2020"),
    STR_INIT("\xE2\x80\x93"),
    STR_INIT("\\u2013"),
    STR_INIT("L"),
    STR_INIT("-"),
    STR_INIT("source"),
    STR_INIT("0"),
    STR_INIT("12345"),
    STR_INIT("\\\\"),
    STR_INIT("\\n"),
    STR_INIT("a"),
};

static void check_markers(str text)
{
    struct cite_run whole, cut;

    cite_run(text, UNCUT, &whole);
    fuzz_promise(whole.n_markers > 0 || str_eq(buf_str(&whole.text), text),
                 "without markers everything is text");
    for (size_t piece = 1; piece <= 3; piece++) {
        cite_run(text, (struct cutting){piece, piece}, &cut);
        fuzz_promise(str_eq(buf_str(&cut.text), buf_str(&whole.text)),
                     "any cutting gives the same");
        fuzz_promise(cut.most_held <= CITE_MAX_BYTES, "what is held back has a bound");
        cite_run_fini(&cut);
    }
    cite_run_fini(&whole);
}

static void check_link(str url)
{
    struct buf link = {.limit = 0};
    str in, target;

    cite_write_link(url, &link);
    in = buf_str(&link);
    fuzz_promise(jr_is_string_content(in), "a link is escaped text");
    fuzz_promise(str_starts_with(in, STR("([")) && str_ends_with(in, STR("))")),
                 "a link is in parentheses");
    target = str_skip(in, str_find(in, STR("](")) + 2);
    fuzz_promise(str_find_char(target, '(') == target.len &&
                     str_find_char(target, ' ') == target.len &&
                     str_find_char(target, ')') == target.len - 2,
                 "nothing in a link ends it early");
    buf_fini(&link);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct buf text = {.limit = 0};

    for (size_t i = 0; i < n; i++)
        buf_append(&text, words[bytes[i] % (sizeof(words) / sizeof(*words))]);
    check_markers(n == 0 ? STR("") : buf_str(&text));
    check_link(fuzz_input(bytes, n));
    buf_fini(&text);
    return 0;
}
