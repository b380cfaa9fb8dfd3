/* mcp_session_fixture.h -- a session over a link that is played by the test.
 *
 * What the session sends is noted in fx.sent. Each method has a reply, which the link gives
 * when the loop runs: the next of its queue (say_next()), else the usual one (say()). Without
 * a reply the server is silent, and the test may answer later with answer(). */
#ifndef ANTIPHON_TESTS_UNIT_MCP_SESSION_FIXTURE_H
#define ANTIPHON_TESTS_UNIT_MCP_SESSION_FIXTURE_H

#include "fake_loop.h"
#include "json/json_read.h"
#include "json/json_text.h"
#include "lib/failing_malloc.h"
#include "lib/fixture.h"
#include "lib/send_once.h"
#include "mcp/session/mcp_session_internal.h"

enum { MAX_SENT = 2000, MAX_QUEUED = 8, MAX_CALLS = 400, MAX_SECRETS = 2, HEALTHY_MS = 70 * 1000 };

/* What the server does about a request. */
struct reply {
    const char *members; /* of the answer: "\"result\":{}"; NULL: no answer */
    int status;          /* of HTTP, also of an answer; 0: none */
    bool fails;          /* the exchange, with the next three */
    bool has_lost_session;
    enum mcp_cause cause;
    const char *message;
    bool is_hopeless;
    bool downs; /* the link as well */
    bool has_no_id;
};

