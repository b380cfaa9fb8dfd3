/* turn_truncate.c -- `truncation: auto` (CONTRACT 1.1): a conversation that is too long for the
 * model is sent again without its oldest turns.
 *
 * Mostly the refusal says how many tokens there were and how many there may be. With what the
 * request weighs in bytes that tells how much has to go, so that the next attempt fits and leaves
 * out no more than it has to. It leaves a little room all the same: the conversation is going to
 * grow, and as long as it is cut at the same place the upstream finds the beginning it has computed
 * already. The place is remembered (cut_memory.h), and such that it is likely to be found again
 * without that. */
#include "conv/trim.h"
#include "json/json_text.h"
#include "memory/cut_memory.h"
#include "turn/turn_internal.h"
#include "upstream/upstream_options.h"
#include "upstream/upstream_watch.h"
#include "wire/chat/chat_request.h"
#include "wire/chat/upstream_fields.h"

/* Percentages of the turns that may go, one for each attempt, when the upstream does not say how
 * much is too much. */
static const unsigned shorten_percent[] = {50, 50, 100};

enum { MAX_SHORTENED = COUNT_OF(shorten_percent) };

/* In percent. Of the room that the answer leaves for the prompt, more than `most` may turn out not
 * to fit, for the number is an estimate. With `least` of it, and no more than `whole` of the
 * window, the conversation can grow before it has to be cut again. The second attempt has learnt
 * that the text is not the same everywhere. */
static const struct {
    unsigned most, least, whole;
} filled[] = {{96, 88, 85}, {90, 80, 75}};

/* Without a memory the place of a cut is a multiple of the window over this, in bytes: with four of
 * them in a token, a sixteenth. */
enum { STEPS = 4, BYTES_A_TOKEN = 4 };

bool turn_is_truncated(const struct turn *t)
{
    return json_text_eq(t->request.truncation, STR("auto"));
}

/* ---- the place of a cut */

static struct cut cut_at(const struct turn *t, uint64_t mark)
{
    return (struct cut){.owner =
                            str_is_none(t->flight.caller.owner) ? STR("") : t->flight.caller.owner,
                        .model = t->request.model,
                        .mark = mark};
}

static bool is_known(void *arg, uint64_t mark)
{
    const struct turn *t = arg;
    const struct cut c = cut_at(t, mark);

    return cut_memory_has(t->flight.worker->cuts, &c);
}

void turn_cut(struct turn *t)
{
    if (!turn_is_truncated(t))
        return;
    if (t->n_rounds == 0 && t->n_left_out == 0 && t->flight.worker->cuts != NULL)
        t->n_left_out = conversation_find_mark(&t->conversation, is_known, t);
    conversation_leave_out(&t->conversation, t->n_left_out);
}

void turn_keep_cut(struct turn *t)
{
    const struct cut c = cut_at(t, t->conversation.left_out.mark);

    if (t->is_aimed && t->flight.worker->cuts != NULL)
        cut_memory_keep(t->flight.worker->cuts, &c);
    t->is_aimed = false;
}

/* ---- how much goes */

size_t turn_weigh_rest(const struct turn *t)
{
    const struct conversation none = {.instructions = STR_NONE};
    struct chat_request_options options = t->chat;
    struct buf body = {.limit = 0};
    size_t weight;

    options.repairs = NULL;
    (void)chat_request_write(&t->request, &none, &options, &body, NULL);
    weight = buf_failed(&body) ? 0 : body.len;
    buf_fini(&body);
    return weight;
}

/* The tokens that the prompt may have. Servers that count the answer in have said so. */
static int64_t prompt_room(const struct turn *t, const struct err_tokens *n)
{
    const int64_t asked = upstream_tokens_left(&t->request, &t->chat);
    const int64_t answer = n->answer != 0 ? n->answer : asked < n->limit / 2 ? asked : n->limit / 2;

    return n->limit - answer;
}

/* The goal in bytes, from numbers in tokens. False when the upstream has not said enough. */
static bool aim_trim(const struct turn *t, const struct err_tokens *n, struct trim_goal *ret)
{
    const size_t i = t->n_shortened;
    const double weight =
        (double)conversation_weight(&t->conversation) + (double)turn_weigh_rest(t);
    const double prompt = n->prompt != 0 ? (double)n->prompt : weight / BYTES_A_TOKEN;
    const double bytes_a_token = weight / prompt;
    double most, least, whole;

    if (i >= COUNT_OF(filled) || n->limit == 0)
        return false;
    most = (double)prompt_room(t, n) * filled[i].most / 100 * bytes_a_token;
    least = (double)prompt_room(t, n) * filled[i].least / 100 * bytes_a_token;
    whole = (double)n->limit * filled[i].whole / 100 * bytes_a_token;
    if (most >= weight)
        return false;
    *ret = (struct trim_goal){
        .least = (size_t)(weight - most),
        .most = (size_t)(weight - (least < whole ? least : whole)),
        .step = t->flight.worker->cuts != NULL ? 1 : (size_t)(n->limit / STEPS) + 1,
    };
    return true;
}

bool turn_shorten(struct turn *t, const struct err_tokens *n)
{
    struct trim_goal goal;
    bool is_shorter;

    t->is_aimed = aim_trim(t, n, &goal);
    is_shorter = t->is_aimed ? conversation_trim_to(&t->conversation, &goal)
                             : conversation_trim(&t->conversation, shorten_percent[t->n_shortened]);
    t->n_shortened++;
    t->n_left_out = t->conversation.left_out.n;
    return is_shorter;
}

void turn_learn_window(struct turn *t, const struct err *e)
{
    if (e->code == ERR_CONTEXT_LENGTH)
        upstream_watch_learn_window(turn_watch(t), turn_upstream_model(t), e->tokens.limit);
}

bool turn_may_leave_out(const struct turn *t)
{
    return turn_is_truncated(t) && t->n_shortened < MAX_SHORTENED;
}

bool turn_may_shorten(const struct turn *t, const struct err *e)
{
    return flight_has_client(&t->flight) && e->code == ERR_CONTEXT_LENGTH &&
           t->response.end == t->round_start && turn_may_leave_out(t);
}
