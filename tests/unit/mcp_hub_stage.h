/* mcp_hub_stage.h -- a hub whose sessions are played.
 *
 * The fake implements mcp_session.h, so the linker leaves the real one out. What it does
 * at its start is in the name of its command or host: "ready" has a tool at once, "public"
 * as well and calls its list so, "fails" fails, "echo" is ready and answers each call with
 * its arguments; others wait for the test, which makes them act by play_...(). */
#ifndef ANTIPHON_TESTS_UNIT_MCP_HUB_STAGE_H
#define ANTIPHON_TESTS_UNIT_MCP_HUB_STAGE_H

#include "json/json_text.h"
#include "lib/send_once.h"
#include "unit/mcp_hub_fixture.h"

/* ---- sessions, on the hub's thread */

struct mcp_session_call {
    struct mcp_session *session;
    struct mcp_session_call *next;
    const struct mcp_session_call_handler *handler;
    void *arg;
    struct mcp_session_call_conf conf;
    str arguments;
    struct arena memory;
};

struct mcp_session {
    struct mcp_session *next;
    struct loop *loop;
    struct mcp_session_conf conf;
    const struct mcp_session_handler *handler;
    void *arg;
    enum mcp_state state;
    const char *error;
    bool is_available, is_stopping;
    struct mcp_session_call *calls; /* oldest first */
    unsigned number;                /* counts all that were made */
};

struct stage {
    struct mcp_session *first; /* newest first */
    unsigned n_made, n_live, n_cancelled, n_refreshes;
};

static struct stage stage;

static inline void stage_list(struct mcp_session *s, const char *tools, bool is_public)
{
    struct test_ids ids;
    struct mcp_listing listing;
    struct buf page = {0};
    struct err e;
    str cursor;

    test_ids_reset(&ids);
    mcp_listing_init(&listing, &ids.source, false, NULL, NULL);
    buf_c(&page, "{\"tools\":[");
    buf_c(&page, tools);
    buf_c(&page, is_public ? "],\"cacheScope\":\"public\"}" : "]}");
    MUST(mcp_listing_add(&listing, buf_str(&page), &cursor, &e) == 0);
    MUST(listing.cache.is_public == is_public);
    s->handler->on_tools(s->arg, &listing);
    mcp_listing_fini(&listing);
    buf_fini(&page);
}

static inline void stage_state(struct mcp_session *s, enum mcp_state state, const char *error)
{
    s->state = state;
    s->error = error;
    s->is_available = state == MCP_READY || (state == MCP_DEGRADED && s->is_available);
    s->handler->on_state(s->arg);
}

static inline void stage_ready(struct mcp_session *s, const char *tools, bool is_public)
{
    stage_state(s, MCP_READY, "");
    stage_list(s, tools, is_public);
}

static inline bool stage_is(const struct mcp_session *s, const char *name)
{
    const struct mcp_server_conf *conf = s->conf.server;

    return conf->argv != NULL ? strcmp(conf->argv[0], name) == 0
                              : str_find(conf->url.hidden, str_from_c(name)) < conf->url.hidden.len;
}

#define TOOL_A "{\"name\":\"a\",\"inputSchema\":{}}"
#define TOOL_B "{\"name\":\"b\",\"inputSchema\":{}}"

static inline void stage_begin(void *arg)
{
    struct mcp_session *s = arg;

    if (s->is_stopping)
        return;
    if (stage_is(s, "ready") || stage_is(s, "echo"))
        stage_ready(s, TOOL_A, false);
    else if (stage_is(s, "public"))
        stage_ready(s, TOOL_A, true);
    else if (stage_is(s, "fails"))
        stage_state(s, MCP_FAILED, "it is broken");
}

struct mcp_session *mcp_session_new(struct loop *loop, const struct mcp_session_conf *conf,
                                    const struct mcp_session_handler *handler, void *arg,
                                    struct err *reterr)
{
    struct mcp_session *s = calloc(1, sizeof(*s));

    (void)reterr;
    *s = (struct mcp_session){.next = stage.first,
                              .loop = loop,
                              .conf = *conf,
                              .handler = handler,
                              .arg = arg,
                              .error = "",
                              .number = stage.n_made++};
    stage.first = s;
    stage.n_live++;
    return s;
}

void mcp_session_start(struct mcp_session *s)
{
    s->state = MCP_STARTING;
    defer_once(s->loop, stage_begin, s);
}

static inline void stage_call_free(struct mcp_session_call *call)
{
    struct mcp_session_call **place = &call->session->calls;

    while (*place != call)
        place = &(*place)->next;
    *place = call->next;
    arena_fini(&call->memory);
    free(call);
}

static inline void stage_answer(struct mcp_session_call *call, const struct mcp_failure *failure,
                                const struct mcp_call_result *result)
{
    call->handler->on_done(call->arg, failure, result);
    stage_call_free(call);
}

static inline void stage_end(void *arg)
{
    const struct mcp_failure closed = {.cause = MCP_FAILED_CLOSED};
    struct mcp_session *s = arg;

    while (s->calls != NULL)
        stage_answer(s->calls, &closed, NULL);
    s->state = MCP_STOPPED;
    s->is_available = false;
    s->handler->on_stopped(s->arg);
}

void mcp_session_stop(struct mcp_session *s)
{
    MUST(!s->is_stopping);
    s->is_stopping = true;
    defer_once(s->loop, stage_end, s);
}

