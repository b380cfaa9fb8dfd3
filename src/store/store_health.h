/* store_health.h -- does the store work? Tells the log when it stops and when it works
 * again, and whoever asks. Internal to the store. Any thread.
 *
 *     good --(a failure)--> in trouble --(a write, also that of a probe)--> good
 *
 * While it is in trouble, housekeeping probes it: at once, then every second. */
#ifndef ANTIPHON_STORE_STORE_HEALTH_H
#define ANTIPHON_STORE_STORE_HEALTH_H

#include <stdatomic.h>
#include <uv.h>

#include "base/err.h"

enum store_trouble {
    STORE_WORKS,
    STORE_TAKES_NOTHING, /* what is there can perhaps be read */
    STORE_IS_AWAY,       /* nobody can be reached */
};

struct store_health {
    atomic_int trouble;            /* enum store_trouble */
    atomic_bool is_confirmed;      /* a probe has failed as well */
    atomic_uint_fast64_t next_ms;  /* when it is to be probed */
    uv_mutex_t mutex;              /* guards the rest; the log may be written while it is held */
    char words[ERR_MSG_BYTES + 1]; /* why, for clients */
    bool is_logged;                /* the failure under way */
    uint64_t logged_at_ms, n_unlogged;
};

int health_init(struct store_health *h); /* -1 when out of memory */
void health_fini(struct store_health *h);

/* Notes a failure; only ERR_STORE is the store's own. Its words are fit for clients. True when it
 * is the first: somebody should probe. */
bool health_bad(struct store_health *h, const struct err *failure);

/* Notes that nobody could be reached; words: why, for clients. */
void health_away(struct store_health *h, const struct err *failure, const char *words);

/* Notes that the probe that was due has failed; the next one is due at next_ms. */
void health_probed(struct store_health *h, uint64_t next_ms);

/* Notes that a probe has begun; none is wanted before next_ms. */
void health_postpone(struct store_health *h, uint64_t next_ms);

bool health_wants_probe(struct store_health *h, uint64_t now_ms);

/* Time at which a probe is wanted; UINT64_MAX: never, as long as the store works. */
uint64_t health_next_ms(struct store_health *h);

enum store_trouble health_trouble(const struct store_health *h);

/* Why the store is in trouble, for a client: ERR_STORE_AWAY. */
void health_explain(struct store_health *h, struct err *ret);

/* Notes that something was written. That something was read would tell little: a full disk can be
 * read. */
void health_good(struct store_health *h);

#endif
