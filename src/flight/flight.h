/* flight.h -- a request on its way through the gateway: its client, the call of the upstream that is
 * made for it, its time, its memory, and its place among all of its worker.
 *
 * A turn, a chat turn and a relay are flights: each begins with a struct flight, and what differs is a
 * table of operations. Reports of a call go straight to the owner, whose handler is given to
 * flight_start_call(); each of them ends in flight_free_if_over(), so that nothing of a flight is
 * freed while somebody above still uses it.
 *
 * What takes long is done on the pool of threads. Until it has ended the flight belongs to that:
 * neither a client that leaves, nor time, nor a worker that ends is reported before. */
#ifndef ANTIPHON_FLIGHT_FLIGHT_H
#define ANTIPHON_FLIGHT_FLIGHT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "access/api_key.h"
#include "base/arena.h"
#include "ev/loop.h"
#include "flight/flight_metrics.h"
#include "flight/flight_taken.h"
#include "flight/peer.h"
#include "http/http_call_conf.h"
#include "trace/trace_context.h"
#include "upstream/upstream_answer.h"
#include "upstream/upstream_pool.h"

struct flight;
struct flight_spans;
struct http_call_handler;
struct reach;
struct turn_front;
struct upstream_entry;
struct worker;

/* What operators are shown of a flight; texts live as long as it. */
struct flight_view {
    str id;                /* of the response; STR_NONE: it has none, or not yet */
    str model;             /* as it was asked for, JSON-escaped; STR_NONE: not known */
    uint64_t rounds;       /* that have ended */
    int64_t input_tokens;  /* of these */
    int64_t output_tokens; /* and as many as have come of the one at hand, as far as is known */
    bool is_stream, is_background;
};

/* What its owner does; arg is the flight, with which the owner's struct begins. None of them frees
 * it. */
struct flight_ops {
    size_t size;      /* of the owner's struct */
    const char *span; /* the name of its span, within another; NULL: it is that of a request */
    bool leaves_line; /* in the log: one that says all that `request` does */
    const struct turn_front *front;     /* its stages (turn_drive.h); NULL: it has none */
    void (*log_gone)(void *arg);        /* the client left before its answer was complete */
    bool (*may_go_on)(const void *arg); /* without it? NULL: never */
    bool (*go_on)(void *arg);    /* then it does, with flight_take_peer(); false: it cannot */
    void (*on_timer)(void *arg); /* while there is a client; NULL: it has no timer */
    void (*on_upstream_known)(void *arg); /* or not to be found out; NULL: all the same */
    void (*on_admitted)(
        void *arg); /* it has a place, or gets none: flight_admit() says; NULL: it has a front */
    void (*on_unblocked)(void *arg); /* a client that read slowly takes more; or NULL */
    void (*fail)(void *arg, const struct err *e); /* the worker ends: answers */
    void (*describe)(const void *arg,
                     struct flight_view *ret); /* it asks a model; NULL: it does not */
    void (*stop)(void *arg,
                 const struct err *e); /* an operator cancels it, which may be gone afterwards;
                                                   * NULL: as fail */
    void (*cancel)(void *arg);  /* what it waits for, but the call; NULL: that is all there is */
    void (*on_over)(void *arg); /* it is about to be freed while the worker goes on; or NULL */
    void (*fini)(void *arg);    /* what the owner's part of it holds */
};

/* Who may serve it (flight_route.c's own), and its place there (flight_admission.c's). */
struct flight_admission {
    struct upstream_table *table;   /* that its route is of, which may not be the newest any more */
    struct upstream_route route;    /* of its model, if has_route */
    struct upstream_candidate only; /* of that, where there is one upstream */
    str model;                      /* as the client says it */
    str sent;                       /* as its upstream knows it, see flight_sent_model() */
    struct upstream_want want;
    struct upstream_ticket ticket;
    const char *name;     /* see flight_names() */
    char session[16 + 1]; /* of the place it has, as its upstream is told; "": it is not */
    uint64_t wait_since_ms, waited_ms; /* while is_waiting; before */
    size_t cache_lost_bytes;           /* see flight_cache_lost() */
    enum upstream_outcome outcome;     /* of a round that is over */
    size_t n_heard;                    /* of the table: lists that were looked at or waited for */
    bool awaits_list;                  /* that of its upstream is what it waits for */
    bool wants_new_lists;
    bool has_route;
    bool has_asked;  /* for a place, which it waits for or has */
    bool has_choice; /* it has had a place; the ticket says why there */
    bool is_done;    /* the round is over; its place lasts until the last byte of the answer */
    bool asks_again; /* an attempt has failed, and is to be followed by another */
    bool is_waiting; /* for what tells it, which counts as a task */
};

