/* http_request.c -- what the owner of an exchange asks about its request. */
#include <stdint.h>

#include "base/budget.h"
#include "http/body_decode.h"
#include "http/http_conn.h"

enum {
    SLICE_BYTES = 1024 * 1024, /* decoded in one turn of the loop: some milliseconds */
    NEXT_TURN_MS = 1,          /* a timer that is due at once runs in the same turn */
};

str http_request_header(const struct http_request *r, str name)
{
    for (size_t i = 0; i < r->n_headers; i++) {
        if (str_eq(r->headers[i].name, name))
            return r->headers[i].value;
    }
    return STR_NONE;
}

unsigned http_request_marks(const struct http_request *r)
{
    return r->listener == NULL ? 0 : r->listener->marks;
}

/* Headers by which proxies say for whom they ask. */
static bool is_forwarded(const struct http_request *r)
{
    static const str names[] = {STR_INIT("x-forwarded-for"),   STR_INIT("forwarded"),
                                STR_INIT("x-forwarded-proto"), STR_INIT("x-forwarded-host"),
                                STR_INIT("x-real-ip"),         STR_INIT("via")};

    for (size_t i = 0; i < COUNT_OF(names); i++) {
        if (!str_is_none(http_request_header(r, names[i])))
            return true;
    }
    return false;
}

bool http_request_is_local(const struct http_request *r)
{
    const struct http_listener *l = r->listener;

    return l != NULL && (l->is_loopback || l->is_unix) && !r->is_proxied && !is_forwarded(r);
}

/* RFC 9110, 5.3: two lines are one list, and a list is more than one coding. */
static bool is_repeated(const struct http_request *r, str name)
{
    size_t n = 0;

    for (size_t i = 0; i < r->n_headers; i++)
        n += str_eq(r->headers[i].name, name);
    return n > 1;
}

/* ---- the coding of the body */

void exchange_stop_decoding(struct http_exchange *x)
{
    loop_timer_free(x->decoding.timer);
    x->decoding.timer = NULL;
}

void exchange_free_decoded(struct http_exchange *x)
{
    body_decoder_free(x->decoding.decoder);
    buf_fini(&x->decoding.bytes);
    x->decoding = (struct decoding){.decoder = NULL};
}

static str coding_of(const struct http_request *r)
{
    if (is_repeated(r, STR("content-encoding")))
        return STR(","); /* a list, which is no coding */
    return http_request_header(r, STR("content-encoding"));
}

/* Keeps a failure until the body is asked for. */
static void note_failure(struct http_exchange *x, const struct err *e)
{
    struct decoding *d = &x->decoding;

    d->failure = arena_alloc(&x->arena, sizeof(*d->failure));
    if (d->failure != NULL)
        *d->failure = *e;
    d->is_over = true;
}

static void begin_decoding(struct http_exchange *x)
{
    const struct http_server_conf *conf = &x->conn->server->conf;
    struct decoding *d = &x->decoding;
    struct err e;

    buf_init(&d->bytes, conf->max_body_bytes);
    d->decoder = body_decoder_new(coding_of(&x->request), x->request.body, conf->max_body_ratio,
                                  &d->bytes, &e);
    if (d->decoder == NULL)
        note_failure(x, &e);
}

/* Decodes until all is there or about `most` bytes more. */
static void decode_piece(struct http_exchange *x, size_t most)
{
    struct decoding *d = &x->decoding;
    enum body_decoder_state state;
    struct err e;

    if (d->is_over)
        return;
    state = body_decoder_run(d->decoder, most, &e);
    if (state == BODY_DECODER_MORE)
        return;
    body_decoder_free(d->decoder);
    d->decoder = NULL;
    d->is_over = true;
    d->is_whole = state == BODY_DECODER_DONE;
    if (!d->is_whole)
        note_failure(x, &e);
}

int http_exchange_body(struct http_exchange *x, str *ret, struct err *reterr)
{
    struct decoding *d = &x->decoding;

    if (body_is_plain(coding_of(&x->request))) {
        *ret = x->request.body;
        return 0;
    }
    if (!d->is_over && d->decoder == NULL)
        begin_decoding(x);
    decode_piece(x, SIZE_MAX);
    if (d->is_whole) {
        *ret = buf_str(&d->bytes);
        return 0;
    }
    if (d->failure == NULL)
        err_set_no_memory(reterr);
    else if (reterr != NULL)
        *reterr = *d->failure;
    return -1;
}

/* Decodes the rest in later turns of the loop, so that a large body holds up nobody for long. */
static void decode_slice(void *arg)
{
    struct http_exchange *x = arg;
    enum budget_use before = budget_use_for(BUDGET_NEW_WORK);

    decode_piece(x, SLICE_BYTES);
    if (x->decoding.is_over) {
        exchange_stop_decoding(x);
        x->decoding.on_decoded(x->decoding.arg);
    } else {
        loop_timer_start(x->decoding.timer, NEXT_TURN_MS);
    }
    (void)budget_use_for(before);
}

bool http_exchange_decode(struct http_exchange *x, void (*on_decoded)(void *arg), void *arg)
{
    struct decoding *d = &x->decoding;

    if (body_is_plain(coding_of(&x->request)))
        return false;
    begin_decoding(x);
    decode_piece(x, SLICE_BYTES);
    if (d->is_over)
        return false;
    d->timer = loop_timer_new(x->conn->server->loop, decode_slice, x);
    if (d->timer == NULL)
        return false; /* all at once, then */
    d->on_decoded = on_decoded;
    d->arg = arg;
    loop_timer_start(d->timer, NEXT_TURN_MS);
    return true;
}
