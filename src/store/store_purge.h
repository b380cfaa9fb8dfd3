/* store_purge.h -- when the limits are to be looked at. Internal to the store. */
#ifndef ANTIPHON_STORE_STORE_PURGE_H
#define ANTIPHON_STORE_STORE_PURGE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct amount;
struct err;
struct store_limits;

enum { STORE_PURGE_MOST = 64 }; /* histories to look at together */

/* Amounts stored since the limits were last looked at. Any thread. */
struct store_growth {
    _Atomic uint64_t n_responses, bytes, cuts_bytes;
    _Atomic uint64_t uncounted_cuts_bytes; /* since the cuts of all were last counted, ... */
    atomic_bool has_counted_cuts;          /* ... which they were */
    _Atomic uint64_t uncounted_key_bytes;  /* the same of idempotency keys */
    atomic_bool has_counted_keys;
};

enum { STORE_KEY_BYTES = 256 }; /* what a key counts for, besides its name and its answer */

void store_growth_add(struct store_growth *g, const struct amount *more); /* NULL: no */
void store_growth_reset(struct store_growth *g);

/* True when the cuts of all have to be counted, which is to read all histories: enough has come to
 * make a difference, or they never were. g may be NULL: true. */
bool store_growth_wants_count(struct store_growth *g, const struct store_limits *limits);
void store_growth_note_count(struct store_growth *g);

/* Growth by idempotency keys, of which each is begun and then answered. */
void store_growth_add_key(struct store_growth *g, uint64_t bytes); /* NULL: no */
bool store_growth_wants_keys(struct store_growth *g, const struct store_limits *limits);
void store_growth_note_keys(struct store_growth *g);

/* Most bytes of keys; 0: no bound. */
uint64_t store_most_key_bytes(const struct store_limits *limits);

struct store_purged;
struct store_session;

/* Removes events and keys that pass the limits, up to `most` of each, oldest first. Within a transaction;
 * store_purge_events.c. */
int purge_events(struct store_session *s, const struct store_limits *limits, int64_t now_ms,
                 size_t most, struct store_purged *purged, struct err *reterr);

/* True when so much was stored that a bound may have been passed by more than a little. */
bool store_growth_matters(struct store_growth *g, const struct store_limits *limits);

#endif
