/* turn_round.c -- one round with the model after the other.
 *
 * A round is one upstream call. When the model calls tools that the gateway runs, what it said
 * and what they gave join the conversation, and the model is asked again (CONTRACT 1.5). */
#include "flight/builtin_tools.h"
#include "flight/flight_admission.h"
#include "json/json_text.h"
#include "turn/turn_metrics.h"
#include "turn/turn_spans.h"
#include "turn/turn_stages.h"
#include "upstream/upstream_options.h"
#include "wire/chat/chat_request.h"
#include "wire/harmony/harmony_request.h"

static bool is_completion(const struct turn_question *q)
{
    return q->profile->harmony == HARMONY_MODE_COMPLETIONS;
}

/* The model was trained with both tools, and knows their calls in the history as its own also when
 * the request has them no longer. */
static struct harmony_options harmony_options(struct turn *t, const struct turn_question *q)
{
    struct harmony_options o =
        upstream_harmony_options(t->flight.upstream->config, q->profile, &t->flight.arena);

    o.has_python = t->flight.worker->builtin->why_not[HOSTED_CODE_INTERPRETER] == NULL;
    o.has_browser = t->flight.worker->builtin->why_not[HOSTED_WEB_SEARCH] == NULL;
    return o;
}

/* The last round offers none, but a call in it is to be known for one: it is dropped, not shown as
 * a thought (CONTRACT 1.5). */
static struct harmony_builtins known_builtins(struct turn *t, const struct turn_question *q)
{
    const struct harmony_options options = harmony_options(t, q);
    const bool is_last = q->chat->round == CHAT_LAST_ROUND;

    return harmony_request_builtins(q->request, is_last ? CHAT_LATER_ROUND : q->chat->round,
                                    &options);
}

struct chat_stream_conf turn_stream_conf(struct turn *t, const struct turn_question *q)
{
    const struct harmony_builtins builtins = known_builtins(t, q);
    struct chat_stream_conf conf =
        upstream_stream_conf(t->flight.upstream->config, q->request, q->profile);

    conf.text.has_python = builtins.has_python;
    conf.text.has_browser = builtins.has_browser;
    if (is_completion(q))
        conf.text.begun_call = harmony_request_begun_call(q->request, q->chat->round);
    return conf;
}

str turn_upstream_model(struct turn *t)
{
    const str sent = flight_sent_model(&t->flight);

    if (!str_is_none(sent))
        return sent;
    return upstream_model_name(t->flight.upstream->config, &t->request, &t->flight.arena);
}

/* The question of the next round. */
static struct turn_question next_question(const struct turn *t)
{
    return (struct turn_question){.request = &t->request,
                                  .profile = &t->profile,
                                  .chat = &t->chat,
                                  .conversation = &t->conversation};
}

static void init_round(struct turn *t)
{
    const struct turn_question q = next_question(t);
    const struct chat_stream_conf stream = turn_stream_conf(t, &q);

    t->flaws = turn_flaws(t);
    if (t->has_round)
        round_fini(&t->round);
    round_init(&t->round, &stream, &t->response);
    t->has_round = true;
    t->round_start = t->response.end;
    t->failure = NULL;
}

/* Behind all other members of the body, which stays as it is otherwise: it may be sent again to somebody else. */
static int write_slot(struct turn *t, struct err *reterr)
{
    const int slot = flight_slot(&t->flight);
    struct buf *body = &t->chat_body;

    if (t->slot_at > 0) {
        body->len = t->slot_at;
        buf_char(body, '}');
        t->slot_at = 0;
    }
    if (slot >= 0 && turn_kind(t)->kind == UPSTREAM_LLAMA_CPP) {
        t->slot_at = --body->len;
        buf_c(body, ",\"id_slot\":");
        buf_int(body, slot);
        buf_char(body, '}');
    }
    return buf_failed(body) ? err_set_no_memory(reterr) : 0;
}

int turn_start_question(struct turn *t, const struct turn_question *q, struct err *reterr)
{
    struct http_header headers[2 + FLIGHT_HEADERS] = {
        {STR("content-type"), STR("application/json")},
        {STR("accept"), STR("text/event-stream")},
    };
    struct flight_call call = {
        .method = "POST",
        .path = is_completion(q) ? STR("/completions") : STR("/chat/completions"),
        .headers = headers,
        .n_headers = flight_add_headers(&t->flight, headers, 2),
    };

    if (write_slot(t, reterr) == -1)
        return -1;
    call.body = buf_str(&t->chat_body);
    turn_metrics_ask(t);
    return flight_start_call(&t->flight, &call, &turn_call_handler, reterr);
}

static int start_round(struct turn *t, struct err *reterr)
{
    const struct turn_question q = next_question(t);

    return turn_start_question(t, &q, reterr);
}

int turn_write_question(struct turn *t, const struct turn_question *q, struct err *reterr)
{
    buf_reset(&t->chat_body);
    t->slot_at = 0;
    t->counting.marks = (struct prefix_marks){.n = 0};
    if (is_completion(q)) {
        const struct harmony_options options = harmony_options(t, q);

        return harmony_request_write(q->request, q->conversation, q->chat, &options, &t->chat_body,
                                     reterr);
    }
    return chat_request_write(q->request, q->conversation, q->chat, &t->chat_body, reterr);
}

