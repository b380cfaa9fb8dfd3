/* demo.c -- the demo model's words as a stream of chunks, one every few milliseconds. */
#include "demo/demo.h"

#include <stdlib.h>

#include "base/utf8.h"
#include "demo/demo_model.h"
#include "ev/loop.h"
#include "http/http_server.h"
#include "json/json_write.h"

enum { PACE_MS = 12, MAX_PIECE_BYTES = 4096, MAX_BODY_BYTES = 64 << 20 };

struct demo {
    struct loop *loop;
    struct http_server *server;
    struct demo_reply *replies;
};

/* One answer on its way. */
struct demo_reply {
    struct demo *demo;
    struct http_exchange *x;
    struct loop_timer *timer;
    struct demo_answer answer; /* in the exchange's arena */
    struct buf out;
    size_t said;    /* bytes of reasoning, then text, then arguments that have been sent */
    int64_t tokens; /* pieces sent */
    struct demo_reply *next, **link;
};

static void reply_free(struct demo_reply *r)
{
    *r->link = r->next;
    if (r->next != NULL)
        r->next->link = r->link;
    loop_timer_free(r->timer);
    buf_fini(&r->out);
    free(r);
}

/* ---- JSON */

static void begin_completion(const struct demo_reply *r, const char *object, struct jw *w)
{
    jw_object(w);
    jw_key_string(w, "id", STR("chatcmpl-demo"));
    jw_key_string(w, "object", str_from_c(object));
    jw_key_int(w, "created", clock_unix_s());
    jw_key_string(w, "model", r->answer.model);
    jw_key(w, "choices");
    jw_array(w);
}

static void write_usage(const struct demo_reply *r, struct jw *w)
{
    jw_key(w, "usage");
    jw_object(w);
    jw_key_int(w, "prompt_tokens", r->answer.prompt_tokens);
    jw_key_int(w, "completion_tokens", r->tokens);
    jw_key_int(w, "total_tokens", r->answer.prompt_tokens + r->tokens);
    jw_object_end(w);
}

/* A call, or a piece of its arguments; name STR_NONE for later pieces. */
static void write_call(str name, str arguments, struct jw *w)
{
    jw_key(w, "tool_calls");
    jw_array(w);
    jw_object(w);
    jw_key_int(w, "index", 0);
    if (!str_is_none(name)) {
        jw_key_string(w, "id", STR("call_demo"));
        jw_key_string(w, "type", STR("function"));
    }
    jw_key(w, "function");
    jw_object(w);
    if (!str_is_none(name))
        jw_key_string(w, "name", name);
    jw_key_string(w, "arguments", arguments);
    jw_object_end(w);
    jw_object_end(w);
    jw_array_end(w);
}

static void end_choice(const char *finish, struct jw *w)
{
    jw_object_end(w);
    jw_key_string(w, "finish_reason", str_from_c(finish));
    jw_object_end(w);
}

static void begin_chunk(struct demo_reply *r, struct jw *w)
{
    *w = jw_to(&r->out);
    buf_append(&r->out, STR("data: "));
    begin_completion(r, "chat.completion.chunk", w);
}

static void begin_delta(struct demo_reply *r, struct jw *w)
{
    begin_chunk(r, w);
    jw_object(w);
    jw_key_int(w, "index", 0);
    jw_key(w, "delta");
    jw_object(w);
}

static void end_chunk(struct demo_reply *r, struct jw *w)
{
    jw_object_end(w);
    buf_append(&r->out, STR("\n\n"));
}

static void end_delta(struct demo_reply *r, const char *finish, struct jw *w)
{
    end_choice(finish, w);
    jw_array_end(w);
    end_chunk(r, w);
}

/* ---- the stream */

/* The next word with the space before it; a long one in pieces. */
static str next_word(str s)
{
    size_t n = s.len == 0 ? 0 : 1;

    while (n < s.len && s.p[n] != ' ')
        n++;
    return str_from(s.p, utf8_cut(str_from(s.p, n), MAX_PIECE_BYTES));
}

