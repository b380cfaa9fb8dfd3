/* search_words.c -- the words of a query, with domains as operators for services that have no
 * field for them.
 *
 * Not every engine behind a service understands operators. They only make it more likely that
 * something is left when results are filtered. */
#include "base/utf8.h"
#include "search/search_domains.h"
#include "search/search_request.h"

enum { MAX_SITES = 10 };

static void write_plain(str query, struct buf *out)
{
    query = str_trim(query);
    while (query.len > 0) {
        size_t n = utf8_char(query);

        if (n == 0 || utf8_is_control(query))
            buf_char(out, ' ');
        else
            buf_append(out, str_from(query.p, n));
        query = str_skip(query, n == 0 ? 1 : n);
    }
}

/* The longest prefix of at most so many characters, of well-formed text. */
static str first_chars(str text, size_t limit_chars)
{
    size_t at = 0;

    while (at < text.len && limit_chars-- > 0)
        at += utf8_char(str_skip(text, at));
    return str_from(text.p, at);
}

/* " (site:a OR site:b)" */
static void write_allowed(const struct search_query *q, struct buf *out)
{
    size_t n = 0;

    for (size_t i = 0; i < q->n_allowed; i++) {
        str domain = search_domain(q->allowed_domains[i]);

        if (str_is_none(domain))
            continue;
        buf_c(out, n++ == 0 ? " (site:" : " OR site:");
        buf_append(out, domain);
    }
    buf_c(out, n == 0 ? "" : ")");
}

/* " -site:a -site:b" */
static void write_blocked(const struct search_query *q, struct buf *out)
{
    for (size_t i = 0; i < q->n_blocked && i < MAX_SITES; i++) {
        str domain = search_domain(q->blocked_domains[i]);

        if (str_is_none(domain))
            continue;
        buf_c(out, " -site:");
        buf_append(out, domain);
    }
}

/* Some of the allowed domains instead of all would hide what is allowed. */
static void write_sites(const struct search_query *q, struct buf *out)
{
    if (q->n_allowed == 0)
        write_blocked(q, out);
    else if (q->n_allowed <= MAX_SITES)
        write_allowed(q, out);
}

void search_words_write(const struct search_query *query, size_t limit_chars, bool with_sites,
                        struct buf *out)
{
    struct buf plain = {.limit = 0}, sites = {.limit = 0};

    write_plain(query->query, &plain);
    if (with_sites)
        write_sites(query, &sites);
    if (sites.len > limit_chars / 2)
        buf_reset(&sites);
    buf_append(out, first_chars(buf_str(&plain), limit_chars - sites.len));
    buf_append(out, buf_str(&sites));
    out->failed = out->failed || buf_failed(&plain) || buf_failed(&sites);
    buf_fini(&plain);
    buf_fini(&sites);
}