int turn_write_body(struct turn *t, struct err *reterr)
{
    const struct turn_question q = next_question(t);

    if (is_completion(&q))
        t->history_repairs = t->conversation.repairs;
    if (turn_write_question(t, &q, reterr) == -1)
        return -1;
    turn_note_written(t);
    return 0;
}

/* The conversation is kept: it may have to be sent again, shorter. What did not fit in a round
 * before does not fit in this one. */
static int write_conversation(struct turn *t, struct err *reterr)
{
    if (chat_request_conversation(&t->request, &t->chat, &t->flight.worker->ids, &t->flight.arena,
                                  &t->conversation, reterr) == -1)
        return -1;
    turn_cut(t);
    return turn_write_body(t, reterr);
}

/* The first may be the last: approved calls count, too. So is the one for the answer. */
static enum chat_round which_round(const struct turn *t)
{
    if (response_has_used_up(&t->response) || response_lacks_answer(&t->response))
        return CHAT_LAST_ROUND;
    if (t->n_rounds == 0)
        return CHAT_FIRST_ROUND;
    return t->n_rounds < t->flight.worker->config->max_tool_rounds ? CHAT_LATER_ROUND
                                                                   : CHAT_LAST_ROUND;
}

/* What the client forced holds whatever the server makes of it, for the first round; in the round
 * for the answer there are no calls. */
static void plan_round(struct turn *t)
{
    static const struct tool_choice none = {.mode = TOOL_CHOICE_NONE};
    const bool is_answer = response_lacks_answer(&t->response);
    const struct response_plan plan = {
        .choice = is_answer                           ? &none
                  : t->chat.round == CHAT_FIRST_ROUND ? &t->request.tool_choice
                                                      : NULL,
        .withholds_text = t->profile.harmony != HARMONY_MODE_COMPLETIONS &&
                          chat_request_defers_format(&t->request, &t->chat),
    };

    response_begin_round(&t->response, &plan);
    if (t->chat.round == CHAT_LAST_ROUND && !is_answer)
        response_begin_last_round(&t->response);
}

/* What the model has said and what its calls have given becomes a part of the conversation. */
static int replay_round(struct turn *t, struct err *reterr)
{
    const struct responses_request_options options = turn_request_options(t);

    return response_replay(&t->response, &options.input, &t->request.items, &t->flight.arena,
                           reterr);
}

/* True when there is a round, or an approved call, to replay. A round that only lacks an answer has
 * brought nothing. */
static bool has_said(const struct turn *t)
{
    return (t->n_rounds > 0 || t->request.approved != NULL) && !response_lacks_answer(&t->response);
}

void turn_plan_chat(struct turn *t)
{
    const int64_t spent_tokens = t->chat.spent_tokens;
    const str sent = flight_sent_model(&t->flight);

    t->chat = upstream_chat_options(t->flight.upstream->config, t->facts, &t->request, &t->profile,
                                    &t->flight.arena);
    if (!str_is_none(sent))
        t->chat.model = json_text_eq(t->request.model, sent) ? STR_NONE : sent; /* as it came */
    t->chat.taken_fields = turn_taken_fields(t);
    t->chat.reasoning_source = turn_reasoning(t);
    t->chat.repairs = &t->history_repairs;
    t->chat.spent_tokens = spent_tokens;
    t->chat.round = which_round(t);
}

int turn_write_request(void *arg, struct err *reterr)
{
    struct turn *t = arg;

    if (has_said(t) && replay_round(t, reterr) == -1)
        return -1;
    turn_plan_chat(t);
    t->is_asked = false;
    if (t->dialect == RESPONSE_DIALECT_ORS) /* CONTRACT 4.9: it is not forwarded */
        t->request.tool_choice.mode = TOOL_CHOICE_NOT_GIVEN;
    return write_conversation(t, reterr);
}

enum turn_next turn_ask(void *arg, struct err *reterr)
{
    struct turn *t = arg;
    const bool is_new =
        !t->is_asked; /* it is not the same question, shorter or to another upstream */

    t->is_asked = true;
    if (is_new)
        plan_round(t);
    init_round(t);
    if (is_new)
        turn_spans_ask(t);
    if (start_round(t, reterr) == -1)
        return TURN_FAIL;
    if (is_new)
        t->n_rounds++;
    turn_open_window(t);
    return TURN_GO;
}

/* What cannot be made shorter fails with the words of the upstream. */
int turn_write_shorter(void *arg, struct err *reterr)
{
    struct turn *t = arg;

    t->chat.most_tokens = 0;
    if (turn_shorten(t, &t->result.error.tokens) && turn_write_body(t, NULL) == 0)
        return 0;
    *reterr = t->result.error;
    return -1;
}

/* What was said before is a part of the conversation already; the profile is that of the upstream now. */
int turn_write_again(void *arg, struct err *reterr)
{
    struct turn *t = arg;

    turn_plan_chat(t);
    return write_conversation(t, reterr);
}
