/* sse_parse.c -- cut a byte stream into Server-Sent Events.
 *
 * The network chooses the pieces: an event may span many reads and one read
 * may hold many events, so the parser keeps its place between calls and never
 * looks back past the current line.
 *
 * CR, LF and CRLF all end a line. A CR in the last byte of a read may be half
 * of a CRLF: the line ends at once and skip_lf drops an LF that follows, so no
 * event ever waits for a byte that tells us nothing.
 *
 * One pass; a line is copied only when it crosses a read. */
#include "sse/sse_parse.h"

void sse_parser_init(struct sse_parser *p, size_t max_bytes)
{
    *p = (struct sse_parser){.started = false};
    buf_init(&p->line, max_bytes);
    buf_init(&p->data, max_bytes);
    buf_init(&p->event, max_bytes);
    buf_init(&p->id, max_bytes);
}

void sse_parser_fini(struct sse_parser *p)
{
    buf_fini(&p->line);
    buf_fini(&p->data);
    buf_fini(&p->event);
    buf_fini(&p->id);
}

void sse_parser_stop(struct sse_parser *p)
{
    p->stopped = true;
}

static void append_bytes(struct sse_parser *p, struct buf *to, str bytes)
{
    buf_append(to, bytes);
    if (!buf_failed(to))
        return;
    p->failed = true;
    p->has_no_memory = !to->is_full;
}

static void on_data(struct sse_parser *p, str value, const struct sse_handler *h, void *arg)
{
    if (!p->has_data && h->on_data_line != NULL && h->on_data_line(arg, value, buf_str(&p->event)))
        return;
    if (p->has_data)
        append_bytes(p, &p->data, STR("\n"));
    append_bytes(p, &p->data, value);
    p->has_data = true;
}

static void on_id(struct sse_parser *p, str value, const struct sse_handler *h)
{
    if (h->on_id == NULL || str_find_char(value, '\0') < value.len)
        return;
    p->id.len = 0;
    append_bytes(p, &p->id, value);
    p->has_id = true;
}

static void on_blank_line(struct sse_parser *p, const struct sse_handler *h, void *arg)
{
    if (p->has_id)
        h->on_id(arg, buf_str(&p->id));
    p->has_id = false;
    if (p->has_data && h->on_event != NULL)
        h->on_event(arg, buf_str(&p->data), buf_str(&p->event));
    p->data.len = p->event.len = 0;
    p->has_data = false;
}

static void on_field(struct sse_parser *p, str line, const struct sse_handler *h, void *arg)
{
    const bool is_data = str_starts_with(line, STR("data:")); /* as nearly all are */
    size_t colon = is_data ? strlen("data") : str_find_char(line, ':');
    str name = str_from(line.p, colon);
    str value = str_skip(line, colon + 1);

    if (value.len > 0 && value.p[0] == ' ')
        value = str_skip(value, 1);
    if (is_data || str_eq(name, STR("data"))) {
        on_data(p, value, h, arg);
    } else if (str_eq(name, STR("event"))) {
        p->event.len = 0;
        append_bytes(p, &p->event, value);
    } else if (str_eq(name, STR("id"))) {
        on_id(p, value, h);
    } else if (str_eq(name, STR("retry"))) {
        if (h->on_retry != NULL)
            h->on_retry(arg, value);
    } else if (colon > 0 && h->on_other_field != NULL) {
        h->on_other_field(arg, name, value);
    }
}

static void on_line(struct sse_parser *p, str line, const struct sse_handler *h, void *arg)
{
    if (!p->started && str_starts_with(line, STR("\xEF\xBB\xBF")))
        line = str_skip(line, 3);
    p->started = true;
    if (p->stopped)
        return;
    if (line.len == 0)
        on_blank_line(p, h, arg);
    else
        on_field(p, line, h, arg); /* a comment is a field without a name */
}

static size_t find_line_end(str s)
{
    const char *lf, *cr;
    size_t n;

    if (s.len == 0 || s.p[0] == '\n')
        return 0; /* every other line is blank */
    lf = memchr(s.p, '\n', s.len);
    n = lf == NULL ? s.len : (size_t)(lf - s.p);
    cr = memchr(s.p, '\r', n);
    return cr == NULL ? n : (size_t)(cr - s.p);
}

/* Deals with one line at the start of bytes; returns the bytes it took, or 0
 * when the line goes on in the next read. */
static size_t take_line(struct sse_parser *p, str bytes, const struct sse_handler *h, void *arg)
{
    size_t n = find_line_end(bytes);

    if (n == bytes.len)
        return 0;
    p->skip_lf = bytes.p[n] == '\r';
    if (p->line.limit != 0 && n > p->line.limit) {
        p->failed = true; /* also when it did not have to be copied */
    } else if (p->line.len == 0) {
        on_line(p, str_from(bytes.p, n), h, arg);
    } else {
        append_bytes(p, &p->line, str_from(bytes.p, n));
        if (!p->failed)
            on_line(p, buf_str(&p->line), h, arg);
        p->line.len = 0;
    }
    return n + 1;
}

static int report_failure(const struct sse_parser *p, struct err *reterr)
{
    if (!p->failed)
        return 0;
    if (p->has_no_memory)
        return err_set_no_memory(reterr);
    err_set(reterr, ERR_UPSTREAM_ERROR,
            "The upstream server sent an event that is larger than %zu bytes.", p->line.limit);
    return -1;
}

int sse_parser_feed(struct sse_parser *p, str bytes, const struct sse_handler *h, void *arg,
                    struct err *reterr)
{
    size_t n;

    while (bytes.len > 0 && !p->failed) {
        if (p->skip_lf) {
            p->skip_lf = false;
            if (bytes.p[0] == '\n') {
                bytes = str_skip(bytes, 1);
                continue;
            }
        }
        n = take_line(p, bytes, h, arg);
        if (n == 0) {
            append_bytes(p, &p->line, bytes);
            break;
        }
        bytes = str_skip(bytes, n);
    }
    return report_failure(p, reterr);
}

int sse_parser_end(struct sse_parser *p, const struct sse_handler *h, void *arg, struct err *reterr)
{
    if (report_failure(p, reterr) == -1)
        return -1;
    if (p->line.len > 0) {
        on_line(p, buf_str(&p->line), h, arg);
        p->line.len = 0;
    }
    p->has_id = false;
    if (!p->stopped)
        on_blank_line(p, h, arg);
    return report_failure(p, reterr);
}
