/* turn_summary.c -- the model's answer to the question for a summary, and what follows (CONTRACT 13.5, 13.9).
 *
 * Nothing of it is announced before it is whole: what might still fail is not in the stream. */
#include "turn/turn_summary.h"

#include "compact/compact_item.h"
#include "compact/compact_shrink.h"
#include "ev/log.h"
#include "flight/flight_admission.h"
#include "flight/reach.h"
#include "response/response_compaction.h"
#include "turn/turn_spans.h"
#include "turn/turn_stages.h"
#include "wire/request/request_compact.h"

/* ---- the model speaks */

bool turn_hear_summary(struct turn *t, str bytes)
{
    struct turn_summary_call *s = t->compaction.summary;

    summary_round_feed(&s->round, bytes);
    if (!summary_round_is_over(&s->round))
        return false;
    if (summary_round_is_cut_off(&s->round))
        flight_cancel_call(&t->flight);
    return true;
}

bool turn_has_heard_summary(const struct turn *t)
{
    const struct turn_summary_call *s = t->compaction.summary;

    return s != NULL && s->has_round && s->round.stream.body.is_done;
}

enum turn_next turn_await_summary(void *arg, struct err *reterr)
{
    const struct turn *t = arg;
    const struct turn_summary_call *s = t->compaction.summary;

    (void)reterr;
    return s->has_failed || t->flight.has_call_ended || summary_round_is_over(&s->round)
               ? TURN_GO
               : TURN_WAIT;
}

/* ---- the summary is there */

/* The next rounds go on from it, as later requests will. A summary that is no smaller than what it
 * replaces is of no use. */
static int replace_context(struct turn *t, str sealed, struct err *reterr)
{
    const struct responses_request_options options = turn_request_options(t);
    struct turn_compaction *c = &t->compaction;
    struct responses_request next = t->request;

    if (request_compact_replace(&next, sealed, &options, &t->flight.worker->ids, &t->flight.arena,
                                reterr) == -1)
        return -1;
    if (compact_items_tokens(&next.items) >= compact_items_tokens(&t->request.items)) {
        err_set(reterr, ERR_UPSTREAM_ERROR, "The summary is not smaller than what it replaces.");
        return -1;
    }
    if (!c->has_replaced)
        c->replaced = t->request.items;
    c->has_replaced = true;
    t->request = next;
    t->last_round = (struct turn_last_round){.tokens = 0};
    t->n_left_out = 0;
    t->is_aimed = false;
    return 0;
}

static int put_summary(struct turn *t, struct turn_summary_call *s, str summary, struct buf *out,
                       struct err *reterr)
{
    const bool is_trigger = turn_is_for_summary(t) && !t->request.is_compact;
    const struct kept_items none = {.n = 0};
    const struct compact_item item = {
        .is_window = !turn_is_for_summary(t),
        .summary = summary,
        .before = is_trigger ? none : s->kept.before,
        .after = s->kept.after,
        .n_tokens = s->n_tokens,
        .at = clock_unix_s(),
    };
    struct buf content = {.limit = 0};
    str sealed;

    owner_seal_tell(t->flight.worker->forgets_seals);
    if (compact_item_seal(&item, turn_compaction_seal(t), &t->flight.arena, &sealed, reterr) == -1)
        return -1;
    buf_append(&content, sealed);
    if (buf_failed(&content)) {
        buf_fini(&content);
        return err_set_no_memory(reterr);
    }
    if (item.is_window && replace_context(t, sealed, reterr) == -1) {
        buf_fini(&content);
        return -1;
    }
    return response_compacted(&t->response, &content, out) ? 0 : err_set_no_memory(reterr);
}

static int take_text(struct turn *t, struct turn_summary_call *s, struct buf *out,
                     struct err *reterr)
{
    struct buf text = {.limit = 0};
    int rc = -1;

    summary_round_write(&s->round, &text);
    s->is_call = text.len == 0 && s->round.has_call;
    if (buf_failed(&text))
        (void)err_set_no_memory(reterr);
    else if (text.len == 0)
        err_set(reterr, ERR_UPSTREAM_ERROR, "The model wrote no summary.");
    else
        rc = put_summary(t, s, buf_str(&text), out, reterr);
    buf_fini(&text);
    return rc;
}

/* A summary that was cut for its length is taken as it is. */
static int take_answer(struct turn *t, struct turn_summary_call *s, struct buf *out,
                       struct err *reterr)
{
    const struct chat_result result = summary_round_end(&s->round, t->failure);

    response_add_summary_usage(&t->response, &s->round.stream.reader.usage, s->round.n_reasoning);
    s->is_upstreams = result.failed;
    if (result.failed) {
        *reterr = result.error;
        reach_hide_keys(&t->flight, reterr);
        return -1;
    }
    if (result.finish == FINISH_CONTENT_FILTER) {
        err_set(reterr, ERR_UPSTREAM_ERROR,
                "The content filter of the upstream server stopped the summary.");
        return -1;
    }
    return take_text(t, s, out, reterr);
}

