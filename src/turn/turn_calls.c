/* turn_calls.c -- calls of tools that the gateway runs: those the client has approved, and what
 * the model has called in a round. Who runs them is told in turn_call.h.
 *
 * Those of one round run side by side, unless the request says otherwise; each item is closed
 * when its call has ended. That a call fails is for the model to deal with (CONTRACT 1.5). */
#include "turn/turn_call.h"
#include "turn/turn_stages.h"
#include "json/json_text.h"

/* ---- one call */

static const struct turn_call_kind *kind_of(const struct output_item *item)
{
    static const struct turn_call_kind *const kinds[HOSTED_KIND_COUNT] = {
        [HOSTED_NONE] = &turn_call_mcp,
#define HOSTED_TOOL(symbol, type, ...) [HOSTED_##symbol] = &turn_call_##type,
#include "conv/hosted.def"
    };

    return kinds[output_hosted_kind(item->kind)];
}

static str none_if_empty(const struct buf *b)
{
    return b->len == 0 ? STR_NONE : buf_str(b);
}

/* Closes the item and frees what is in r. */
static void close_item(struct turn_call *c, struct turn_call_result *r, struct buf *out)
{
    struct buf *const all[] = {&r->output, &r->error, &r->outputs, &r->shown};
    const struct hosted_outcome outcome = {
        .is_failed = r->is_failed,
        .output = buf_str(&r->output),
        .error = buf_str(&r->error),
        .outputs = none_if_empty(&r->outputs),
        .shown = none_if_empty(&r->shown),
    };

    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        if (buf_failed(all[i]))
            c->turn->response.broken = ERR_INTERNAL;
    }
    (void)response_call_ended(&c->turn->response, c->item, &outcome, out);
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        buf_fini(all[i]);
}

void turn_call_fail(struct turn_call_result *r, str why)
{
    r->is_failed = true;
    json_text_escape(why, &r->output);
}

void turn_call_ended(struct turn_call *c, struct turn_call_result *r)
{
    c->work = NULL;
    c->result = *r;
    c->turn->n_calls--;
    turn_wake(&c->turn->flight);
}

static void start_call(struct turn_call *c)
{
    c->is_started = true;
    c->work = c->kind->start(c, &c->result);
    if (c->work != NULL)
        c->turn->n_calls++;
}

/* Closes what has ended. */
static void close_call(struct turn_call *c, struct buf *out)
{
    if (!c->is_started || c->is_closed || c->work != NULL)
        return;
    c->is_closed = true;
    close_item(c, &c->result, out);
}

/* ---- all of them */

static void close_calls(struct turn *t, struct buf *out)
{
    for (struct turn_call *c = t->calls; c != NULL; c = c->next)
        close_call(c, out);
}

static void start_calls(struct turn *t, struct buf *out)
{
    bool one_by_one = str_eq(t->request.parallel_tool_calls, STR("false"));

    for (struct turn_call *c = t->calls; c != NULL; c = c->next) {
        if (one_by_one && t->n_calls > 0)
            return;
        if (!c->is_started)
            start_call(c);
        close_call(c, out);
    }
}

enum turn_next turn_run_calls(void *arg, struct err *reterr)
{
    struct turn *t = arg;
    struct buf *out = turn_out(t);

    if (t->calls == NULL)
        return TURN_GO;
    close_calls(t, out);
    start_calls(t, out);
    if (t->response.broken) {
        response_failure(&t->response, reterr);
        return TURN_FAIL;
    }
    if (t->n_calls > 0)
        return TURN_WAIT;
    t->calls = NULL;
    return TURN_GO;
}

static bool add_call(struct turn *t, struct output_item *item, struct turn_call **last)
{
    struct turn_call *c = arena_alloc(&t->flight.arena, sizeof(*c));

    if (c == NULL)
        return false;
    *c = (struct turn_call){.turn = t, .item = item, .kind = kind_of(item)};
    if (*last == NULL)
        t->calls = c;
    else
        (*last)->next = c;
    *last = c;
    return true;
}

int turn_gather_calls(void *arg, struct err *reterr)
{
    struct turn *t = arg;
    struct turn_call *last = NULL;

    t->calls = NULL;
    for (struct output_item *item = response_next_call(&t->response, NULL); item != NULL;
         item = response_next_call(&t->response, item)) {
        if (!add_call(t, item, &last)) {
            err_set_no_memory(reterr);
            return -1;
        }
    }
    return 0;
}

void turn_cancel_calls(struct turn *t)
{
    for (struct turn_call *c = t->calls; c != NULL; c = c->next) {
        if (c->work != NULL)
            c->kind->cancel(c->work);
        c->work = NULL;
    }
    t->calls = NULL;
    t->n_calls = 0;
}

/* ---- before the model is asked */

enum turn_next turn_announce_approved(void *arg, struct err *reterr)
{
    struct turn *t = arg;

    if (t->request.approved == NULL)
        return TURN_GO;
    if (t->request.stream)
        turn_begin_stream(t);
    if (t->flight.x == NULL)
        return TURN_WAIT;
    for (const struct approved_call *a = t->request.approved; a != NULL; a = a->next) {
        if (response_approved_call(&t->response, a->tool, a->request->arguments, a->request->id,
                                   turn_out(t)) == NULL) {
            response_failure(&t->response, reterr);
            return TURN_FAIL;
        }
    }
    return TURN_GO;
}
