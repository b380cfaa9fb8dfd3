/* mcp_session_queue.c -- all calls of a session: which are sent, which have waited too long.
 *
 * Calls are one list, oldest first, whatever has become of them: a call that has to be sent again
 * is so before younger ones. No list is longer than the queue may be, so it is simply searched. */
#include "mcp/session/mcp_call.h"

#include <stdlib.h>

#include "json/json_text.h"

/* ---- the list of calls */

static size_t *place_counter(const struct mcp_session_call *c)
{
    struct mcp_session *s = c->session;

    if (c->place == MCP_CALL_REFUSED)
        return &s->n_refused;
    return c->place == MCP_CALL_QUEUED ? &s->n_queued : &s->n_active;
}

void mcp_call_place(struct mcp_session_call *c, enum mcp_call_place to)
{
    --*place_counter(c);
    c->place = to;
    ++*place_counter(c);
}

void mcp_call_unlink(struct mcp_session_call *c)
{
    struct mcp_session *s = c->session;
    struct mcp_session_call **at = &s->first;

    while (*at != c)
        at = &(*at)->next;
    *at = c->next;
    if (s->last == &c->next)
        s->last = at;
    --*place_counter(c);
    mcp_pending_remove(&s->pending, &c->pending);
}

void mcp_call_free(struct mcp_session_call *c)
{
    arena_fini(&c->arena);
    buf_fini(&c->refusal);
    buf_fini(&c->responses);
    buf_fini(&c->state);
    free(c);
}

/* ---- progress */

/* Progress restarts the idle timer only (MCP 8.4). */
void mcp_calls_progress(struct mcp_session *s, int64_t token)
{
    struct mcp_pending *p = mcp_pending_find(&s->pending, token);
    struct mcp_session_call *c;

    if (p == NULL || p->method != MCP_CALL_TOOL)
        return;
    c = p->arg;
    c->idle_until_ms = loop_now_ms(s->loop) + c->idle_ms;
}

/* ---- deadlines */

/* The time at which the call times out; UINT64_MAX: never. */
static uint64_t call_deadline(const struct mcp_session_call *c)
{
    uint64_t until_ms = c->total_ms == 0 ? UINT64_MAX : c->until_ms;

    if (c->place == MCP_CALL_SENT && c->idle_ms != 0 && c->idle_until_ms < until_ms)
        until_ms = c->idle_until_ms;
    return c->place == MCP_CALL_REFUSED ? UINT64_MAX : until_ms;
}

uint64_t mcp_calls_deadline(const struct mcp_session *s)
{
    uint64_t first_ms = UINT64_MAX;

    for (const struct mcp_session_call *c = s->first; c != NULL; c = c->next)
        first_ms = call_deadline(c) < first_ms ? call_deadline(c) : first_ms;
    return first_ms;
}

static void time_out_call(struct mcp_session_call *c, uint64_t now_ms)
{
    bool is_total = c->total_ms != 0 && now_ms >= c->until_ms;
    uint64_t limit_ms = is_total ? c->total_ms : c->idle_ms;

    mcp_count_request(c->session, &c->pending, mcp_failure_word(MCP_FAILED_TIMEOUT));
    mcp_session_give_up(c->session, &c->pending, "timeout");
    mcp_call_fail(c, (struct mcp_failure){.cause = MCP_FAILED_TIMEOUT,
                                          .seconds = (int64_t)((limit_ms + 500) / 1000)});
}

static struct mcp_session_call *first_late(const struct mcp_session *s, uint64_t now_ms)
{
    struct mcp_session_call *c = s->first;

    while (c != NULL && call_deadline(c) > now_ms)
        c = c->next;
    return c;
}

void mcp_calls_time_out(struct mcp_session *s, uint64_t now_ms)
{
    struct mcp_session_call *c;

    while ((c = first_late(s, now_ms)) != NULL)
        time_out_call(c, now_ms);
}

/* ---- listings */

void mcp_calls_listing_begins(struct mcp_session *s)
{
    for (struct mcp_session_call *c = s->first; c != NULL; c = c->next)
        c->is_in_listing = c->place == MCP_CALL_RELISTING;
}

static const struct mcp_listed_tool *find_tool(const struct mcp_listing *listing, str name)
{
    const struct mcp_listed_tool *t = listing == NULL ? NULL : listing->first;

    while (t != NULL && !str_eq(t->name, name))
        t = t->next;
    return t;
}

static struct mcp_session_call *first_in_listing(const struct mcp_session *s)
{
    struct mcp_session_call *c = s->first;

    while (c != NULL && !(c->place == MCP_CALL_RELISTING && c->is_in_listing))
        c = c->next;
    return c;
}

