/* fuzz_page.c -- any page of a stranger: what comes out are lines that can be shown.
 *
 * The input is a content type, a line end, then the page. */
#include "fuzz/fuzz.h"

#include "base/utf8.h"
#include "lib/fixture.h"
#include "search/page.h"
#include "search/page_char.h"

enum { MAX_TEXT_BYTES = 4096, MAX_TITLE_CHARS = 200 + sizeof("...") - 1 };

/* A link as we write it begins here: 【3†text】, its number below n_links. Returns its length. */
static size_t check_link(str s, size_t n_links)
{
    size_t number = 0, n = sizeof(PAGE_OPEN) - 1, end = str_find(s, STR(PAGE_CLOSE));

    fuzz_promise(n < s.len && s.p[n] >= '0' && s.p[n] <= '9', "a link has a number");
    for (; n < s.len && s.p[n] >= '0' && s.p[n] <= '9' && number < n_links; n++)
        number = number * 10 + (size_t)(s.p[n] - '0');
    fuzz_promise(number < n_links, "the number is that of a link");
    fuzz_promise(str_starts_with(str_skip(s, n), STR(PAGE_DAGGER)), "a number is followed by †");
    fuzz_promise(end < s.len && n + sizeof(PAGE_DAGGER) - 1 < end, "a link has a text and an end");
    fuzz_promise(str_find(str_skip(s, n), STR(PAGE_OPEN)) + n >= end, "no link is in a link");
    return end + sizeof(PAGE_CLOSE) - 1;
}

static void check_line(str line, size_t n_links)
{
    fuzz_promise(utf8_is_valid(line), "a line is valid UTF-8");
    fuzz_promise(utf8_count(line) <= PAGE_LINE_CHARS, "a line is not too long");
    fuzz_promise(str_find_char(line, '\n') == line.len && str_find_char(line, '\r') == line.len &&
                     str_find_char(line, '\0') == line.len &&
                     str_find_char(line, '\x1B') == line.len,
                 "a line is one line");
    while (line.len > 0) {
        fuzz_promise(!str_starts_with(line, STR(PAGE_CLOSE)), "a link that ends has begun");
        if (str_starts_with(line, STR(PAGE_OPEN)))
            line = str_skip(line, check_link(line, n_links));
        else
            line = str_skip(line, utf8_char(line));
    }
}

static void check_page(const struct page *page)
{
    size_t bytes = 0;

    for (size_t i = 0; i < page->n_lines; i++) {
        check_line(page->lines[i], page->n_links);
        bytes += page->lines[i].len;
    }
    fuzz_promise(bytes <= MAX_TEXT_BYTES, "the text is within its limit");
    fuzz_promise(page->n_lines == 0 || page->lines[page->n_lines - 1].len > 0,
                 "the last line is not blank");
    fuzz_promise(utf8_is_valid(page->title) && utf8_count(page->title) <= MAX_TITLE_CHARS &&
                     str_is_one_line(page->title),
                 "a title can be shown");
    for (size_t i = 0; i < page->n_links; i++) {
        fuzz_promise(str_starts_with(page->links[i].url, STR("http://")) ||
                         str_starts_with(page->links[i].url, STR("https://")),
                     "a link leads into the web");
        fuzz_promise(str_is_one_line(page->links[i].url) && !str_is_none(page->links[i].text),
                     "a link can be shown");
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    str rest = fuzz_input(bytes, n), type = str_from(rest.p, str_find_char(rest, '\n'));
    str body = str_skip(rest, type.len + 1);
    char *copy = exact_copy(body);
    struct page_source source = {.url = STR("https://example.org/dir/page"),
                                 .content_type = type.len == 0 ? STR_NONE : type,
                                 .bytes = str_from(copy, body.len),
                                 .is_cut = n % 2 == 1,
                                 .max_text_bytes = MAX_TEXT_BYTES};
    struct page page;
    struct err e = {.code = ERR_NONE};

    if (page_read(&source, &page, &e) == 0) {
        check_page(&page);
        page_fini(&page);
    } else {
        fuzz_promise(e.msg[0] != '\0' && utf8_is_valid(str_from_c(e.msg)), "a refusal says why");
    }
    free(copy);
    return 0;
}
