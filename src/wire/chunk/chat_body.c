/* chat_body.c -- framing of upstream answers.
 *
 * A data line that is complete JSON is read at once: servers that forget the
 * blank line work, and the others are one line faster. */
#include "wire/chunk/chat_body.h"

#include "json/json_read.h"
#include "wire/dialect/upstream_error.h"

enum { MAX_BROKEN_IN_A_ROW = 3 };

void chat_body_init(struct chat_body *b, enum chat_body_form form, size_t max_event_bytes,
                    const struct chat_body_handler *handler, void *arg)
{
    *b = (struct chat_body){.handler = handler, .arg = arg, .form = form};
    sse_parser_init(&b->sse, max_event_bytes);
    buf_init(&b->whole, max_event_bytes);
}

void chat_body_fini(struct chat_body *b)
{
    sse_parser_fini(&b->sse);
    buf_fini(&b->whole);
}

void chat_body_stop(struct chat_body *b)
{
    sse_parser_stop(&b->sse);
}

/* Login pages, proxies and servers that have the API at another path answer with status 200 as well. */
void chat_body_err_unfinished(const struct chat_body *b, struct err *reterr)
{
    err_set(reterr, ERR_UPSTREAM_ERROR, UPSTREAM_CONNECTION_ERROR "%s",
            b->is_page ? "The upstream server answered with a web page (HTML) and no chat "
                         "completion: is its URL right, and does a proxy ask for a login?"
                       : "The upstream server " CHAT_BODY_UNFINISHED ".");
}

/* ---- events */

/* True when value is one complete payload, which has been dealt with then. [DONE] is no JSON. */
static bool on_data_line(void *arg, str data, str event)
{
    struct chat_body *b = arg;

    if (b->handler->on_chunk(b->arg, data, event)) {
        b->n_broken = 0;
        return true;
    }
    if (!str_eq(str_trim(data), STR("[DONE]")))
        return false;
    b->is_done = true;
    chat_body_stop(b);
    return true;
}

static void on_event(void *arg, str data, str event)
{
    struct chat_body *b = arg;
    struct err e;

    if (str_trim(data).len == 0 || on_data_line(b, data, event))
        return;
    b->n_skipped++;
    if (++b->n_broken < MAX_BROKEN_IN_A_ROW)
        return;
    err_set(&e, ERR_UPSTREAM_ERROR,
            UPSTREAM_SERVER_ERROR "The upstream server sent %d broken chunks in a row.",
            MAX_BROKEN_IN_A_ROW);
    b->handler->on_unreadable(b->arg, &e);
}

/* error: {...} as an SSE field, from llama.cpp before September 2025 */
static void on_other_field(void *arg, str name, str value)
{
    const struct chat_body *b = arg;
    struct err e;

    if (!str_eq(name, STR("error")))
        return;
    if (jr_is_valid(value))
        upstream_error_from_value(value, &e);
    else
        upstream_error_from_text(value, &e);
    b->handler->on_error(b->arg, &e);
}

static const struct sse_handler sse_handler = {
    .on_data_line = on_data_line, .on_event = on_event, .on_other_field = on_other_field};

/* ---- bodies */

static void feed_whole(struct chat_body *b, str bytes)
{
    struct err e;

    buf_append(&b->whole, bytes);
    if (!buf_failed(&b->whole))
        return;
    err_set(&e, ERR_UPSTREAM_ERROR, "The upstream server sent more than %zu bytes.",
            b->whole.limit);
    b->handler->on_unreadable(b->arg, &e);
}

static void note_first_byte(struct chat_body *b, str bytes)
{
    if (bytes.len == 0)
        return;
    b->has_begun = true;
    b->is_page = bytes.p[0] == '<';
}

void chat_body_feed(struct chat_body *b, str bytes)
{
    struct err e;

    if (b->form == CHAT_BODY_UNKNOWN) {
        /* White space before the body says nothing; the first other byte tells
         * an event stream from a JSON body. */
        bytes = str_trim_start(bytes);
        if (bytes.len > 0)
            b->form = bytes.p[0] == '{' ? CHAT_BODY_WHOLE : CHAT_BODY_EVENTS;
    }
    if (!b->has_begun)
        note_first_byte(b, str_trim_start(bytes));
    if (b->form == CHAT_BODY_WHOLE)
        feed_whole(b, bytes);
    else if (b->form == CHAT_BODY_EVENTS &&
             sse_parser_feed(&b->sse, bytes, &sse_handler, b, &e) == -1)
        b->handler->on_unreadable(b->arg, &e);
}

void chat_body_end(struct chat_body *b)
{
    struct err e;

    if (b->form != CHAT_BODY_WHOLE) {
        if (sse_parser_end(&b->sse, &sse_handler, b, &e) == -1)
            b->handler->on_unreadable(b->arg, &e);
    } else if (!b->sse.stopped) {
        b->is_done = b->handler->on_chunk(b->arg, buf_str(&b->whole), STR(""));
    }
}
