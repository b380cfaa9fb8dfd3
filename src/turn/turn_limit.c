/* turn_limit.c -- what a turn takes of its caller's limits (OPERATIONS 5.1).
 *
 * A turn asks behind PARSE, where its model and the size of its request are known. What runs in the background
 * has been let in when it was accepted: its turn joins what runs of its owner, and settles the tokens. */
#include "flight/flight_limits.h"
#include "json/json_text.h"
#include "turn/turn_internal.h"

static int check_model(struct turn *t, struct err *reterr)
{
    str model;

    if (!allowance_is_choosy(t->flight.caller.allowance))
        return 0;
    model = json_text_copy(&t->flight.arena, t->request.model);
    if (str_is_none(model) && !str_is_none(t->request.model))
        return err_set_no_memory(reterr);
    return flight_limits_check_model(&t->flight, model, reterr);
}

int turn_limit(struct turn *t, struct err *reterr)
{
    if (t->run != NULL) {
        flight_limits_join(&t->flight);
        return 0;
    }
    if (check_model(t, reterr) == -1)
        return -1;
    return t->is_count ? 0 : flight_limits_admit(&t->flight, reterr);
}

void turn_give_back(struct turn *t)
{
    if (t->has_response)
        flight_limits_note_usage(&t->flight, &t->response.usage);
    flight_give_back(&t->flight);
}
