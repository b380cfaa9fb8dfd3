/* page_fixture.h -- pages from texts in C. */
#ifndef ANTIPHON_TESTS_UNIT_PAGE_FIXTURE_H
#define ANTIPHON_TESTS_UNIT_PAGE_FIXTURE_H

#include "lib/test.h"

#include "lib/fixture.h"
#include "search/page.h"

static const char page_fixture_url[] = "https://example.org/dir/page";

/* The bytes are read from a block of exactly their size. */
static inline int page_fixture_try(str bytes, const char *content_type, size_t max_text_bytes,
                                   struct page *ret, struct err *reterr)
{
    char *copy = exact_copy(bytes);
    struct page_source source = {.url = str_from_c(page_fixture_url),
                                 .content_type = str_from_c(content_type),
                                 .bytes = str_from(copy, bytes.len),
                                 .max_text_bytes = max_text_bytes};
    int rc = page_read(&source, ret, reterr);

    free(copy);
    return rc;
}

static inline struct page page_fixture(str bytes, const char *content_type)
{
    struct page page;
    struct err e;

    if (page_fixture_try(bytes, content_type, 1 << 20, &page, &e) == -1)
        fail_msg("%s", e.msg);
    return page;
}

/* The lines, each with a line end behind it but the last. buf_fini() it. */
static inline struct buf page_fixture_lines(const struct page *page)
{
    struct buf text = {.limit = 0};

    for (size_t i = 0; i < page->n_lines; i++) {
        if (i > 0)
            buf_char(&text, '\n');
        buf_append(&text, page->lines[i]);
    }
    return text;
}

static inline void check_page(const char *bytes, const char *content_type, const char *lines)
{
    struct page page = page_fixture(str_from_c(bytes), content_type);
    struct buf text = page_fixture_lines(&page);

    assert_str_c(buf_str(&text), lines);
    buf_fini(&text);
    page_fini(&page);
}

#endif
