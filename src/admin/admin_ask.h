/* admin_ask.h -- one question of an operator, from its request to its answer (admin.h).
 *
 *     home         worker 0 ... worker n-1        home
 *     admin_ask_new() --- visit ---> visit --------> answer
 *
 * The client may leave meanwhile; the question goes on, since it may change something, and is answered to
 * nobody. Its members belong to whichever worker it is at. */
#ifndef ANTIPHON_ADMIN_ADMIN_ASK_H
#define ANTIPHON_ADMIN_ADMIN_ASK_H

#include "base/arena.h"
#include "flight/worker.h"
#include "json/json_write.h"
#include "store/store.h"

struct admin_ask;

struct admin_ask_kind {
    void (*visit)(struct admin_ask *ask, struct worker *w); /* on the thread of each worker */
    void (*answer)(
        struct admin_ask *ask); /* at home, behind the last: ends in admin_ask_respond() */
};

/* What workers add up. */
struct admin_sum {
    size_t n_workers; /* that have been visited */
    size_t n_idle, n_active, n_websockets, n_turns, n_streams, n_calls;
};

struct admin_ask {
    const struct admin_ask_kind *kind;
    struct admin *of;
    struct worker *home;
    struct http_exchange *x; /* NULL: the client has left */
    struct arena arena;
    str id;          /* of the path, in the arena; or STR_NONE */
    struct buf text; /* what is written on the way, by json */
    struct jw json;
    struct admin_sum sum;
    bool is_found, is_busy; /* what the id names; it could not be changed just now */
    uint64_t n_queued;      /* what the store has told, if has_queued */
    bool has_queued;
    struct store_task task;

    /* admin_ask.c's own */
    size_t at;
    bool is_stranded; /* a loop that has ended has one of its messages */
    struct admin_ask *next;
    struct loop_message back;
    struct loop_message hops[]; /* one for each worker */
};

/* Asks all workers; id may be STR_NONE. It is answered in any case. */
void admin_ask_begin(const struct admin_ask_kind *kind, struct worker *home,
                     struct http_exchange *x, str id);

/* Answers with ask->text, or with an error, and frees the question. */
void admin_ask_respond(struct admin_ask *ask, int status);
void admin_ask_respond_error(struct admin_ask *ask, const struct err *e);

#endif