/* What takes long, while it is on the pool; flight.c's own. */
struct flight_job {
    struct loop_job of_loop;
    int (*work)(void *arg, struct err *reterr);
    void (*then)(void *arg, const struct err *failure);
    struct err *failure; /* what work has filled in; NULL: it returned 0 */
};

struct flight {
    const struct flight_ops *ops;
    struct worker *worker;
    struct flight *next, **link;           /* in the worker's list */
    struct peer peer;                      /* none when the answer is complete or the client gone */
    struct http_traffic *traffic;          /* the peer's, see peer_traffic() */
    const struct http_request *http;       /* lives as long as the peer */
    const struct upstream_entry *upstream; /* that it asks; see flight_take_upstream() */
    struct reach *reach;                   /* what the worker has of that */
    struct flight_admission admission;     /* how it came there */
    struct http_call *call;                /* NULL: none, or it has ended */
    struct upstream_answer answer;         /* of that call */
    struct loop_timer *timer;              /* NULL when the owner has no on_timer */
    struct arena arena;
    str request_id, client; /* in the arena */
    struct caller caller;
    str listener;                 /* as it is configured; STR_NONE: it came to none */
    struct trace_context context; /* of its own span, also when that is not kept; zero: none */
    struct flight_spans *spans;   /* flight_spans.h; NULL: nothing is traced */
    char traceparent[TRACEPARENT_CHARS + 1]; /* of the call that was started last */
    bool has_parent;                         /* the trace is the client's */
    size_t body_bytes; /* of the request, without its coding, once it is read */
    size_t n_tasks;    /* on other threads, which use its memory: it is not freed before they end */
    unsigned n_attempts; /* calls of the upstream, the one at hand included */
    uint64_t serial;     /* among those of the worker, in the order in which they began */
    uint64_t start_ms, first_byte_ms, last_write_ms;
    uint64_t first_token_ms; /* when the model said something first; 0: it has not */
    unsigned char stage;     /* of the front's; see turn_drive.h */
    bool has_worked;         /* the work of that stage has begun */
    bool has_call_ended; /* nothing more is heard of the upstream's, though it may still be there */
    bool is_blocked;     /* the client reads slowly: the upstream is paused */
    bool is_on_pool;     /* see flight_offload() */
    bool has_left;       /* the client, meanwhile, and it may go on */
    atomic_bool is_gone; /* the client left meanwhile */
    struct flight_job job;
    const struct http_call_handler *handler; /* of the call: the owner's, and ... */
    struct http_call_handler counting;       /* ... what is in between */
    struct flight_counted counted;
    struct flight_taken taken; /* of the caller's limits (flight_limits.h) */
};

/* A zeroed owner's struct with its flight, which hears of the peer from now on. NULL when out of
 * memory: then the peer is untouched. */
void *flight_new(const struct flight_ops *ops, struct worker *w, struct peer peer,
                 const struct http_request *r, const struct caller *caller);

/* Frees the flight when it has neither a client nor a call nor a task. */
void flight_free_if_over(struct flight *f);

/* The next call goes to this upstream, of the worker's table. False when out of memory: then all is as it
 * was. */
bool flight_take_upstream(struct flight *f, const struct upstream_entry *u);

/* ---- the call of the upstream */

/* What the upstream is asked. */
struct flight_call {
    const char *method;
    str path, query;                   /* below the upstream's URL; query may be "" */
    const struct http_header *headers; /* see flight_add_headers() */
    size_t n_headers;
    str body; /* lives until the call has ended */
};

/* Appends to n headers those that every call has, of which there are so many at most. Returns how many there
 * are. */
enum { FLIGHT_HEADERS = 3 };
size_t flight_add_headers(const struct flight *f, struct http_header *headers, size_t n);

