/* turn_count.c -- how many tokens of the model the request is that was written (CONTRACT 14). */
#include "conv/trim.h"
#include "turn/turn_stages.h"

/* Bytes of text in a token. An image weighs what 1,024 of them do. */
enum { BYTES_A_TOKEN = 4 };

/* ---- without asking anybody */

int64_t turn_estimate_context(const struct turn *t)
{
    const size_t outputs = conversation_outputs_weight(&t->conversation);
    const size_t before = t->last_round.outputs_weight;
    size_t added = conversation_weight(&t->conversation) + turn_weigh_rest(t);

    if (t->last_round.tokens > 0)
        added = outputs > before ? outputs - before : 0;
    return t->last_round.tokens + (int64_t)(added / BYTES_A_TOKEN);
}

/* ---- the stage */

/* A conversation that may be cut is measured before it is sent, where the model's window is known. */
static bool wants_count(const struct turn *t)
{
    return turn_is_truncated(t) && t->window.tokens > 0;
}

int turn_start_counting(void *arg, struct err *reterr)
{
    struct turn *t = arg;

    (void)reterr;
    t->context = (struct turn_context){.tokens = 0};
    if (wants_count(t))
        t->context.tokens = turn_estimate_context(t);
    return 0;
}
