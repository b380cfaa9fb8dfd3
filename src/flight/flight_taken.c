/* flight_taken.c -- the tokens of a flight that ends. */
#include "flight/flight_taken.h"

#include <stddef.h>

#include "access/rate_table.h"

/* What an upstream does not tell was used as far as it was estimated. */
static int64_t used_tokens(const struct flight_taken *t, bool costs_nothing)
{
    if (t->is_handed_over)
        return t->estimate;
    if (t->is_known)
        return t->used;
    return costs_nothing ? 0 : t->estimate;
}

void flight_taken_end(struct flight_taken *t, bool costs_nothing, struct rate_table *rates,
                      uint64_t now_ms)
{
    struct rate_user *const user = t->user;

    if (user == NULL)
        return;
    t->user = NULL;
    rate_table_end(rates, user, used_tokens(t, costs_nothing) - t->estimate, now_ms);
}
