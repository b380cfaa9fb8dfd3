/* response_marker.c -- markers that cite a source (text/cite.h) become links with a citation.
 *
 * A marker may come in several pieces: what may be its beginning is held back
 * until more of the text, or the end of the part, has told. So is what the
 * upstream said about the probability of its tokens, those of markers included.
 * Only the text with links is kept: the model reads its answer like that, too. */
#include "json/json_text.h"
#include "response/response_internal.h"

/* A text in which markers are being replaced. */
struct replacing {
    struct buf text;
    size_t counted; /* so much of the text */
    size_t chars;   /* is as many characters, and what stands before it in the part */
};

/* ---- positions */

static size_t chars_before(struct output_part *p)
{
    p->n_chars += json_text_count(str_skip(buf_str(&p->text), p->n_counted));
    p->n_counted = p->text.len;
    return p->n_chars;
}

static size_t chars_so_far(struct replacing *to)
{
    to->chars += json_text_count(str_skip(buf_str(&to->text), to->counted));
    to->counted = to->text.len;
    return to->chars;
}

/* ---- one marker */

/* A space, the beginning of a line, or the beginning of all. */
static bool is_apart(str before)
{
    size_t n_backslashes = 0;

    if (before.len == 0 || before.p[before.len - 1] == ' ')
        return true;
    if (strchr("nrt", before.p[before.len - 1]) == NULL)
        return false;
    while (n_backslashes + 1 < before.len && before.p[before.len - 2 - n_backslashes] == '\\')
        n_backslashes++;
    return n_backslashes % 2 == 1;
}

static void write_link(str escaped_url, struct buf *out)
{
    struct buf url = {.limit = 0};

    json_text_decode(escaped_url, &url);
    cite_write_link(buf_str(&url), out);
    out->failed = out->failed || buf_failed(&url);
    buf_fini(&url);
}

/* A marker that means nothing stays what it is. */
static bool replace(struct response *r, const struct cite_found *f, str marker,
                    struct replacing *to)
{
    const struct response_sources *sources = r->conf.sources;
    struct citation c = {.url = STR_NONE};

    if (!sources->find(sources->arg, &f->marker, &c)) {
        buf_append(&to->text, marker);
        return true;
    }
    if (!is_apart(to->text.len > 0 ? buf_str(&to->text) : buf_str(&r->prose->open->text)))
        buf_char(&to->text, ' ');
    c.start = (int64_t)chars_so_far(to);
    write_link(c.url, &to->text);
    c.end = (int64_t)chars_so_far(to);
    return response_keep_citation(r, &c);
}

/* ---- the text */

/* Returns what has to be held back. */
static str replace_all(struct response *r, str text, struct replacing *to)
{
    for (;;) {
        struct cite_found f = cite_find(text);

        buf_append(&to->text, str_from(text.p, f.at));
        if (f.state != CITE_WHOLE || !replace(r, &f, str_from(text.p + f.at, f.end - f.at), to))
            return str_skip(text, f.at);
        text = str_skip(text, f.end);
    }
}

static void join_logprobs(struct buf *to, str elements)
{
    if (to->len > 0 && elements.len > 0)
        buf_char(to, ',');
    buf_append(to, elements);
}

/* Sends a text without markers, and what was known of the tokens it came from. */
static bool put_clean_text(struct response *r, struct buf *text, struct buf *out)
{
    struct buf logprobs = r->held.logprobs;
    struct delta d = {.kind = DELTA_TEXT, .text = buf_str(text), .logprobs = buf_str(&logprobs)};
    bool ok = true;

    if (buf_failed(text) || buf_failed(&logprobs) || buf_failed(&r->held.text))
        response_break(r, ERR_INTERNAL);
    if (r->broken)
        return false;
    if (text->len > 0) {
        buf_init(&r->held.logprobs, 0);
        ok = response_put_text(r, &d, out);
        buf_fini(&logprobs);
    }
    return ok;
}

bool response_put_cited(struct response *r, const struct delta *d, struct buf *out)
{
    struct replacing to = {.text = {.limit = 0}};
    struct buf whole = r->held.text;
    bool ok;

    if (whole.len == 0 && cite_find(d->text).state == CITE_NONE)
        return response_put_text(r, d, out);
    buf_init(&r->held.text, 0);
    buf_append(&whole, d->text);
    join_logprobs(&r->held.logprobs, d->logprobs);
    to.chars = chars_before(r->prose->open);
    buf_append(&r->held.text, replace_all(r, buf_str(&whole), &to));
    r->held.text.failed = r->held.text.failed || buf_failed(&whole);
    ok = put_clean_text(r, &to.text, out);
    buf_fini(&whole);
    buf_fini(&to.text);
    return ok;
}

void response_put_held(struct response *r, struct buf *out)
{
    struct buf text = r->held.text;

    if (text.len == 0)
        return;
    buf_init(&r->held.text, 0);
    (void)put_clean_text(r, &text, out);
    buf_fini(&text);
}
