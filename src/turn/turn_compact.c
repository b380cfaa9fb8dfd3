/* turn_compact.c -- is it time for a summary, and what the model is asked for one (CONTRACT 13.4, 13.5). */
#include "turn/turn_summary.h"

#include "compact/compact_question.h"
#include "compact/compact_shrink.h"
#include "compact/compact_text.h"
#include "conv/trim.h"
#include "flight/flight_admission.h"
#include "json/json_text.h"
#include "turn/turn_spans.h"
#include "turn/turn_stages.h"
#include "upstream/upstream_options.h"
#include "wire/request/request_compact.h"

/* In percent of the window, for a client that names no threshold. */
enum { USUAL_THRESHOLD = 80 };

/* The context is not compacted again before it has grown by this part of the threshold. */
enum { GROWTH = 4 };

/* ---- is it time? */

int64_t turn_compact_threshold(const struct turn *t)
{
    const struct context_management *m = &t->request.context_management;
    const int64_t percent =
        m->compacts ? USUAL_THRESHOLD : (int64_t)t->flight.worker->config->auto_compaction;

    if (turn_is_for_summary(t))
        return 0;
    return m->threshold > 0 ? m->threshold : t->window.tokens / 100 * percent;
}

/* A round that only lacks an answer has brought nothing to the context. */
static bool is_reached(const struct turn *t)
{
    const int64_t threshold = turn_compact_threshold(t);

    return threshold > 0 && t->context.tokens >= threshold &&
           t->context.tokens >= t->compaction.least_tokens && !response_lacks_answer(&t->response);
}

/* An earlier turn may have compacted the context not long ago. */
static bool has_grown(const struct turn *t)
{
    struct item_list behind = {.n = 0};

    for (const struct item *it = t->request.items.first; it != NULL; it = it->next) {
        if (it->is_own_summary)
            behind = (struct item_list){it->next, t->request.items.last, 1};
    }
    return t->n_rounds > 0 || behind.n == 0 ||
           compact_items_tokens(&behind) >= turn_compact_threshold(t) / GROWTH;
}

static bool is_due(struct turn *t)
{
    struct turn_compaction *c = &t->compaction;

    if (turn_is_for_summary(t))
        return true;
    if (c->is_settled) {
        c->is_settled = false;
        c->least_tokens = t->context.tokens + turn_compact_threshold(t) / GROWTH;
        return false;
    }
    return is_reached(t) && has_grown(t);
}

size_t turn_compact_weight(const void *arg)
{
    const struct turn *t = arg;

    return turn_is_for_summary(t) || is_reached(t) ? turn_weight(t) : 0;
}

/* ---- what stays */

static int choose_kept(struct turn *t, struct turn_summary_call *s, struct err *reterr)
{
    const int64_t tokens =
        compact_keep_tokens((int64_t)t->flight.worker->config->compaction_keep, t->window.tokens);

    if (turn_is_for_summary(t))
        return compact_keep_messages(&t->request.items, tokens, &t->flight.worker->ids,
                                     &t->flight.arena, &s->kept, reterr);
    return compact_keep_window(&t->request.items, tokens, turn_compact_threshold(t),
                               &t->flight.worker->ids, &t->flight.arena, &s->kept, reterr);
}

static int64_t kept_tokens(const struct kept_items *items)
{
    int64_t tokens = 0;

    for (size_t i = 0; i < items->n; i++)
        tokens += compact_tokens(items->v[i].body.len);
    return tokens;
}

/* Everything stays, as it is: a summary would have nothing to say. */
static bool keeps_everything(const struct turn *t, const struct turn_summary_call *s)
{
    return !turn_is_for_summary(t) && s->kept.before.n + s->kept.after.n >= t->request.items.n &&
           kept_tokens(&s->kept.before) + kept_tokens(&s->kept.after) >=
               compact_items_tokens(&t->request.items);
}

/* ---- the question */

/* A client that has asked by an item keeps messages of the user by itself. */
static bool keeps_all(const struct turn *t, const struct turn_summary_call *s)
{
    return (turn_is_for_summary(t) && !t->request.is_compact) || s->kept.has_all;
}