#define RESULT(json) ((struct reply){.members = "\"result\":" json})
#define ERROR_REPLY(code, words)                                                                   \
    ((struct reply){.members = "\"error\":{\"code\":" #code ",\"message\":\"" words "\"}"})
#define HTTP_STATUS(n) ((struct reply){.fails = true, .cause = MCP_FAILED_HTTP, .status = (n)})
#define LOST_SESSION                                                                               \
    ((struct reply){                                                                               \
        .fails = true, .cause = MCP_FAILED_HTTP, .status = 404, .has_lost_session = true})
#define UNREACHABLE                                                                                \
    ((struct reply){                                                                               \
        .fails = true, .cause = MCP_FAILED_UNREACHABLE, .message = "connection refused"})
#define SILENCE ((struct reply){.members = NULL})

#define MODERN_LISTS  "{\"supportedVersions\":[\"2026-07-28\"],\"capabilities\":{\"tools\":{}}}"
#define LEGACY_INIT   "{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{\"tools\":{}}}"
#define ONE_TOOL      "{\"tools\":[{\"name\":\"echo\",\"inputSchema\":{\"type\":\"object\"}}]}"
#define TEXT(t)       "{\"content\":[{\"type\":\"text\",\"text\":\"" t "\"}]}"
#define TOOLS_CHANGED "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}"

struct sent {
    int64_t id;
    enum mcp_method method;
    enum mcp_version version;
    size_t n_mirrors;
    char *json; /* with a NUL */
};

struct called {
    struct mcp_session_call *call; /* NULL once done */
    unsigned n_done;
    bool is_failed;
    enum mcp_cause cause;
    int64_t code;
    struct buf text; /* of the result (raw content), or of the failure */
};

struct fake_link {
    struct mcp_link link;
    bool is_stopped, is_down;
};

static struct {
    struct loop *loop;
    struct mcp_session *session;
    struct mcp_server_conf server;
    struct mcp_session_conf conf;
    str secrets[MAX_SECRETS];

    struct fake_link *link; /* NULL: closed */
    enum mcp_transport opened[64];
    unsigned n_opened, n_resets, n_listens;
    bool refuses_to_send;
    struct reply up[MCP_TRANSPORT_SSE + 1]; /* fails: how the link goes down instead of up */
    struct sent sent[MAX_SENT];
    size_t n_sent;
    int64_t forgotten[MAX_SENT];
    size_t n_forgotten;
    struct reply usual[MCP_METHOD_COUNT], queue[MCP_METHOD_COUNT][MAX_QUEUED];
    unsigned n_queue[MCP_METHOD_COUNT];

    struct buf states; /* " starting ready" */
    struct buf tools;  /* of each report: " [echo add]" */
    unsigned n_stopped;
    struct called called[MAX_CALLS];
    size_t n_called;
} fx;

/* ---- the link */

static inline void link_message(const char *json, int64_t carrier, int status)
{
    struct jsonrpc_reader r;
    struct jsonrpc_message m;

    assert_non_null(fx.link);
    jsonrpc_reader_init(&r, str_from_c(json));
    while (jsonrpc_next(&r, &m) != JSONRPC_END)
        fx.link->link.handler->on_message(fx.link->link.arg, &m, carrier, status);
    jsonrpc_reader_fini(&r);
}

/* The server says something of its own, or late, as "\"id\":3,\"result\":{}". */
static inline void hear(const char *json)
{
    link_message(json, 0, 0);
    fake_loop_pass(fx.loop, 0);
}

static inline struct mcp_link_failure failure_of(const struct reply *r)
{
    return (struct mcp_link_failure){.cause = r->cause,
                                     .http_status = r->status,
                                     .was_sent = true,
                                     .has_lost_session = r->has_lost_session,
                                     .is_hopeless = r->is_hopeless,
                                     .message =
                                         r->message == NULL ? STR("") : str_from_c(r->message)};
}

static inline void link_down(const struct reply *r)
{
    struct mcp_link_failure why = failure_of(r);

    if (fx.link->is_down)
        return;
    fx.link->is_down = true;
    fx.link->link.handler->on_down(fx.link->link.arg, &why);
}

static inline void crash(const char *reason)
{
    link_down(&(struct reply){.cause = MCP_FAILED_CLOSED, .message = reason});
}

static inline void link_closed(void *arg)
{
    struct fake_link *l = arg;

    link_down(&(struct reply){.cause = MCP_FAILED_CLOSED});
    fx.link = NULL;
    l->link.handler->on_closed(l->link.arg);
    free(l);
}

static inline bool is_forgotten(int64_t id)
{
    for (size_t i = 0; i < fx.n_forgotten; i++) {
        if (fx.forgotten[i] == id)
            return true;
    }
    return false;
}

static inline void answer(int64_t id, const struct reply *r)
{
    struct mcp_link_failure why = failure_of(r);
    struct buf json = {.limit = 0};

    if (r->fails) {
        fx.link->link.handler->on_failed(fx.link->link.arg, id, &why);
        return;
    }
    buf_c(&json, "{\"jsonrpc\":\"2.0\",");
    if (!r->has_no_id) {
        buf_c(&json, "\"id\":");
        buf_int(&json, id);
        buf_c(&json, ",");
    }
    buf_c(&json, r->members);
    buf_c(&json, "}");
    link_message(buf_cstr(&json), id, r->status);
    buf_fini(&json);
}

static inline struct reply take_reply(enum mcp_method method)
{
    struct reply r = fx.usual[method];

    if (fx.n_queue[method] == 0)
        return r;
    r = fx.queue[method][0];
    memmove(&fx.queue[method][0], &fx.queue[method][1],
            --fx.n_queue[method] * sizeof(struct reply));
    return r;
}

struct waiting_reply {
    struct fake_link *link;
    int64_t id;
    struct reply reply;
};

static inline void on_reply(void *arg)
{
    struct waiting_reply *w = arg;

    if (fx.link == w->link && !fx.link->is_stopped && w->reply.downs)
        link_down(&w->reply);
    else if (fx.link == w->link && !fx.link->is_stopped && !is_forgotten(w->id))
        answer(w->id, &w->reply);
    free(w);
}

static inline void reply_later(const struct mcp_link_message *m)
{
    struct reply r = take_reply(m->method);
    struct waiting_reply *w;

    if (m->id == 0 || (r.members == NULL && !r.fails && !r.downs))
        return;
    w = sure_malloc(sizeof(*w));
    *w = (struct waiting_reply){fx.link, m->id, r};
    defer_once(fx.loop, on_reply, w);
}

static inline bool fake_send(struct mcp_link *link, const struct mcp_link_message *m,
                             struct err *reterr)
{
    struct sent *s = &fx.sent[fx.n_sent];

    assert_ptr_equal(link, fx.link);
    assert_false(fx.link->is_stopped);
    if (fx.refuses_to_send) {
        err_set(reterr, ERR_UPSTREAM_ERROR, "The server does not read.");
        return false;
    }
    assert_true(fx.n_sent < MAX_SENT);
    assert_true(jr_is_valid(m->json));
    *s = (struct sent){.id = m->id, .method = m->method, .version = m->version};
    for (const struct mcp_mirror *mirror = m->mirrors; mirror != NULL; mirror = mirror->next)
        s->n_mirrors++;
    s->json = sure_malloc(m->json.len + 1);
    memcpy(s->json, m->json.p, m->json.len);
    fx.n_sent++;
    if (m->method != MCP_METHOD_COUNT)
        reply_later(m);
    return true;
}

static inline void fake_forget(struct mcp_link *link, int64_t id)
{
    (void)link;
    fx.forgotten[fx.n_forgotten++] = id;
}

static inline void fake_listen(struct mcp_link *link, enum mcp_version version)
{
    (void)link;
    assert_int_not_equal(version, MCP_VERSION_NONE);
    fx.n_listens++;
}

static inline void fake_reset(struct mcp_link *link)
{
    (void)link;
    fx.n_resets++;
}

static inline void fake_stop(struct mcp_link *link)
{
    assert_ptr_equal(link, fx.link);
    assert_false(fx.link->is_stopped);
    fx.link->is_stopped = true;
    defer_once(fx.loop, link_closed, fx.link);
}

static inline void link_opens(void *arg)
{
    struct fake_link *l = arg;
    const struct reply *how = &fx.up[fx.opened[fx.n_opened - 1]];

    if (l->is_stopped)
        return;
    if (how->fails)
        link_down(how);
    else
        l->link.handler->on_up(l->link.arg);
}

static inline struct mcp_link *fake_open(enum mcp_transport transport,
                                         const struct mcp_link_handler *handler, void *arg)
{
    static const struct mcp_link_ops ops = {fake_send, fake_forget, fake_listen, fake_reset,
                                            fake_stop};

    assert_null(fx.link);
    fx.link = sure_malloc(sizeof(*fx.link));
    fx.link->link = (struct mcp_link){&ops, handler, arg};
    fx.opened[fx.n_opened++ % COUNT_OF(fx.opened)] = transport;
    defer_once(fx.loop, link_opens, fx.link);
    return &fx.link->link;
}

#define FAKE_OPENER(name, transport)                                                               \
    static inline struct mcp_link *name(struct loop *loop, const struct mcp_link_conf *conf,       \
                                        const struct mcp_link_handler *handler, void *arg,         \
                                        struct err *reterr)                                        \
    {                                                                                              \
        (void)loop;                                                                                \
        (void)reterr;                                                                              \
        assert_ptr_equal(conf->server, &fx.server);                                                \
        return fake_open(transport, handler, arg);                                                 \
    }

FAKE_OPENER(fake_open_stdio, MCP_TRANSPORT_STDIO)
FAKE_OPENER(fake_open_http, MCP_TRANSPORT_HTTP)
FAKE_OPENER(fake_open_sse, MCP_TRANSPORT_SSE)

/* ---- what was sent */

static inline size_t count_sent(enum mcp_method method)
{
    size_t n = 0;

    for (size_t i = 0; i < fx.n_sent; i++)
        n += fx.sent[i].method == method;
    return n;
}

/* The nth of that method, from 0. */
static inline const struct sent *nth_sent(enum mcp_method method, size_t nth)
{
    for (size_t i = 0; i < fx.n_sent; i++) {
        if (fx.sent[i].method == method && nth-- == 0)
            return &fx.sent[i];
    }
    fail();
    return &fx.sent[0];
}

static inline const struct sent *last_sent(enum mcp_method method)
{
    return nth_sent(method, count_sent(method) - 1);
}

/* A member of its params, raw. */
static inline str sent_param(const struct sent *s, const char *name)
{
    return jr_member(jr_member(str_from_c(s->json), STR("params")), str_from_c(name));
}

/* The methods of all requests so far, as " initialize tools/list". */
static inline void assert_sent(const char *expected)
{
    struct buf got = {.limit = 0};

    for (size_t i = 0; i < fx.n_sent; i++) {
        if (fx.sent[i].method == MCP_METHOD_COUNT || fx.sent[i].id == 0)
            continue;
        buf_c(&got, " ");
        buf_c(&got, mcp_method_name(fx.sent[i].method));
    }
    assert_str_c(buf_str(&got), expected);
    buf_fini(&got);
}

/* ---- what is replied */

static inline void say(enum mcp_method method, struct reply r)
{
    fx.usual[method] = r;
}

static inline void say_next(enum mcp_method method, struct reply r)
{
    assert_true(fx.n_queue[method] < MAX_QUEUED);
    fx.queue[method][fx.n_queue[method]++] = r;
}

/* ---- the owner */

static inline void on_state(void *arg)
{
    assert_ptr_equal(arg, &fx);
    buf_c(&fx.states, " ");
    buf_c(&fx.states, mcp_state_name(mcp_session_state(fx.session)));
}

static inline void on_tools(void *arg, const struct mcp_listing *listing)
{
    (void)arg;
    assert_true(mcp_session_is_available(fx.session));
    buf_c(&fx.tools, " [");
    for (const struct mcp_listed_tool *t = listing->first; t != NULL; t = t->next) {
        buf_append(&fx.tools, t->name);
        if (t->next != NULL)
            buf_c(&fx.tools, " ");
    }
    buf_c(&fx.tools, "]");
}

static inline void on_stopped(void *arg)
{
    (void)arg;
    fx.n_stopped++;
    assert_null(fx.link);
}

static inline void on_done(void *arg, const struct mcp_failure *failure,
                           const struct mcp_call_result *result)
{
    struct called *c = arg;

    assert_int_equal(c->n_done, 0);
    c->n_done++;
    c->call = NULL;
    c->is_failed = failure != NULL;
    if (failure == NULL) {
        buf_append(&c->text, result->content);
        return;
    }
    c->cause = failure->cause;
    c->code = failure->code;
    mcp_failure_text(failure, &c->text);
}

static const struct mcp_session_call_handler call_handler = {on_done};

static inline struct called *call_with(const struct mcp_session_call_conf *conf)
{
    struct called *c = &fx.called[fx.n_called++];

    assert_true(fx.n_called <= MAX_CALLS);
    c->call = mcp_session_call(fx.session, conf, &call_handler, c, NULL);
    assert_non_null(c->call);
    assert_int_equal(c->n_done, 0);
    return c;
}

static inline struct called *call_tool(const char *tool, const char *arguments)
{
    return call_with(&(struct mcp_session_call_conf){.tool = str_from_c(tool),
                                                     .arguments = str_from_c(arguments),
                                                     .idle_timeout_ms = 60 * 1000,
                                                     .total_timeout_ms = 600 * 1000});
}

static inline struct called *call(void)
{
    return call_tool("echo", "{}");
}

static inline void assert_result(const struct called *c, const char *content)
{
    assert_int_equal(c->n_done, 1);
    assert_str_c(buf_str(&c->text), content);
    assert_false(c->is_failed);
}

static inline void assert_failure(const struct called *c, enum mcp_cause cause, const char *text)
{
    assert_int_equal(c->n_done, 1);
    assert_str_c(buf_str(&c->text), text);
    assert_true(c->is_failed);
    assert_int_equal(c->cause, cause);
}

#define OK_CONTENT "[{\"type\":\"text\",\"text\":\"ok\"}]"

static inline void assert_states(const char *expected)
{
    assert_str_c(buf_str(&fx.states), expected);
}

static inline void assert_tools(const char *expected)
{
    assert_str_c(buf_str(&fx.tools), expected);
}

/* ---- a test */

static inline int session_setup(void **state)
{
    (void)state;
    memset(&fx, 0, sizeof(fx));
    fx.loop = loop_new(NULL);
    fx.server = (struct mcp_server_conf){.label = STR("docs"),
                                         .transport = MCP_TRANSPORT_STDIO,
                                         .startup_timeout_ms = 10 * 1000,
                                         .max_concurrency = 8,
                                         .secrets = fx.secrets,
                                         .n_secrets = MAX_SECRETS};
    fx.secrets[0] = STR("s3cret-token");
    fx.secrets[1] = STR("x");
    fx.conf.server = &fx.server;
    say(MCP_INITIALIZE, RESULT(LEGACY_INIT));
    say(MCP_DISCOVER, RESULT(MODERN_LISTS));
    say(MCP_LIST_TOOLS, RESULT(ONE_TOOL));
    say(MCP_CALL_TOOL, RESULT(TEXT("ok")));
    say(MCP_PING, RESULT("{}"));
    return 0;
}

static inline bool session_try_new(void)
{
    static const struct mcp_session_handler handler = {on_state, on_tools, on_stopped};
    static mcp_link_opener *const openers[] = {[MCP_TRANSPORT_STDIO] = fake_open_stdio,
                                               [MCP_TRANSPORT_HTTP] = fake_open_http,
                                               [MCP_TRANSPORT_SSE] = fake_open_sse};

    fx.session = mcp_session_new(fx.loop, &fx.conf, &handler, &fx, NULL);
    if (fx.session != NULL)
        mcp_session_set_openers(fx.session, openers);
    return fx.session != NULL;
}

static inline void session_new(void)
{
    assert_true(session_try_new());
}

/* Starts a session and lets happen what happens at once. */
static inline void session_start(void)
{
    session_new();
    mcp_session_start(fx.session);
    assert_str_c(buf_str(&fx.states), "");
    fake_loop_pass(fx.loop, 0);
}

static inline void pass(uint64_t ms)
{
    fake_loop_pass(fx.loop, ms);
}

/* Every call has ended, and nothing is left of the session. */
static inline int session_teardown(void **state)
{
    (void)state;
    if (fx.session != NULL && fx.n_stopped == 0) {
        mcp_session_stop(fx.session);
        pass(0);
        assert_int_equal(fx.n_stopped, 1);
    }
    mcp_session_free(fx.session);
    for (size_t i = 0; i < fx.n_called; i++) {
        assert_null(fx.called[i].call);
        buf_fini(&fx.called[i].text);
    }
    for (size_t i = 0; i < fx.n_sent; i++)
        free(fx.sent[i].json);
    buf_fini(&fx.states);
    buf_fini(&fx.tools);
    loop_free(fx.loop);
    return 0;
}

#define SESSION_TEST(test) cmocka_unit_test_setup_teardown(test, session_setup, session_teardown)

#endif