void mcp_session_free(struct mcp_session *s)
{
    struct mcp_session **place = &stage.first;

    if (s == NULL)
        return;
    MUST(s->calls == NULL);
    while (*place != s)
        place = &(*place)->next;
    *place = s->next;
    stage.n_live--;
    free(s);
}

uint64_t mcp_session_hurry_ms(const struct mcp_session *s)
{
    (void)s;
    return UINT64_MAX;
}

bool mcp_session_hurry(struct mcp_session *s)
{
    (void)s;
    return false;
}

enum mcp_state mcp_session_state(const struct mcp_session *s)
{
    return s->state;
}

bool mcp_session_is_available(const struct mcp_session *s)
{
    return s->is_available;
}

str mcp_session_error(const struct mcp_session *s)
{
    return str_from_c(s->error);
}

enum mcp_transport mcp_session_transport(const struct mcp_session *s)
{
    return s->conf.server->transport;
}

enum mcp_version mcp_session_version(const struct mcp_session *s)
{
    (void)s;
    return MCP_VERSION_NONE;
}

const char *mcp_state_name(enum mcp_state state)
{
    (void)state;
    return "";
}

void mcp_session_refresh(struct mcp_session *s)
{
    (void)s;
    stage.n_refreshes++;
}

static inline void stage_echo(void *arg)
{
    struct mcp_session *s = arg;
    struct buf content = {0};
    struct mcp_call_result result = {.is_error = false};
    struct mcp_session_call *call = s->calls;

    if (call == NULL) /* cancelled */
        return;
    buf_c(&content, "[{\"type\":\"text\",\"text\":\"");
    json_text_escape(call->arguments, &content);
    buf_c(&content, "\"}]");
    result.content = buf_str(&content);
    stage_answer(call, NULL, &result);
    buf_fini(&content);
}

struct mcp_session_call *mcp_session_call(struct mcp_session *s,
                                          const struct mcp_session_call_conf *conf,
                                          const struct mcp_session_call_handler *handler, void *arg,
                                          struct err *reterr)
{
    struct mcp_session_call *call = calloc(1, sizeof(*call)), **last = &s->calls;

    (void)reterr;
    MUST(!s->is_stopping);
    *call = (struct mcp_session_call){.session = s, .handler = handler, .arg = arg, .conf = *conf};
    call->arguments = arena_dup(&call->memory, conf->arguments);
    while (*last != NULL)
        last = &(*last)->next;
    *last = call;
    if (stage_is(s, "echo"))
        defer_once(s->loop, stage_echo, s);
    return call;
}

struct mcp_call_facts mcp_session_call_facts(const struct mcp_session_call *call)
{
    (void)call;
    return (struct mcp_call_facts){.request_id = 7};
}

void mcp_session_cancel(struct mcp_session_call *call, const char *reason)
{
    MUST(reason != NULL);
    stage.n_cancelled++;
    stage_call_free(call);
}

/* ---- setup */

static inline int stage_setup(void **state)
{
    stage = (struct stage){.first = NULL};
    return hub_setup(state);
}

static inline int stage_teardown(void **state)
{
    int rc = hub_teardown(state);

    assert_int_equal(stage.n_live, 0);
    return rc;
}

/* ---- acting on the hub's thread */

struct act {
    const char *label;
    enum mcp_state state;
    const char *text; /* an error, tools, or a result's content */
    const struct mcp_failure *failure;
    bool is_error;
};

/* The newest session of that label. */
static inline struct mcp_session *stage_find(const char *label)
{
    struct mcp_session *s = stage.first;

    while (s != NULL && !str_eq(s->conf.server->label, str_from_c(label)))
        s = s->next;
    MUST(s != NULL);
    return s;
}

static inline void act_state(void *arg)
{
    struct act *a = arg;

    stage_state(stage_find(a->label), a->state, a->text);
}

static inline void play_state(const char *label, enum mcp_state state, const char *error)
{
    play(act_state, &(struct act){.label = label, .state = state, .text = error});
}

static inline void act_ready(void *arg)
{
    struct act *a = arg;

    stage_ready(stage_find(a->label), a->text, false);
}

static inline void play_ready(const char *label, const char *tools)
{
    play(act_ready, &(struct act){.label = label, .text = tools});
}

/* Answers the oldest call of the oldest session of that label that has one. */
static inline void act_answer(void *arg)
{
    struct act *a = arg;
    struct mcp_call_result result = {.is_error = a->is_error, .content = str_from_c(a->text)};
    struct mcp_session_call *call = NULL;

    for (struct mcp_session *s = stage.first; s != NULL; s = s->next) {
        if (str_eq(s->conf.server->label, str_from_c(a->label)) && s->calls != NULL)
            call = s->calls;
    }
    MUST(call != NULL);
    stage_answer(call, a->failure, a->failure != NULL ? NULL : &result);
}

static inline void play_answer(const char *label, const char *content)
{
    play(act_answer, &(struct act){.label = label, .text = content});
}

static inline void play_failure(const char *label, const struct mcp_failure *failure)
{
    play(act_answer, &(struct act){.label = label, .failure = failure});
}

static inline void act_count(void *arg)
{
    *(struct stage *)arg = stage;
}

/* The counters, as of now. */
static inline struct stage play_count(void)
{
    struct stage counted;

    play(act_count, &counted);
    return counted;
}

#endif