static void write_text(const struct turn *t, const struct turn_summary_call *s, struct buf *out)
{
    const bool keeps_tail = s->kept.after.n > 0;
    const struct compact_question q = {
        .prompt = t->flight.worker->compaction_prompt,
        .note = str_from_c(t->flight.worker->config->compaction_note),
        .max_tokens = s->max_tokens,
        .n_kept = keeps_tail ? s->kept.n_tail : s->kept.n_user,
        .keeps_all = keeps_all(t, s),
        .keeps_tail = keeps_tail,
        .has_earlier = compact_has_summary(&t->request.items),
    };

    compact_question_write(&q, out);
}

static int write_request(struct turn *t, struct turn_summary_call *s, struct err *reterr)
{
    struct buf text = {.limit = 0};
    struct request_compact_call call = {.max_tokens = s->max_tokens, .omits_tools = s->omits_tools};

    write_text(t, s, &text);
    call.question = buf_failed(&text) ? STR_NONE : arena_dup(&t->flight.arena, buf_str(&text));
    buf_fini(&text);
    if (str_is_none(call.question))
        return err_set_no_memory(reterr);
    return request_compact_ask(&t->request, &call, &t->flight.arena, &s->request, reterr);
}

/* The operator may have another model write it, which may want its requests otherwise. Where names lead to upstreams,
 * the turn is at one of that model by now. */
static int choose_model(struct turn *t, struct turn_summary_call *s, struct err *reterr)
{
    const char *model = turn_compaction_model(t);
    const struct config *its = t->flight.upstream->config;
    struct buf name = {.limit = 0};

    s->profile = t->profile;
    s->chat = t->chat;
    if (model != NULL) {
        json_text_escape(str_from_c(model), &name);
        s->request.model =
            buf_failed(&name) ? STR_NONE : arena_dup(&t->flight.arena, buf_str(&name));
        buf_fini(&name);
        if (str_is_none(s->request.model))
            return err_set_no_memory(reterr);
        if (!s->has_route)
            s->profile = upstream_model_profile(its, t->facts, &s->request, &t->flight.arena);
        s->chat = upstream_chat_options(its, t->facts, &s->request, &s->profile, &t->flight.arena);
        if (s->has_route)
            s->chat.model = flight_sent_model(&t->flight);
        s->chat.taken_fields = turn_taken_fields(t);
        s->chat.reasoning_source = t->chat.reasoning_source;
    }
    s->chat.repairs = NULL;
    s->chat.spent_tokens = 0;
    s->chat.round = CHAT_LATER_ROUND; /* the choice of the round is none of the summary's */
    return 0;
}

static int build_conversation(struct turn *t, struct turn_summary_call *s, struct err *reterr)
{
    if (s->has_conversation)
        return 0;
    if (chat_request_conversation(&s->request, &s->chat, &t->flight.worker->ids, &t->flight.arena,
                                  &s->conversation, reterr) == -1)
        return -1;
    if (t->n_left_out > 0)
        conversation_leave_out(&s->conversation, t->n_left_out);
    s->has_conversation = true;
    return 0;
}

/* ---- less of what is too long */

/* How many bytes are too many, by the numbers of the refusal; 0: it has not said. */
static size_t excess(const struct turn *t, const struct turn_summary_call *s)
{
    const struct err_tokens *n = &s->why_not.tokens;
    const double weight =
        (double)conversation_weight(&s->conversation) + (double)turn_weigh_rest(t);
    const double prompt = n->prompt != 0 ? (double)n->prompt : weight / COMPACT_BYTES_A_TOKEN;
    const double room = (double)(n->limit - s->max_tokens) * 0.95; /* it is an estimate */

    if (n->limit == 0 || room <= 0 || prompt <= room)
        return 0;
    return (size_t)(weight * (prompt - room) / prompt) + 1;
}