static bool is_cut(const struct demo_reply *r)
{
    return r->answer.max_tokens > 0 && r->tokens >= r->answer.max_tokens;
}

/* One more piece of the answer; false when all has been said. */
static bool say_piece(struct demo_reply *r)
{
    const struct demo_answer *a = &r->answer;
    bool is_reasoning = r->said < a->reasoning.len;
    bool is_call = !is_reasoning && !str_is_none(a->tool);
    size_t before = is_reasoning ? r->said : r->said - a->reasoning.len;
    str piece = next_word(str_skip(is_reasoning ? a->reasoning
                                   : is_call    ? a->arguments
                                                : a->text,
                                   before));
    struct jw w;

    if (piece.len == 0 || is_cut(r))
        return false;
    begin_delta(r, &w);
    if (r->tokens == 0)
        jw_key_string(&w, "role", STR("assistant"));
    if (is_reasoning)
        jw_key_string(&w, "reasoning_content", piece);
    else if (is_call)
        write_call(before == 0 ? a->tool : STR_NONE, piece, &w);
    else
        jw_key_string(&w, "content", piece);
    end_delta(r, NULL, &w);
    r->said += piece.len;
    r->tokens++;
    return true;
}

static const char *finish_word(const struct demo_reply *r)
{
    return is_cut(r) ? "length" : str_is_none(r->answer.tool) ? "stop" : "tool_calls";
}

static void say_end(struct demo_reply *r)
{
    struct jw w;

    begin_delta(r, &w);
    end_delta(r, finish_word(r), &w);
    if (r->answer.include_usage) {
        begin_chunk(r, &w);
        jw_array_end(&w);
        write_usage(r, &w);
        end_chunk(r, &w);
    }
    buf_append(&r->out, STR("data: [DONE]\n\n"));
}

static void on_tick(void *arg)
{
    struct demo_reply *r = arg;
    bool more;

    buf_reset(&r->out);
    more = say_piece(r);
    if (!more)
        say_end(r);
    http_exchange_write(r->x, buf_str(&r->out));
    if (more) {
        loop_timer_start(r->timer, PACE_MS);
        return;
    }
    http_exchange_end(r->x, STR(""));
    reply_free(r);
}

/* ---- not streamed */

static void respond_whole(struct demo_reply *r)
{
    const struct http_header type = {STR("content-type"), STR("application/json")};
    const struct demo_answer *a = &r->answer;
    struct jw w = jw_to(&r->out);

    r->tokens = (int64_t)(a->reasoning.len + a->text.len + a->arguments.len) / 4 + 1;
    begin_completion(r, "chat.completion", &w);
    jw_object(&w);
    jw_key_int(&w, "index", 0);
    jw_key(&w, "message");
    jw_object(&w);
    jw_key_string(&w, "role", STR("assistant"));
    jw_key_string(&w, "content", a->text);
    if (!str_is_none(a->reasoning))
        jw_key_string(&w, "reasoning_content", a->reasoning);
    if (!str_is_none(a->tool))
        write_call(a->tool, a->arguments, &w);
    end_choice(str_is_none(a->tool) ? "stop" : "tool_calls", &w);
    jw_array_end(&w);
    write_usage(r, &w);
    jw_object_end(&w);
    http_exchange_respond(r->x, 200, &type, 1, buf_str(&r->out));
    reply_free(r);
}

/* ---- requests */

static void on_gone(void *arg)
{
    reply_free(arg);
}

/* A slow reader: nothing is said until it has caught up. */
static void on_blocked(void *arg, bool blocked)
{
    struct demo_reply *r = arg;

    if (blocked)
        loop_timer_stop(r->timer);
    else
        loop_timer_start(r->timer, PACE_MS);
}

static const struct http_exchange_handler exchange_handler = {on_gone, on_blocked};

static struct demo_reply *reply_new(struct demo *demo, struct http_exchange *x)
{
    struct demo_reply *r = calloc(1, sizeof(*r));

