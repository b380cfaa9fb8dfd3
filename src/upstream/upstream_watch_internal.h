/* upstream_watch_internal.h -- the watch, for the files that it is made of:
 *
 *     upstream_watch.c        asking, and what is known
 *     upstream_watch_hear.c   what turns hear of the upstream
 *     upstream_watch_look.c   one look, without a watch */
#ifndef ANTIPHON_UPSTREAM_UPSTREAM_WATCH_INTERNAL_H
#define ANTIPHON_UPSTREAM_UPSTREAM_WATCH_INTERNAL_H

#include <stdatomic.h>
#include <uv.h>

#include "upstream/upstream_probe.h"
#include "upstream/upstream_watch.h"

enum { MAX_SERVER_BYTES = 128, MAX_WANTED_BYTES = 256 };

/* Why nothing is known: said once, until it changes. */
enum miss { MISS_NONE, MISS_UNREACHABLE, MISS_SILENT, MISS_UNKNOWN };

struct upstream_watch {
    struct loop *loop;
    struct loop_message due, down; /* it is to be asked; nobody could reach it just now */
    struct http_client *client;
    struct upstream_probe_conf conf; /* of probes; its key is ... */
    struct buf key, next_key;        /* ... here, or none; both of the loop's thread */
    bool has_next_key;
    bool has_begun,
        is_resting;   /* upstream_watch_begin(), upstream_watch_rest(); of the loop's thread */
    bool asks;        /* there is something to be asked */
    uint16_t name;    /* as a label of metrics */
    atomic_int state; /* enum upstream_state */
    str name_among_several;       /* for the log; STR_NONE: it is the only upstream */
    struct upstream_probe *probe; /* of the loop's thread; or NULL */
    uint64_t refresh_ms;          /* how long what is known is believed; 0: always */
    atomic_uint_fast64_t n_calls, n_failed;
    _Atomic int64_t since_s;     /* of the state */
    struct loop_timer *again;    /* while it is down and GET /ready depends on it; or NULL */
    struct loop_timer *refresh;  /* of one of several: what it lists is old; or NULL */
    struct upstream_probe *look; /* whether it is up again; of the loop's thread; or NULL */

    uv_mutex_t lock;              /* guards what follows; only posting is done while it is held */
    struct upstream_facts *facts; /* NULL: nothing is known */
    struct upstream_waiter *waiters;
    uint64_t again_ms;            /* not asked before */
    unsigned n_futile;            /* probes in a row that said what was known */
    uint64_t asked_ms, needed_ms; /* when it was asked last; when a turn last wanted to know */
    bool is_renewal;              /* what is asked now is known, and may only be old */
    bool is_rested;               /* and so old, since nobody wanted it, that turns wait for it */
    bool has_learned;             /* windows that answers to turns have told */
    uint64_t limits_again_ms; /* not asked before for the limits of a model that has been loaded */
    unsigned n_same_limits;   /* probes in a row for that, in vain */
    char wanted[MAX_WANTED_BYTES]; /* the model to ask about where only one can be ... */
    size_t n_wanted;               /* ... as long as this; 0: any */
    enum miss miss;
    bool is_probing;
    bool is_lost;                          /* since the facts were found */
    bool was_silent;                       /* when it was asked last */
    char odd_server[MAX_SERVER_BYTES + 1]; /* a Server header that asking again did not explain */
    bool has_odd_server;
    int64_t last_error_s; /* see struct upstream_tally */
    char last_error[UPSTREAM_SAID_BYTES];
};

/* ---- upstream_watch.c */

/* A steady clock. */
uint64_t upstream_watch_now_ms(void);

/* From any thread, without the lock. why: what is wrong with one that is down; else STR_NONE. A change is
 * logged. */
void upstream_watch_note_state(struct upstream_watch *w, bool is_up, str why);

/* With the lock held: may the upstream be asked now? Asks it. Makes the facts everybody's, and takes
 * the reference. */
bool upstream_watch_may_probe(const struct upstream_watch *w);
void upstream_watch_begin_probing(struct upstream_watch *w);
void upstream_watch_publish(struct upstream_watch *w, struct upstream_facts *facts);

/* Publishes facts that have other windows of the same server. */
void upstream_watch_replace(struct upstream_watch *w, struct upstream_facts *facts);

/* With the lock held: asks what is known once more, which nobody waits for. */
void upstream_watch_begin_renewal(struct upstream_watch *w);

/* With the lock held: the model to ask about where only one can be. */
void upstream_watch_want(struct upstream_watch *w, str model);

/* ---- upstream_watch_look.c */

struct upstream_probe_conf upstream_watch_probe_conf(const struct config *config, str base,
                                                     str authorization);

/* Is there anything to be asked? */
bool upstream_watch_is_worth_asking(const struct upstream_probe_conf *conf);

/* A client for one that is reached as conf says. NULL when it cannot be set up. */
struct http_client *upstream_watch_open_client(struct loop *loop,
                                               const struct upstream_watch_conf *conf);

#endif
