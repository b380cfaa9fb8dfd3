/* responses_ws_fixture.h -- a WebSocket on /v1/responses with fakes at both ends: a client that a test
 * plays, and turns whose peers it moves by hand.
 *
 * The fakes take the place of http/websocket, turn/turn, worker and api_key in a test program that
 * includes this. What the gateway says is one text, a line for each message. */
#ifndef ANTIPHON_TESTS_UNIT_RESPONSES_WS_FIXTURE_H
#define ANTIPHON_TESTS_UNIT_RESPONSES_WS_FIXTURE_H

#include "config_fixture.h"
#include "fake_loop.h"

#include "flight/peer_context.h"
#include "front/responses_ws.h"
#include "front/responses_ws_internal.h"
#include "turn/turn.h"

enum { WS_TURNS = 100 };

struct websocket {
    const struct websocket_handler *handler;
    void *arg;
    struct http_request request;
    bool is_draining, is_closed;
    size_t pending; /* bytes that the client has not read */
    enum ws_code code;
    struct buf *text; /* of the message at hand */
};

struct fake_turn {
    struct peer peer;
    const struct http_request *request;
    str body; /* NULL: there is no such turn */
    bool is_over, is_gone, is_blocked;
};

static struct ws_stage {
    struct load load;
    struct worker worker;
    struct websocket ws;
    struct http_header header;
    struct fake_turn turns[WS_TURNS];
    size_t n_turns, n_failed;
    struct buf said;
    const char *key; /* that is good */
    bool refuses;    /* the next turns answer at once */
} ws_stage;

/* ---- http/websocket */

void websocket_watch(struct websocket *ws, const struct websocket_handler *handler, void *arg)
{
    ws->handler = handler;
    ws->arg = arg;
}

const struct http_request *websocket_request(const struct websocket *ws)
{
    return &ws->request;
}

str websocket_request_id(const struct websocket *ws)
{
    (void)ws;
    return STR("req_1");
}

bool websocket_is_draining(const struct websocket *ws)
{
    return ws->is_draining;
}

void websocket_take_text(struct websocket *ws, struct buf *ret)
{
    *ret = *ws->text;
    *ws->text = (struct buf){.limit = 0};
}

void websocket_write(struct websocket *ws, const str *parts, size_t n_parts)
{
    assert_false(ws->is_closed);
    for (size_t i = 0; i < n_parts; i++)
        buf_append(&ws_stage.said, parts[i]);
    buf_char(&ws_stage.said, '\n');
}

size_t websocket_pending(const struct websocket *ws)
{
    return ws->pending;
}

void websocket_close(struct websocket *ws, enum ws_code code, str reason)
{
    assert_false(ws->is_closed);
    assert_true(reason.len <= 123);
    ws->is_closed = true;
    ws->code = code;
}

str http_request_header(const struct http_request *r, str name)
{
    for (size_t i = 0; i < r->n_headers; i++) {
        if (str_eq(r->headers[i].name, name))
            return r->headers[i].value;
    }
    return STR_NONE;
}

/* ---- the worker */

void worker_watch(struct worker *w, struct worker_watcher *watcher)
{
    watcher->link = &w->watchers;
    w->watchers = watcher;
}

void worker_unwatch(struct worker_watcher *watcher)
{
    *watcher->link = NULL;
}

bool api_key_is_of_certificate(str owner)
{
    (void)owner;
    return false;
}

int api_keys_identify(const struct api_keys *keys, str authorization, struct caller *ret,
                      struct err *reterr)
{
    (void)keys;
    if (str_eq(authorization, str_from_c(ws_stage.key))) {
        *ret = (struct caller){.owner = STR("owner")};
        return 0;
    }
    err_set(reterr, ERR_INVALID_API_KEY, "Not a key.");
    return -1;
}

int api_keys_identify_client(const struct api_keys *keys, str certificate, str authorization,
                             struct caller *ret, struct err *reterr)
{
    (void)certificate;
    return api_keys_identify(keys, authorization, ret, reterr);
}

/* ---- turns */

static inline void turn_heard_gone(void *arg)
{
    struct fake_turn *t = arg;

    assert_false(t->is_over);
    t->is_over = t->is_gone = true;
}

static inline void turn_heard_blocked(void *arg, bool is_blocked)
{
    struct fake_turn *t = arg;

    assert_false(t->is_over);
    t->is_blocked = is_blocked;
}

static const struct http_exchange_handler turn_handler = {turn_heard_gone, turn_heard_blocked};

void turn_begin(struct worker *w, struct peer client, const struct http_request *r,
                const struct caller *caller)
{
    struct fake_turn *t = &ws_stage.turns[ws_stage.n_turns++];

    assert_ptr_equal(w, &ws_stage.worker);
    assert_str_c(caller->owner, "owner");
    *t = (struct fake_turn){.peer = client, .request = r};
    assert_int_equal(peer_body(client, &t->body, NULL), 0);
    if (ws_stage.refuses) {
        struct err e;

        err_set_param(&e, ERR_INVALID_VALUE, "input", "No.");
        t->is_over = true;
        peer_respond_error(client, &e);
        return;
    }
    peer_watch(client, &turn_handler, t);
}

