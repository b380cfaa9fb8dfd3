/* response_end.c -- the ends of rounds and of the response.
 *
 * A round ends with its prose and with the calls that are the client's; calls
 * that the gateway runs stay open. The response ends once, when no more rounds
 * follow, or by failing at any time. */
#include <assert.h>

#include "response/response_hosted.h"
#include "response/response_internal.h"
#include "wire/dialect/upstream_error.h"

/* ---- a round */

static bool is_whole(enum finish finish)
{
    return finish != FINISH_LENGTH && finish != FINISH_CONTENT_FILTER;
}

/* What the model has said in this round, as far as it decides how to go on. */
struct said {
    bool anything; /* a message or call that is seen */
    bool hosted;   /* calls that the gateway answers */
    bool clients;  /* calls that the client answers, by an output or an approval */
    bool mcp;      /* calls with which a response of the legacy dialect ends */
};

static struct said said_in_round(const struct response *r)
{
    struct said said = {.anything = false};

    for (const struct output_item *it = *r->round_begin; it != NULL; it = it->next) {
        if (it->kind == OUTPUT_REASONING || it->kind == OUTPUT_MCP_LIST_TOOLS ||
            it->kind == OUTPUT_TOOL_SEARCH_OUTPUT || it->kind == OUTPUT_COMPACTION ||
            !str_is_none(it->approval_request_id))
            continue; /* all but reasoning are not of the round */
        said.anything = said.anything || !it->is_hidden;
        said.hosted = said.hosted || output_is_hosted_call(it->kind);
        said.mcp = said.mcp || it->kind == OUTPUT_MCP_CALL;
        said.clients =
            said.clients || (it->kind != OUTPUT_MESSAGE && !output_is_hosted_call(it->kind));
    }
    return said;
}

void response_end_round(struct response *r, enum finish finish, struct buf *out)
{
    bool has_dropped = r->is_last_round && r->n_calls > 0, is_nameless, ok;
    struct said said;

    if (!is_whole(finish)) {
        response_keep_withheld(r); /* no more is to come: it is all there is */
        response_show_withheld(r, out);
    }

    is_nameless =
        response_close_calls(r, is_whole(finish) ? OUTPUT_COMPLETED : OUTPUT_INCOMPLETE, out);
    ok = is_whole(finish) && !r->broken;
    response_close_prose(r, ok ? OUTPUT_COMPLETED : OUTPUT_INCOMPLETE, out);
    if (ok)
        response_run_hosted(r, out);
    else
        response_cut_hosted(r, out);
    said = said_in_round(r);
    r->last = (struct response_round){
        .has_shown = said.anything,
        .has_dropped = has_dropped,
        .is_nameless = is_nameless,
        .goes_on = ok && said.hosted && !said.clients && !(said.mcp && response_is_legacy(r)),
        .lacks_answer = ok && r->plan.withholds_text && !said.anything && !said.hosted};
    r->n_answer_rounds += r->last.lacks_answer;
    if (r->last.lacks_answer)
        response_keep_withheld(r);
    r->round_begin = r->end;
}

/* Most servers that stream reasoning do not count it; then each delta of it is a token. */
static int64_t reasoning_tokens(const struct usage *u, int64_t n_deltas)
{
    if (u->tells_reasoning)
        return u->reasoning;
    return n_deltas < u->output ? n_deltas : u->output;
}

void response_add_tokens(struct response *r, const struct usage *u, int64_t n_reasoning)
{
    if (!u->known)
        return;
    r->usage.known = true;
    r->usage.input += u->input;
    r->usage.cached += u->cached;
    r->usage.cache_write += u->cache_write;
    r->usage.output += u->output;
    r->usage.reasoning += reasoning_tokens(u, n_reasoning);
}

void response_add_usage(struct response *r, const struct usage *u, str service_tier)
{
    str tier = service_tier.len == 0 ? STR_NONE : arena_dup(&r->arena, service_tier);
    int64_t n_reasoning = r->n_reasoning;

    r->n_rounds++;
    r->n_reasoning = 0;
    if (!str_is_none(tier))
        r->service_tier = tier;
    response_add_tokens(r, u, n_reasoning);
}

/* ---- the response */

static void cut_short(struct response *r, const char *reason)
{
    r->status = RESPONSE_INCOMPLETE;
    r->incomplete_reason = reason;
}

void response_complete(struct response *r, int64_t now_s)
{
    r->status = RESPONSE_COMPLETED;
    r->completed_at = now_s < r->conf.created_at ? r->conf.created_at : now_s;
}

static void set_status(struct response *r, enum finish finish, bool is_used_up, int64_t now_s)
{
    if (finish == FINISH_LENGTH)
        cut_short(r, "max_output_tokens");
    else if (finish == FINISH_CONTENT_FILTER)
        cut_short(r, "content_filter");
    else if (is_used_up)
        cut_short(r, "max_tool_calls");
    else
        response_complete(r, now_s);
}

