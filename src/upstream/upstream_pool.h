/* upstream_pool.h -- all upstreams of the gateway as they do: who is there, how much each has to do, which one
 * a round is for, and who waits for a place (OPERATIONS 4.4 to 4.7, 5.4).
 *
 *     idle --admit--> granted --ended--> idle           a place at an upstream, for one attempt
 *       \               ^                  |
 *        +-> waiting ---+--> refused       +--> the plan says that it is asked for again
 *
 * One lock guards all of it, which is held for moments; health checks, and what time brings, run on the main
 * thread's loop. Shared by all workers, each of which has tickets of its own. */
#ifndef ANTIPHON_UPSTREAM_UPSTREAM_POOL_H
#define ANTIPHON_UPSTREAM_UPSTREAM_POOL_H

#include "affinity/routing.h"
#include "ev/loop.h"
#include "upstream/fair_queue.h"
#include "upstream/upstream_health.h"
#include "upstream/upstream_retry.h"
#include "upstream/upstream_table.h"

struct upstream_group;
struct upstream_live;
struct upstream_pool;

/* ---- main thread */

/* loop: the main thread's, which does not run yet. NULL with *reterr filled. */
struct upstream_pool *upstream_pool_new(struct loop *loop, struct err *reterr);

/* When the loop has stopped, and no worker is left. NULL is fine. */
void upstream_pool_free(struct upstream_pool *p);

/* Makes the table the newest one, before others have it: its upstreams are watched and checked from now on, those
 * that were in the table before go on as they are. Sets the live of its entries. The pool takes a reference of its
 * own. Returns 0, or -1 with *reterr filled, and all stays as it is. */
int upstream_pool_take(struct upstream_pool *p, struct upstream_table *t, struct err *reterr);

/* As http_client_is_resolving(), of what asks and checks upstreams. */
bool upstream_pool_is_resolving(const struct upstream_pool *p);

/* ---- a place at an upstream: any thread */

/* What a round wants. All that is pointed to lives as long as its ticket is not idle; table and route as long as an
 * answer may be noted. */
struct upstream_want {
    const struct upstream_table *table;
    const struct upstream_route *route;
    str owner;                /* in the queue: of the key, else the client's address */
    unsigned weight;          /* of that, 1 to 100 */
    enum fair_class priority; /* of the same */
    bool is_later;            /* its turn has been granted a place before */
    size_t body_bytes;        /* that wait with it */
    str session;              /* what names the conversation that it goes on with, or "" */
    str session_next;         /* the same of what will go on with this; STR_NONE: the same */
    bool is_last;             /* nothing will: it need not be remembered */
    str body; /* of the request, as an upstream would get it: for its prompt; until it is granted */
    struct prefix_marks marks; /* of the body, when upstream_pool_read_prompt() has read them */
    bool takes_slot;           /* a slot number may be told with the request */
};

enum upstream_ticket_state {
    UPSTREAM_TICKET_IDLE,
    UPSTREAM_TICKET_WAITING,
    UPSTREAM_TICKET_GRANTED,
    UPSTREAM_TICKET_REFUSED,
};

/* Why there is no place for a ticket. */
enum upstream_why {
    UPSTREAM_WHY_OWNER,  /* queue_owner */
    UPSTREAM_WHY_FULL,   /* queue_limit */
    UPSTREAM_WHY_MEMORY, /* max_queue_memory */
    UPSTREAM_WHY_TIME,   /* queue_timeout */
    UPSTREAM_WHY_NOBODY, /* no candidate may be used */
};

/* What a server is told of the session, where it wants to know (upstream_pool_hint.c). */
struct upstream_hint {
    uint64_t session, session_next; /* as they are looked for and noted; the pool's own */
    uint64_t name;                  /* the same for all requests of the session; 0: it has none */
    int slot;                       /* of llama.cpp, that is the session's and free; -1: none */
};

/* A round's. Zeroed before its first use, but for loop and told. */
struct upstream_ticket {
    struct loop *loop;        /* of its worker */
    struct loop_message told; /* posted there when a ticket that waited does not any more */

