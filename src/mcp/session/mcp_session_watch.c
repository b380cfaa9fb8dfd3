/* mcp_session_watch.c -- one timer for all that may wait too long (MCP 8.4, 8.7).
 *
 * The timer is set to the earliest deadline whenever one appears; deadlines that move away are
 * noticed when it fires too early. */
#include "mcp/session/mcp_session_internal.h"

static void on_pong(void *arg, const struct mcp_reply *reply);

/* ---- is the server alive? */

static bool is_watched(const struct mcp_session *s)
{
    return s->is_connected && !mcp_session_is_modern(s) && s->n_active > 0;
}

static uint64_t liveness_deadline(const struct mcp_session *s)
{
    if (s->liveness.ping.id != 0)
        return s->liveness.ping_until_ms;
    return is_watched(s) ? s->liveness.heard_ms + MCP_SILENCE_MS : UINT64_MAX;
}

static void send_ping(struct mcp_session *s, uint64_t now_ms)
{
    struct mcp_request r = {.method = MCP_PING, .version = s->version};

    s->liveness.ping.on_answer = on_pong;
    s->liveness.ping.arg = s;
    s->liveness.ping_until_ms = now_ms + MCP_PING_MS;
    if (!mcp_session_ask(s, &s->liveness.ping, &r, NULL, NULL))
        s->liveness.heard_ms = now_ms; /* try again after another silence */
}

static void count_miss(struct mcp_session *s, uint64_t now_ms)
{
    if (++s->liveness.misses < MCP_PING_MISSES)
        send_ping(s, now_ms);
    else
        mcp_session_leave(s, &(struct mcp_end){.cause = MCP_FAILED_CLOSED,
                                               .text = STR("The server does not answer.")});
}

/* Any answer shows that the server lives, an HTTP status of failure as well. */
static void on_pong(void *arg, const struct mcp_reply *reply)
{
    struct mcp_session *s = arg;
    uint64_t now_ms = loop_now_ms(s->loop);

    if (reply->failure != NULL && reply->http_status == 0)
        count_miss(s, now_ms);
    else
        s->liveness.heard_ms = now_ms;
    mcp_watch_arm(s);
}

static void check_liveness(struct mcp_session *s, uint64_t now_ms)
{
    if (now_ms < liveness_deadline(s))
        return;
    if (s->liveness.ping.id == 0) {
        send_ping(s, now_ms);
    } else {
        mcp_count_request(s, &s->liveness.ping, mcp_failure_word(MCP_FAILED_TIMEOUT));
        mcp_session_give_up(s, &s->liveness.ping, "timeout");
        count_miss(s, now_ms);
    }
}

/* ---- the timer */

static uint64_t earliest_deadline(const struct mcp_session *s)
{
    uint64_t calls_ms = mcp_calls_deadline(s), liveness_ms = liveness_deadline(s);
    uint64_t first_ms = calls_ms < liveness_ms ? calls_ms : liveness_ms;

    return s->list.is_running && s->list.deadline_ms < first_ms ? s->list.deadline_ms : first_ms;
}

void mcp_watch_arm(struct mcp_session *s)
{
    uint64_t now_ms = loop_now_ms(s->loop), at_ms = earliest_deadline(s);

    if (at_ms == UINT64_MAX)
        loop_timer_stop(s->watch);
    else
        loop_timer_start(s->watch, at_ms > now_ms ? at_ms - now_ms : 0);
}

void mcp_watch_reset(struct mcp_session *s)
{
    mcp_count_request(s, &s->liveness.ping, mcp_failure_word(MCP_FAILED_CLOSED));
    mcp_pending_remove(&s->pending, &s->liveness.ping);
    s->liveness = (struct mcp_liveness){.heard_ms = loop_now_ms(s->loop)};
}

void mcp_watch_fired(void *arg)
{
    struct mcp_session *s = arg;
    uint64_t now_ms = loop_now_ms(s->loop);

    mcp_calls_time_out(s, now_ms);
    if (s->list.is_running && now_ms >= s->list.deadline_ms)
        mcp_list_timed_out(s);
    check_liveness(s, now_ms);
    mcp_watch_arm(s);
}