void mcp_calls_listing_ended(struct mcp_session *s, const struct mcp_listing *listing)
{
    struct mcp_session_call *c;

    while ((c = first_in_listing(s)) != NULL) {
        const struct mcp_listed_tool *t = find_tool(listing, c->tool);

        if (t != NULL)
            mcp_call_send(c, t->mirrors);
        else
            mcp_call_fail_rpc(c, MCP_HEADER_MISMATCH, buf_str(&c->refusal));
    }
}

/* ---- all of them */

static struct mcp_session_call *first_at(const struct mcp_session *s, enum mcp_call_place at)
{
    struct mcp_session_call *c = s->first;

    while (c != NULL && c->place != at)
        c = c->next;
    return c;
}

static struct mcp_session_call *first_doomed(const struct mcp_session *s)
{
    struct mcp_session_call *c = s->first;

    while (c != NULL && !c->is_doomed)
        c = c->next;
    return c;
}

/* Calls that are made while these are failed are not meant. */
void mcp_calls_fail(struct mcp_session *s, const struct mcp_end *why)
{
    struct mcp_session_call *c;

    for (c = s->first; c != NULL; c = c->next)
        c->is_doomed = true;
    while ((c = first_doomed(s)) != NULL)
        mcp_call_fail(c, (struct mcp_failure){
                             .cause = why->cause, .code = why->http_status, .message = why->text});
}

void mcp_calls_pump(struct mcp_session *s)
{
    struct mcp_session_call *c;

    while ((c = first_at(s, MCP_CALL_REFUSED)) != NULL)
        mcp_call_fail_limit(c, "Too many calls wait for this MCP server.");
    if (!s->is_connected && s->is_leaving && !s->opens_when_closed && !s->is_hurried) {
        mcp_calls_fail(s, &(struct mcp_end){.cause = s->transport == MCP_TRANSPORT_STDIO
                                                         ? MCP_FAILED_CLOSED
                                                         : MCP_FAILED_UNREACHABLE});
        return;
    }
    while (s->is_connected && s->n_active < s->conf.server->max_concurrency &&
           (c = first_at(s, MCP_CALL_QUEUED)) != NULL)
        mcp_call_send(c, c->mirrors);
}

void mcp_calls_drop(struct mcp_session *s)
{
    for (struct mcp_session_call *c = s->first, *next; c != NULL; c = next) {
        next = c->next;
        mcp_call_free(c);
    }
    s->first = NULL;
}

/* ---- the owner's */

static bool keep_conf(struct mcp_session_call *c, const struct mcp_session_call_conf *conf)
{
    struct buf escaped = {.limit = 0};
    bool is_kept;

    json_text_escape(conf->tool, &escaped);
    c->tool = arena_dup(&c->arena, conf->tool);
    c->tool_escaped = arena_dup(&c->arena, buf_str(&escaped));
    c->arguments = arena_dup(&c->arena, conf->arguments);
    c->traceparent = arena_dup(&c->arena, conf->traceparent);
    c->tracestate = arena_dup(&c->arena, conf->tracestate);
    c->mirrors = conf->mirrors;
    c->idle_ms = conf->idle_timeout_ms;
    c->total_ms = conf->total_timeout_ms;
    is_kept = !buf_failed(&escaped) && !str_is_none(c->tool) && !str_is_none(c->tool_escaped) &&
              !str_is_none(c->arguments);
    buf_fini(&escaped);
    return is_kept;
}

struct mcp_session_call *mcp_session_call(struct mcp_session *s,
                                          const struct mcp_session_call_conf *conf,
                                          const struct mcp_session_call_handler *handler, void *arg,
                                          struct err *reterr)
{
    struct mcp_session_call *c = calloc(1, sizeof(*c));

    if (c == NULL || !keep_conf(c, conf)) {
        err_set_no_memory(reterr);
        if (c != NULL)
            mcp_call_free(c);
        return NULL;
    }
    c->session = s;
    c->handler = handler;
    c->arg = arg;
    c->until_ms = loop_now_ms(s->loop) + c->total_ms;
    c->place = s->n_queued < MCP_MAX_QUEUED + s->conf.server->max_concurrency - s->n_active
                   ? MCP_CALL_QUEUED
                   : MCP_CALL_REFUSED;
    ++*place_counter(c);
    *s->last = c;
    s->last = &c->next;
    mcp_session_wake(s);
    mcp_watch_arm(s);
    return c;
}

void mcp_session_cancel(struct mcp_session_call *c, const char *reason)
{
    struct mcp_session *s = c->session;

    mcp_session_give_up(s, &c->pending, reason);
    mcp_call_unlink(c);
    mcp_session_wake(s);
    mcp_call_free(c);
}
