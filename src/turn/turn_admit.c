/* turn_admit.c -- which upstream is asked, and when it has a place for that (OPERATIONS 4, 5.4). */
#include "turn/turn_stages.h"

void turn_open_window(struct turn *t)
{
    if (!t->request.stream || t->is_begun || t->is_window_open)
        return;
    t->is_window_open = true;
    loop_timer_start(t->flight.timer, t->flight.worker->config->early_error_window_ms);
}

enum turn_next turn_admit(void *arg, struct err *reterr)
{
    (void)arg;
    (void)reterr;
    return TURN_GO;
}

enum turn_next turn_admit_summary(void *arg, struct err *reterr)
{
    (void)arg;
    (void)reterr;
    return TURN_GO;
}

enum turn_next turn_retries(void *arg, struct err *reterr)
{
    (void)arg;
    (void)reterr;
    return TURN_ELSE;
}