    if (r == NULL)
        return NULL;
    *r = (struct demo_reply){.demo = demo, .x = x, .next = demo->replies, .link = &demo->replies};
    if (r->next != NULL)
        r->next->link = &r->next;
    demo->replies = r;
    r->timer = loop_timer_new(demo->loop, on_tick, r);
    if (r->timer == NULL) {
        reply_free(r);
        return NULL;
    }
    return r;
}

static void answer_chat(struct demo *demo, struct http_exchange *x)
{
    const struct http_header type = {STR("content-type"), STR("text/event-stream")};
    struct demo_answer answer;
    struct demo_reply *r;
    struct err e;
    str body;

    if (http_exchange_body(x, &body, &e) == -1 ||
        demo_model_answer(body, http_exchange_arena(x), &answer, &e) == -1) {
        http_exchange_respond_error(x, &e, NULL, 0);
        return;
    }
    r = reply_new(demo, x);
    if (r == NULL) {
        err_set_no_memory(&e);
        http_exchange_respond_error(x, &e, NULL, 0);
        return;
    }
    r->answer = answer;
    if (!answer.stream) {
        respond_whole(r);
        return;
    }
    http_exchange_watch(x, &exchange_handler, r);
    http_exchange_start(x, 200, &type, 1);
    loop_timer_start(r->timer, PACE_MS);
}

static void on_request(void *arg, struct http_exchange *x, const struct http_request *r)
{
    static const str model =
        STR_INIT("{\"id\":\"demo\",\"object\":\"model\",\"created\":1767225600,"
                 "\"owned_by\":\"antiphon\"}");
    static const str models =
        STR_INIT("{\"object\":\"list\",\"data\":[{\"id\":\"demo\",\"object\":\"model\","
                 "\"created\":1767225600,\"owned_by\":\"antiphon\"}]}");
    const struct http_header type = {STR("content-type"), STR("application/json")};
    struct err e;

    if (r->refusal != NULL) {
        http_exchange_respond_error(x, r->refusal, NULL, 0);
    } else if (str_eq(r->path, STR("/v1/chat/completions"))) {
        answer_chat(arg, x);
    } else if (str_eq(r->path, STR("/v1/models"))) {
        http_exchange_respond(x, 200, &type, 1, models);
    } else if (str_eq(r->path, STR("/v1/models/demo"))) {
        http_exchange_respond(x, 200, &type, 1, model);
    } else if (!str_starts_with(r->path, STR("/v1/models/"))) {
        err_set(&e, ERR_NOT_FOUND, "The demo upstream has no %.*s.", STR_ARG(r->path));
        http_exchange_respond_error(x, &e, NULL, 0);
    } else {
        err_set(&e, ERR_MODEL_NOT_FOUND, "The demo upstream has only the model 'demo'.");
        http_exchange_respond_error(x, &e, NULL, 0);
    }
}

/* ---- open and close */

struct demo *demo_open(struct loop *loop, struct err *reterr)
{
    const struct http_server_conf conf = {
        .max_head_bytes = 64 << 10,
        .max_headers = 100,
        .max_large_heads_bytes = 8 << 20,
        .max_body_bytes = MAX_BODY_BYTES,
        .max_connections = 10000,
        .max_pending_bytes = 1 << 20,
        .head_timeout_ms = 15000,
        .body_timeout_ms = 60000,
        .keep_alive_ms = 120000,
        .send_timeout_ms = 300000,
    };
    struct demo *demo = calloc(1, sizeof(*demo));

    if (demo == NULL) {
        err_set_no_memory(reterr);
        return NULL;
    }
    demo->loop = loop;
    demo->server = http_server_open(loop, "127.0.0.1:0", &conf, on_request, demo, reterr);
    if (demo->server == NULL) {
        free(demo);
        return NULL;
    }
    return demo;
}

void demo_close(struct demo *demo)
{
    if (demo == NULL)
        return;
    for (struct demo_reply *r = demo->replies, *next; r != NULL; r = next) {
        next = r->next;
        reply_free(r);
    }
    http_server_close(demo->server);
    free(demo);
}

int demo_port(const struct demo *demo)
{
    return http_server_port(demo->server);
}
