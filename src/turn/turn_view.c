/* turn_view.c -- a turn as an operator sees it, and the end that one may put to it. */
#include "flight/turn_drive.h"
#include "turn/turn_internal.h"
#include "turn/turn_run.h"

/* A server sends about a delta for each token, and says how many there were at the end of its round. */
static int64_t count_output(const struct turn *t)
{
    bool is_heard = t->has_round && t->flight.stage == TURN_ROUND;

    return t->response.usage.output + (is_heard ? (int64_t)t->round.n_deltas : 0);
}

void turn_describe(const void *arg, struct flight_view *ret)
{
    const struct turn *t = arg;

    ret->model = t->request.model;
    ret->is_stream = t->request.stream && t->run == NULL;
    ret->is_background = t->run != NULL;
    if (!t->has_response)
        return;
    ret->id = id_str(&t->response.id);
    ret->rounds = t->response.n_rounds;
    ret->input_tokens = t->response.usage.input;
    ret->output_tokens = count_output(t);
}

/* What the client has seen of is a response, and ends as one; before that it was a request. */
void turn_stop(void *arg, const struct err *e)
{
    struct turn *t = arg;

    if (t->run != NULL) {
        turn_run_cancel(t);
        return;
    }
    if (t->flight.stage >= TURN_RECORD)
        return;
    (void)turn_fresh_out(t);
    flight_cancel_call(&t->flight);
    turn_stop_waiting(t);
    if (t->has_response && t->flight.stage != TURN_ACCEPT &&
        (t->is_begun || !str_is_none(t->lock))) {
        response_cancel(&t->response, turn_out(t));
        turn_move(&t->flight, TURN_RECORD);
    } else {
        turn_answer_error(t, e);
    }
    turn_drive(&t->flight); /* with what is in the buffer */
    flight_free_if_over(&t->flight);
}