/* Starts a call, in place of one that may never have ended its body; the handler's arg is the flight.
 * Returns 0, or -1 with *reterr filled. */
int flight_start_call(struct flight *f, const struct flight_call *call,
                      const struct http_call_handler *handler, struct err *reterr);

void flight_cancel_call(struct flight *f);

/* Nobody waits for an upstream any more: leaves the queue, or the place there, which lasts as long as a call that
 * reads the end of its answer. And the call has ended (both flight_admission.c). */
void flight_leave_upstream(struct flight *f);
void flight_give_place_back(struct flight *f);

/* Why the upstream was chosen that had a place for it last: "least" ...; STR_NONE: none has. In flight_spans.c. */
str flight_routing(const struct flight *f);

/* ---- the client */

/* Another takes the place of the client, which has left. r lives as long as that. */
void flight_take_peer(struct flight *f, struct peer peer, const struct http_request *r);

/* Does somebody wait for the answer? */
static inline bool flight_has_client(const struct flight *f)
{
    return peer_is_there(f->peer);
}

/* The answer is over, complete or broken off: cancels what is waited for. When the upstream has
 * said all, its call may linger a moment: so that the end of its body can arrive, and the connection
 * be used again. */
void flight_answered(struct flight *f, bool has_upstream_said_all);

/* Gives back what was taken of the caller's limits; nothing the second time. flight_answered() does it as well:
 * this is for before an answer is complete, so that a client that asks again at once finds its place free. */
void flight_give_back(struct flight *f);

/* Something is to be said when interval_ms (0: never) have passed since *last_ms. Returns whether it is
 * due, and brings forward the next look, which is 0 if there is none yet. */
bool flight_is_due(const struct flight *f, uint64_t *last_ms, uint64_t interval_ms,
                   uint64_t *next_ms);

/* The sign of life in a stream that says nothing; the timer is started for the next, or for next_ms if
 * that is sooner and not 0. */
void flight_keep_alive(struct flight *f, uint64_t next_ms);

/* ---- what takes long */

/* Runs work(f) on the pool, and then `then` on the loop: with NULL, or with what work has filled in when
 * it returned -1. work touches nothing but the flight, what is constant and what may be used from any
 * thread; a call is paused meanwhile. If the client has left, the flight has none for `then`, which
 * frees nothing. */
void flight_offload(struct flight *f, int (*work)(void *arg, struct err *reterr),
                    void (*then)(void *arg, const struct err *failure));

/* flight_offload() if the weight is large (WORKER_LARGE_BYTES); else runs both at once. */
void flight_work(struct flight *f, size_t weight, int (*work)(void *arg, struct err *reterr),
                 void (*then)(void *arg, const struct err *failure));

/* Any thread: has the client left? What is done for it alone is left out then. */
bool flight_is_gone(const struct flight *f);

/* ---- all of a worker */

/* The worker ends: each is answered with e. Those on the pool are not: it asks again. */
void flight_end_all(struct worker *w, const struct err *e);

/* The worker takes no new work: who waits for a place at an upstream, and has been shown nothing, is answered with
 * e. What is made for nobody waits on. */
void flight_end_waiting(struct worker *w, const struct err *e);

/* What is on its way for this client (peer.of) is answered with e, as when the worker ends: if it is not
 * on the pool. */
void flight_end_of(struct worker *w, const void *client, const struct err *e);

/* Does it ask a model, for somebody who waits or in the background? */
static inline bool flight_is_shown(const struct flight *f)
{
    return f->ops->describe != NULL && flight_has_client(f);
}

/* Is the upstream working for somebody by it? A call may linger behind its answer. */
static inline bool flight_is_asking(const struct flight *f)
{
    return f->call != NULL && !f->has_call_ended && flight_has_client(f);
}

/* Ends a flight that is shown, as its client's own cancel would. False while it is on the pool. It may be
 * gone afterwards. */
bool flight_stop(struct flight *f);

/* The worker has ended: what is left of its flights is freed. */
void flight_drop_all(struct worker *w);

/* What an upstream is has been found out, or cannot be: tells the flights that wait for that. */
void flight_upstream_known(struct worker *w, const struct reach *of);

#endif