void flight_end_of(struct worker *w, const void *client, const struct err *e)
{
    (void)w;
    for (size_t i = 0; i < ws_stage.n_turns; i++) {
        struct fake_turn *t = &ws_stage.turns[i];

        if (t->is_over || t->peer.of != client)
            continue;
        assert_int_equal(e->code, ERR_INTERNAL);
        ws_stage.n_failed++;
        t->is_over = true;
        peer_end(t->peer, STR(""));
    }
}

/* ---- the stage */

static inline void ws_stage_prepare(const char *const *args)
{
    ws_stage = (struct ws_stage){.key = "Bearer key"};
    for (size_t i = 0; args != NULL && args[i] != NULL; i++)
        ws_stage.load.args[i] = args[i];
    load_fine(&ws_stage.load);
    ws_stage.worker.config = &ws_stage.load.config;
    ws_stage.worker.loop = loop_new(NULL);
    ws_stage.header = (struct http_header){STR("authorization"), STR("Bearer key")};
    ws_stage.ws.request = (struct http_request){
        .headers = &ws_stage.header, .n_headers = 1, .peer = STR("127.0.0.1")};
}

static inline void ws_connect(void)
{
    static const struct caller caller = {.owner = STR_INIT("owner")};

    responses_ws_open(&ws_stage.worker, &ws_stage.ws, &caller);
}

static inline void ws_stage_open(const char *const *args)
{
    ws_stage_prepare(args);
    ws_connect();
}

/* What has been put off happens. */
static inline void ws_settle(void)
{
    fake_loop_pass(ws_stage.worker.loop, 0);
}

/* The client closes, if nobody else has; nothing may be left. */
static inline void ws_stage_close(void)
{
    if (!ws_stage.ws.is_closed)
        ws_stage.ws.handler->on_gone(ws_stage.ws.arg);
    ws_settle();
    assert_null(ws_stage.worker.watchers);
    loop_free(ws_stage.worker.loop);
    load_end(&ws_stage.load);
    buf_fini(&ws_stage.said);
}

static inline void say(const char *text)
{
    struct buf message = {.limit = 0};

    buf_c(&message, text);
    ws_stage.ws.text = &message;
    ws_stage.ws.handler->on_message(ws_stage.ws.arg, buf_str(&message));
    buf_fini(&message);
}

/* A create on a lane ("": the default one); more are members, with a comma before each. */
static inline void say_create(const char *lane, const char *more)
{
    struct buf text = {.limit = 0};

    buf_c(&text, "{\"type\":\"response.create\"");
    if (*lane != '\0') {
        buf_c(&text, ",\"stream_id\":\"");
        buf_c(&text, lane);
        buf_char(&text, '"');
    }
    buf_c(&text, more);
    buf_char(&text, '}');
    say(buf_cstr(&text));
    buf_fini(&text);
}

/* What was said since the last time. */
static inline void expect_said(const char *lines)
{
    assert_str_c(buf_str(&ws_stage.said), lines);
    buf_reset(&ws_stage.said);
}

static inline void expect_says(const char *piece)
{
    if (strstr(buf_cstr(&ws_stage.said), piece) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", buf_cstr(&ws_stage.said), piece);
    buf_reset(&ws_stage.said);
}

static inline struct fake_turn *turn(size_t i)
{
    assert_true(i < ws_stage.n_turns);
    return &ws_stage.turns[i];
}

/* A turn says something of a response, or its end. */
static inline void turn_says(size_t i, const char *frames)
{
    peer_write(turn(i)->peer, str_from_c(frames));
}

static inline void turn_begins(size_t i, const char *id)
{
    struct buf frames = {.limit = 0};

    peer_start(turn(i)->peer, 200, NULL, 0);
    buf_c(&frames, "event: response.created\ndata: {\"type\":\"response.created\",\"response\":{"
                   "\"id\":\"");
    buf_c(&frames, id);
    buf_c(&frames, "\"}}\n\n");
    turn_says(i, buf_cstr(&frames));
    buf_fini(&frames);
    buf_reset(&ws_stage.said);
}

static inline void turn_ends(size_t i)
{
    turn(i)->is_over = true;
    peer_end(turn(i)->peer, STR("data: [DONE]\n\n"));
    ws_settle();
}

static inline void turn_fails(size_t i, enum err_code code)
{
    struct err e;

    err_set(&e, code, "It is so.");
    turn(i)->is_over = true;
    peer_respond_error(turn(i)->peer, &e);
    ws_settle();
}

/* A context of n items and some bytes. */
static inline struct peer_context *make_context(struct peer_context *before, size_t n, size_t bytes)
{
    struct arena a = {.limit = 0};
    struct buf tail = {.limit = 0};
    const struct store_items items = {.v = arena_array(&a, n, sizeof(struct store_item)), .n = n};
    struct peer_context *c;

    (void)arena_alloc(&a, bytes);
    c = peer_context_new(before, &items, &a, &tail);
    assert_non_null(c);
    return c;
}

/* The turn has made a response that can be continued. */
static inline void turn_keeps(size_t i, const char *id, struct peer_context *context)
{
    turn_begins(i, id);
    peer_keep_context(turn(i)->peer, str_from_c(id), context);
    peer_context_unref(context);
    turn_ends(i);
}

/* Does it find that response at its client? */
static inline bool turn_finds(size_t i, const char *id)
{
    struct peer_context *found = peer_find_context(turn(i)->peer, str_from_c(id));

    peer_context_unref(found);
    return found != NULL;
}

#endif