static struct buf *large_out(struct turn *t)
{
    return t->request.stream ? &t->large : NULL;
}

int turn_take_summary(void *arg, struct err *reterr)
{
    struct turn *t = arg;
    struct turn_summary_call *s = t->compaction.summary;
    struct buf *out = turn_weight(t) < WORKER_LARGE_BYTES ? turn_out(t) : large_out(t);

    (void)reterr;
    s->is_call = false;
    if (s->is_asked && upstream_answer_is_good(&t->flight.answer))
        s->has_failed = take_answer(t, s, out, &s->why_not) == -1;
    return 0;
}

/* ---- what follows */

void turn_fini_summary(struct turn *t)
{
    struct turn_summary_call *s = t->compaction.summary;

    if (s != NULL && s->has_round)
        summary_round_fini(&s->round);
    t->compaction.summary = NULL;
}

static void log_summary(const struct turn *t, const struct turn_summary_call *s)
{
    const bool is_made = !s->has_failed;

    log_line(is_made ? LOG_INFO : LOG_WARN, "compaction",
             (struct log_field[]){
                 LOG_STR("status", is_made ? STR("completed") : STR("failed")),
                 LOG_STR("error", is_made ? STR_NONE : str_from_c(err_wire_code(&s->why_not))),
                 LOG_STR("message", is_made ? STR_NONE : str_from_c(s->why_not.msg)),
                 LOG_INT("context_tokens", s->n_tokens), LOG_INT("refused", s->n_refused),
                 LOG_STR("request_id", t->flight.request_id), LOG_END});
}

/* The context of the round at hand is not compacted again, whatever came of it. */
static enum turn_next go_on(struct turn *t)
{
    log_summary(t, t->compaction.summary);
    turn_leave_summary_route(t);
    turn_fini_summary(t);
    t->compaction.is_settled = true;
    return TURN_GO;
}

/* A shorter question, or one without tools. */
static bool may_ask_otherwise(struct turn_summary_call *s)
{
    if (s->is_asked && s->why_not.code == ERR_CONTEXT_LENGTH) {
        s->n_refused++;
        s->is_too_long = true;
        return s->n_refused < COMPACT_MAX_CALLS;
    }
    if (!s->is_call || s->omits_tools)
        return false;
    s->omits_tools = true;
    return true;
}

/* The same question, of whoever may be asked next: when there was no answer, not when it is no summary. */
static bool plans_retry(struct turn *t, struct turn_summary_call *s)
{
    if (!s->is_upstreams)
        return false;
    if (flight_may_retry(&t->flight, &s->why_not, false)) {
        s->retried = turn_keep_failure(&t->kept, &s->why_not);
        return true;
    }
    flight_tell_retry(&t->flight, &s->why_not);
    return false;
}

static bool may_ask_again(struct turn *t, struct turn_summary_call *s)
{
    return s->has_failed && (may_ask_otherwise(s) || plans_retry(t, s));
}

static void read_failure(struct turn *t, struct turn_summary_call *s)
{
    if (!s->is_asked)
        return;
    if (!upstream_answer_is_good(&t->flight.answer)) {
        s->has_failed = s->is_upstreams = true;
        turn_read_refusal(&t->flight, t->failure, &s->why_not);
    } else if (s->has_failed) {
        upstream_answer_failed(&t->flight.answer, t->flight.call);
    }
}

enum turn_next turn_judge_summary(void *arg, struct err *reterr)
{
    struct turn *t = arg;
    struct turn_summary_call *s = t->compaction.summary;
    bool is_asked_again;

    read_failure(t, s);
    is_asked_again = may_ask_again(t, s);
    flight_end_attempt(&t->flight, s->is_upstreams ? &s->why_not : NULL);
    turn_spans_heard_summary(t, &s->round.stream, s->has_failed ? &s->why_not : NULL);
    turn_send_large(t);
    if (t->response.broken != ERR_NONE) {
        response_failure(&t->response, reterr);
        return TURN_FAIL;
    }
    if (!s->has_failed && turn_is_for_summary(t)) {
        response_finish_compacted(&t->response, clock_unix_s());
        return TURN_END;
    }
    if (!s->has_failed)
        return go_on(t);
    if (is_asked_again) {
        s->is_asked = s->has_failed = s->is_upstreams = false;
        return TURN_ELSE;
    }
    if (!turn_is_for_summary(t))
        return go_on(t);
    *reterr = s->why_not;
    return TURN_FAIL;
}

/* ---- the answer of the endpoint */

void turn_write_compaction(const struct turn *t, struct buf *out)
{
    const struct turn_summary_call *s = t->compaction.summary;
    struct buf kept = {.limit = 0};

    for (size_t i = 0; i < s->kept.before.n; i++) {
        if (i > 0)
            buf_char(&kept, ',');
        buf_append(&kept, s->kept.before.v[i].body);
    }
    response_compaction_object(&t->response, buf_str(&kept), out);
    out->failed = out->failed || buf_failed(&kept);
    buf_fini(&kept);
}
