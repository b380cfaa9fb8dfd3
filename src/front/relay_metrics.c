/* relay_metrics.c -- the end of an answer as it goes by. */
#include "front/relay_metrics.h"

#include "flight/flight_limits.h"
#include "flight/flight_metrics.h"
#include "front/relay_internal.h"
#include "front/relay_model.h"
#include "json/json_read.h"
#include "wire/chunk/chat_usage.h"

enum { HEAD_BYTES = 512, TAIL_BYTES = 4096 };

/* The tail has room for twice as much, so that no byte is moved more than once. */
struct relay_answer {
    size_t n_head, n_tail;
    char head[HEAD_BYTES], tail[2 * TAIL_BYTES];
};

/* The request as the client has named its model, unless a coding hides that. */
static str body_of(const struct relay *relay, str body)
{
    const struct http_request *r = relay->flight.http;

    return str_is_none(http_request_header(r, STR("content-encoding"))) ? r->body : body;
}

void relay_metrics_ask(struct relay *relay, str body)
{
    struct flight *f = &relay->flight;

    const bool counts_tokens = flight_limits_count_tokens(f);

    if ((!metrics_are_on && !counts_tokens) || relay_operation(f->http->path) == NULL)
        return;
    f->counted.model = relay_model(body_of(relay, body), &f->arena);
    if (f->counted.model.len > 0 || counts_tokens)
        relay->answer = arena_alloc(&f->arena, sizeof(*relay->answer));
    if (relay->answer != NULL)
        relay->answer->n_head = relay->answer->n_tail = 0;
}

/* ---- what is kept */

static void keep_head(struct relay_answer *a, str bytes)
{
    size_t n = HEAD_BYTES - a->n_head;

    n = bytes.len < n ? bytes.len : n;
    memcpy(a->head + a->n_head, bytes.p, n);
    a->n_head += n;
}

static void keep_tail(struct relay_answer *a, str bytes)
{
    if (bytes.len > TAIL_BYTES)
        bytes = str_skip(bytes, bytes.len - TAIL_BYTES);
    if (a->n_tail + bytes.len > sizeof(a->tail)) {
        memmove(a->tail, a->tail + a->n_tail - TAIL_BYTES, TAIL_BYTES);
        a->n_tail = TAIL_BYTES;
    }
    memcpy(a->tail + a->n_tail, bytes.p, bytes.len);
    a->n_tail += bytes.len;
}

void relay_metrics_heard(struct relay *relay, str bytes)
{
    struct relay_answer *a = relay->answer;

    if (a == NULL)
        return;
    if (a->n_head < HEAD_BYTES)
        keep_head(a, bytes);
    keep_tail(a, bytes);
}

/* ---- what it says */

/* Reads the last usage object in the text. The name of a member cannot stand in a string as it does here:
 * its quotes would be escaped. */
static bool find_usage(str text, struct usage *ret)
{
    const str name = STR("\"usage\":");
    bool is_found = false;

    for (size_t at = str_find(text, name); at < text.len; at = str_find(text, name)) {
        struct jr j;
        str raw;

        text = str_skip(text, at + name.len);
        jr_init(&j, text);
        raw = jr_peek(&j) == JR_OBJECT ? jr_raw(&j) : STR_NONE;
        if (!str_is_none(raw) && jr_ok(&j) && chat_usage(raw, ret))
            is_found = true;
    }
    return is_found;
}

void relay_metrics_end(struct relay *relay)
{
    const struct relay_answer *a = relay->answer;
    struct usage u = {.known = false};

    if (a == NULL)
        return;
    relay->answer = NULL;
    if (relay->flight.counted.model.len > 0)
        peer_count_model(relay->flight.peer, flight_metrics_model(&relay->flight));
    if (relay->flight.answer.status < 200 || relay->flight.answer.status > 299)
        return;
    if (!find_usage(str_from(a->tail, a->n_tail), &u))
        (void)find_usage(str_from(a->head, a->n_head), &u);
    flight_limits_note_usage(&relay->flight, &u);
    if (metrics_are_on && relay->flight.counted.model.len > 0)
        flight_metrics_usage(&relay->flight, &u);
}
