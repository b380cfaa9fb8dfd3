/* turn_call.c -- the calls of a round. They run side by side, unless the client says otherwise; the owner
 * is given what each came to when it has ended. That a call fails is for the model to deal with (CONTRACT
 * 1.5). */
#include "call/turn_call.h"

#include "call/turn_call_metrics.h"
#include "call/turn_call_span.h"
#include "flight/worker.h"
#include "json/json_text.h"
#include "search/web_session.h"

const struct turn_call_kind *turn_call_kind(enum hosted_kind kind)
{
    static const struct turn_call_kind *const kinds[HOSTED_KIND_COUNT] = {
        [HOSTED_NONE] = &turn_call_mcp,
#define HOSTED_TOOL(symbol, type, ...) [HOSTED_##symbol] = &turn_call_##type,
#include "conv/hosted.def"
    };

    return kinds[kind];
}

/* ---- one call */

void turn_call_fail(struct turn_call_result *r, str why)
{
    r->is_failed = true;
    json_text_escape(why, &r->output);
}

void turn_call_ended(struct turn_call *c, struct turn_call_result *r)
{
    c->work = NULL;
    c->result = *r;
    c->of->n_running--;
    turn_call_metrics_end(c);
    turn_wake(c->of->flight);
}

static void start_call(struct turn_call *c)
{
    c->is_started = true;
    turn_call_span_begin(c);
    c->work = c->kind->start(c, &c->result);
    if (c->work != NULL)
        c->of->n_running++;
}

/* A call that starts when it is added may do so on the pool: it is counted when it is given back. */
static void note_start(struct turn_call *c)
{
    c->start_ms = loop_now_ms(c->of->flight->worker->loop);
}

static void free_result(struct turn_call_result *r)
{
    buf_fini(&r->output);
    buf_fini(&r->error);
    buf_fini(&r->outputs);
    buf_fini(&r->tools);
    buf_fini(&r->shown);
}

static void close_if_ended(struct turn_call *c)
{
    if (!c->is_started || c->is_closed || c->work != NULL)
        return;
    c->is_closed = true;
    turn_call_span_end(c);
    c->of->close(c);
    free_result(&c->result);
}

/* ---- all of them */

bool turn_calls_add(struct turn_calls *all, const struct turn_call *call)
{
    struct turn_call *c = arena_alloc(&all->flight->arena, sizeof(*c));

    if (c == NULL)
        return false;
    *c = *call;
    c->of = all;
    if (all->last == NULL)
        all->first = c;
    else
        all->last->next = c;
    all->last = c;
    if (c->kind->starts_at_once)
        start_call(c);
    return true;
}

/* A call that has ended is closed before the next begins. */
static void start_calls(struct turn_calls *all)
{
    for (struct turn_call *c = all->first; c != NULL; c = c->next) {
        if (all->runs_one_by_one && all->n_running > 0)
            return;
        if (!c->is_started) {
            note_start(c);
            start_call(c);
            if (c->work == NULL)
                turn_call_metrics_end(c);
        }
        close_if_ended(c);
    }
}

enum turn_next turn_calls_run(struct turn_calls *all)
{
    start_calls(all);
    if (all->n_running > 0)
        return TURN_WAIT;
    all->first = all->last = NULL;
    return TURN_GO;
}

void turn_calls_cancel(struct turn_calls *all)
{
    for (struct turn_call *c = all->first; c != NULL; c = c->next) {
        if (c->work != NULL) {
            turn_call_metrics_cancel(c);
            c->kind->cancel(c->work);
        }
        c->work = NULL;
        turn_call_span_cancel(c);
        free_result(&c->result);
    }
    all->first = all->last = NULL;
    all->n_running = 0;
}

void turn_calls_fini(struct turn_calls *all)
{
    for (struct turn_call *c = all->first; c != NULL; c = c->next) {
        turn_call_span_cancel(c);
        free_result(&c->result);
    }
    web_session_free(all->web);
    buf_fini(&all->cited_url);
    buf_fini(&all->cited_title);
}