    /* The pool's own. Others read granted, choice, hint and lost_bytes (which they may clear) of a ticket that is
     * granted, and retry_after_s. */
    enum upstream_ticket_state state;
    const struct upstream_want *want;
    struct fair_ticket queued;
    struct upstream_ticket *next, **link; /* of those that wait */
    struct upstream_group *group;
    struct upstream_retry retry;
    struct prefix_marks marks;     /* of the body of the round */
    struct affinity_prompt prompt; /* its session is what is noted, and ... */
    uint64_t session;              /* ... what is looked for */
    enum upstream_why why;
    enum routing_word choice;
    size_t granted;       /* index of the candidate */
    uint32_t probe;       /* of upstream_health_begin() */
    unsigned char *tried; /* of each candidate: by this round; NULL: none was */
    bool has_news;
    bool is_retry;   /* another attempt of its round has ended */
    bool is_counted; /* in the budget of retries, while it is granted */
    size_t
        known_bytes; /* of the prompt, by who knows most of it, before the round was sent anywhere */
    size_t
        lost_bytes; /* the same, if it was sent elsewhere since that one was busy or had failed */
    struct upstream_hint hint;
    int retry_after_s;    /* of a refusal; of a round that was given up: the client's */
    uint64_t since_ms;    /* its round asked first */
    uint64_t asked_ms;    /* it asked for the place of this attempt */
    uint64_t begun_ms;    /* it was granted */
    uint64_t until_ms;    /* it does not ask before; 0: a place is all that it waits for */
    uint64_t deadline_ms; /* queue_timeout is over */
};

/* What the prompt of a body is, in the arena; without marks when out of memory. Equal for equal prompts of this
 * process. */
struct prefix_marks upstream_pool_read_prompt(const struct upstream_pool *p, str body,
                                              struct arena *a);

/* Asks for a place, for a new round; or, after a plan that said so, once more. The arena takes what is
 * remembered of the round. WAITING: told is posted when that changes. REFUSED: *reterr is filled. */
enum upstream_ticket_state upstream_pool_admit(struct upstream_pool *p, struct upstream_ticket *t,
                                               const struct upstream_want *want, struct arena *a,
                                               struct err *reterr);

/* A ticket that has waited: its state now, with *reterr filled for one that was refused. */
enum upstream_ticket_state upstream_pool_look(struct upstream_pool *p, struct upstream_ticket *t,
                                              struct err *reterr);

/* How an attempt has ended. */
struct upstream_end {
    enum upstream_outcome outcome;
    bool is_shown, has_client_left; /* see struct upstream_retry_moment */
    bool is_final;                  /* it is not to be asked again whatever came of it */
    int retry_after_s;
};

/* The attempt has ended; the place is given back. What the plan says is carried out by the next
 * upstream_pool_admit(); of a round that is over, nothing has to be done. */
struct upstream_plan upstream_pool_end(struct upstream_pool *p, struct upstream_ticket *t,
                                       const struct upstream_end *end, struct arena *a);

/* Nobody waits for it any more: leaves the queue, or gives a place back that was not used to its end. The
 * ticket is idle, and told may still be under way. */
void upstream_pool_leave(struct upstream_pool *p, struct upstream_ticket *t);

/* The round has been answered: the upstream that had it knows its prompt up to the end of the answer as well, which
 * the next request will say in this message, as JSON. The ticket has marks; of an arena that is still there. */
void upstream_pool_note_answer(struct upstream_pool *p, const struct upstream_ticket *t,
                               str message);

/* ---- what there is: any thread */

struct upstream_view {
    str name, url; /* of the entry */
    enum upstream_health_state state;
    int64_t since_s;           /* of the state; 0: since the start */
    unsigned in_flight, limit; /* 0: none */
    uint64_t n_served;         /* attempts that were begun */
};

/* The newest table: a reference. */
struct upstream_table *upstream_pool_table(struct upstream_pool *p);

/* What an upstream of that table does. */
void upstream_pool_view(struct upstream_pool *p, const struct upstream_entry *u,
                        struct upstream_view *ret);

/* The candidate of a route that is asked before it is chosen: the first of the lowest tier that is up, if any is. */
size_t upstream_pool_likely(struct upstream_pool *p, const struct upstream_table *t,
                            const struct upstream_route *route);

/* Calls tell for each group that was ever asked for, with the number that waits there; with the lock held. For
 * metrics. */
void upstream_pool_each_group(struct upstream_pool *p,
                              void (*tell)(void *arg, str group, size_t n_waiting), void *arg);

struct upstream_sum {
    unsigned n, n_up;  /* upstreams of the newest table; up: it may be used, as far as is known */
    bool is_any_heard; /* one that is up was asked */
    size_t n_waiting;  /* tickets */
};

void upstream_pool_sum(struct upstream_pool *p, struct upstream_sum *ret);

/* For operators. False when the newest table has no such upstream. */
bool upstream_pool_drain(struct upstream_pool *p, str name);
bool upstream_pool_resume(struct upstream_pool *p, str name);
bool upstream_pool_check(struct upstream_pool *p, str name);

#endif