/* A completed response has something to show for its last round beside reasoning, and one
 * that was cut short has something to show at all: at least an empty message. */
static void show_something(struct response *r, bool is_completed, struct buf *out)
{
    if (r->n_items > 0 && (!is_completed || r->last.has_shown))
        return;
    response_add_empty_message(r, out);
    response_close_prose(r, is_completed && !r->broken ? OUTPUT_COMPLETED : OUTPUT_INCOMPLETE, out);
}

void response_finish(struct response *r, enum finish finish, int64_t now_s, struct buf *out)
{
    bool is_used_up = r->last.has_dropped && !r->last.has_shown;
    struct err e;

    assert(r->broken || response_next_call(r, NULL) == NULL);
    if (r->last.is_nameless && r->n_items == 0) {
        err_set(&e, ERR_UPSTREAM_ERROR,
                UPSTREAM_SERVER_ERROR "The upstream server sent a tool call without a name.");
        response_fail(r, &e, out);
        return;
    }
    response_show_withheld(r, out);
    show_something(r, is_whole(finish) && !is_used_up, out);
    response_close_prose(r, is_whole(finish) ? OUTPUT_COMPLETED : OUTPUT_INCOMPLETE, out);
    if (r->broken) {
        response_failure(r, &e);
        response_fail(r, &e, out);
        return;
    }
    set_status(r, finish, is_used_up, now_s);
}

void response_finish_empty(struct response *r, int64_t now_s)
{
    r->usage.known = true;
    response_complete(r, now_s);
}

/* An item that is open although no upstream knows its call: the response was read from the store. */
static bool is_left_open(const struct output_item *item)
{
    return output_kind_row(item->kind)->delta != EVENT_NONE && !item->is_hidden &&
           item->status == OUTPUT_IN_PROGRESS && !item->is_whole &&
           str_is_none(item->approval_request_id);
}

static void close_left_open(struct response *r, struct buf *out)
{
    for (struct output_item *item = r->first; item != NULL; item = item->next) {
        if (!is_left_open(item))
            continue;
        item->is_whole = true;
        response_emit_call_text(r, output_kind_row(item->kind)->done, item, buf_str(&item->text),
                                out);
        response_close_item(r, item, OUTPUT_INCOMPLETE, out);
    }
}

/* A queued response begins, or it would have no end either (CONTRACT 4.8). */
static void close_everything(struct response *r, const struct err *why, struct buf *out)
{
    if (r->status == RESPONSE_QUEUED)
        response_start(r, out);
    (void)response_close_calls(r, OUTPUT_INCOMPLETE, out);
    response_close_prose(r, OUTPUT_INCOMPLETE, out);
    close_left_open(r, out);
    response_cut_hosted(r, out);
    response_fail_listings(r, why, out);
}

void response_fail(struct response *r, const struct err *e, struct buf *out)
{
    static struct err out_of_memory = {.code = ERR_INTERNAL,
                                       .msg = "The gateway ran out of memory."};

    close_everything(r, e, out);
    r->status = RESPONSE_FAILED;
    r->error = arena_alloc(&r->arena, sizeof(*r->error));
    if (r->error != NULL)
        *r->error = *e;
    else
        r->error = &out_of_memory;
}

void response_cancel(struct response *r, struct buf *out)
{
    close_everything(r, response_cancelled_error(), out);
    r->status = RESPONSE_CANCELLED;
    r->error = NULL;
}

/* ---- the last events */

static enum event_type terminal_event(const struct response *r)
{
    switch (r->status) {
    case RESPONSE_COMPLETED:
        return EVENT_COMPLETED;
    case RESPONSE_INCOMPLETE:
        return EVENT_INCOMPLETE;
    case RESPONSE_QUEUED:
    case RESPONSE_IN_PROGRESS:
    case RESPONSE_FAILED:
    case RESPONSE_CANCELLED:
        break;
    }
    return EVENT_FAILED;
}

static bool has_error_event(const struct response *r)
{
    return terminal_event(r) == EVENT_FAILED && r->conf.error_event;
}

void response_end(struct response *r, struct buf *out)
{
    if (has_error_event(r))
        response_emit_error(r, out);
    response_emit_object(r, terminal_event(r), out);
    if (out != NULL && !response_is_legacy(r))
        buf_append(out, STR("data: [DONE]\n\n"));
}

void response_whole_cuts(const struct response *r, struct cuts *ret)
{
    const struct event_cut error = {.type = EVENT_ERROR};
    const struct event_cut end = {.type = terminal_event(r)};

    *ret = r->cuts;
    ret->bytes = (struct buf){.failed = r->cuts.bytes.failed};
    buf_append(&ret->bytes, buf_str(&r->cuts.bytes));
    if (has_error_event(r))
        cuts_note(ret, &error);
    cuts_note(ret, &end);
}