/* A refusal that cannot be helped is the failure of the summary. */
static int shrink(struct turn *t, struct turn_summary_call *s, struct err *reterr)
{
    if (!s->is_too_long)
        return 0;
    s->is_too_long = false;
    if (compact_shrink(&s->conversation, s->n_refused, excess(t, s), &t->flight.arena))
        return 0;
    *reterr = s->why_not;
    return -1;
}

/* ---- the stage */

static struct turn_question question_of(const struct turn_summary_call *s)
{
    return (struct turn_question){.request = &s->request,
                                  .profile = &s->profile,
                                  .chat = &s->chat,
                                  .conversation = &s->conversation};
}

static int write_question(struct turn *t, struct turn_summary_call *s, struct err *reterr)
{
    const struct turn_question q = question_of(s);

    if (write_request(t, s, reterr) == -1 || choose_model(t, s, reterr) == -1 ||
        build_conversation(t, s, reterr) == -1 || shrink(t, s, reterr) == -1)
        return -1;
    return turn_write_question(t, &q, reterr);
}

/* NULL when out of memory. */
static struct turn_summary_call *make_summary(struct turn *t)
{
    const struct config *c = t->flight.worker->config;
    struct turn_summary_call *s = arena_alloc(&t->flight.arena, sizeof(*s));
    struct err unused;

    if (s == NULL)
        return NULL;
    if (turn_is_for_summary(t))
        turn_plan_chat(t);
    *s = (struct turn_summary_call){
        .n_tokens =
            t->context.tokens > 0 ? t->context.tokens : compact_items_tokens(&t->request.items),
        .max_tokens =
            compact_summary_tokens((int64_t)c->compaction_tokens, t->window.tokens,
                                   turn_is_for_summary(t) ? t->request.max_output_tokens : 0),
        .omits_tools = c->compaction_tools == CONFIG_COMPACTION_TOOLS_OMIT,
    };
    return choose_kept(t, s, &unused) == -1 ? NULL : s;
}

/* Without anything to summarize, or memory for it, the round is asked for as it is. */
static int pass_summary(struct turn *t)
{
    t->compaction.summary = NULL;
    t->compaction.least_tokens = t->context.tokens + turn_compact_threshold(t) / GROWTH;
    return 0;
}

int turn_begin_summary(void *arg, struct err *reterr)
{
    struct turn *t = arg;
    struct turn_summary_call *s;

    if (!is_due(t))
        return 0;
    s = t->compaction.summary = make_summary(t);
    if (s == NULL && turn_is_for_summary(t))
        return err_set_no_memory(reterr);
    return s == NULL || keeps_everything(t, s) ? pass_summary(t) : 0;
}

int turn_write_summary_question(void *arg, struct err *reterr)
{
    struct turn *t = arg;
    struct turn_summary_call *s = t->compaction.summary;

    (void)reterr;
    if (!s->has_failed)
        s->has_failed = write_question(t, s, &s->why_not) == -1;
    return 0;
}

static void init_round(struct turn *t, struct turn_summary_call *s)
{
    const struct turn_question q = question_of(s);
    const struct chat_stream_conf conf = turn_stream_conf(t, &q);

    if (s->has_round)
        summary_round_fini(&s->round);
    summary_round_init(&s->round, &conf, t->flight.worker->config->max_response_bytes);
    s->has_round = true;
    t->failure = NULL;
}

enum turn_next turn_wants_summary(void *arg, struct err *reterr)
{
    const struct turn *t = arg;

    (void)reterr;
    return t->compaction.summary == NULL ? TURN_ELSE : TURN_GO;
}

enum turn_next turn_ask_for_summary(void *arg, struct err *reterr)
{
    struct turn *t = arg;
    struct turn_summary_call *s = t->compaction.summary;
    struct turn_question q;

    (void)reterr;
    if (s->has_failed)
        return TURN_GO;
    q = question_of(s);
    init_round(t, s);
    turn_spans_ask_summary(t, &q);
    s->is_asked = turn_start_question(t, &q, &s->why_not) == 0;
    s->has_failed = !s->is_asked;
    turn_open_window(t);
    return TURN_GO;
}
