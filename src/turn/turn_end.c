/* turn_end.c -- the end of an answer: the last event, or the object that it would carry.
 *
 * What is large is written on the pool, into a buffer of the turn's own. */
#include "turn/turn_stages.h"

/* A response that fails before its stream begins has not been seen: it is an HTTP error. */
static const struct err *unseen_error(const struct turn *t)
{
    return t->is_begun || t->response.status != RESPONSE_FAILED ? NULL : t->response.error;
}

static const struct err *response_error(const struct turn *t)
{
    return t->response.status == RESPONSE_FAILED ? t->response.error : NULL;
}

/* A compaction item weighs no more than what it was sealed from, with what is kept beside it. */
static size_t summaries_weight(const struct turn *t)
{
    return t->response.n_summaries == 0 ? 0 : t->flight.arena.used;
}

size_t turn_end_weight(const void *arg)
{
    const struct turn *t = arg;

    return unseen_error(t) != NULL ? 0 : t->echo.len + t->response.used_bytes + summaries_weight(t);
}

int turn_write_end(void *arg, struct err *reterr)
{
    struct turn *t = arg;

    (void)reterr;
    if (unseen_error(t) != NULL || t->run != NULL)
        return 0;
    if (t->request.is_compact && t->response.status == RESPONSE_COMPLETED)
        turn_write_compaction(t, &t->large);
    else if (!t->is_begun)
        response_object(&t->response, &t->large);
    else if (turn_end_weight(t) >= WORKER_LARGE_BYTES)
        response_end(&t->response, &t->large);
    else
        response_end(&t->response, turn_out(t));
    return 0;
}

enum turn_next turn_send_end(void *arg, struct err *reterr)
{
    struct turn *t = arg;
    const struct err *unseen = unseen_error(t);

    (void)reterr;
    turn_leave_context(t);
    if (t->run != NULL)
        turn_answer_nobody(t, response_error(t));
    else if (unseen != NULL)
        turn_answer_error(t, unseen);
    else if (t->is_begun)
        turn_answer_stream(t, response_error(t));
    else
        turn_answer_object(t, &t->large);
    return TURN_WAIT;
}
