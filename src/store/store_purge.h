/* store_purge.h -- when the limits are to be looked at. Internal to the store. */
#ifndef ANTIPHON_STORE_STORE_PURGE_H
#define ANTIPHON_STORE_STORE_PURGE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct store_limits;

enum { STORE_PURGE_MOST = 64 }; /* histories to look at together */

/* Amounts stored since the limits were last looked at. Any thread. */
struct store_growth {
    _Atomic uint64_t n_responses, bytes;
};

void store_growth_add(struct store_growth *g, uint64_t n_responses, uint64_t bytes); /* NULL: no */
void store_growth_reset(struct store_growth *g);

/* True when so much was stored that a bound may have been passed by more than a little. */
bool store_growth_matters(struct store_growth *g, const struct store_limits *limits);

#endif
