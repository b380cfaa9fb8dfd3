/* turn_run.h -- the turn of background work (CONTRACT 4.8): what it has beside any other.
 *
 * A run begins with a claim, and ends with it. Its client is nobody; what a client would be sent is
 * written down instead: while the response is made, its journal tells the store what is new, and what
 * the store says to that is how the turn learns that it is to be cancelled, or that nobody wants it any
 * more.
 *
 *     claimed -> ACCEPT: the response is opened, and stored as begun -> rounds, calls -> RECORD -> SAVE
 *                        with its first events; nothing is done before that is safe,
 *                        so what has done something is never begun again
 *
 * Until the response is open, and when its end cannot be stored, the turn ends without it and says why
 * (turn_work.on_end). */
#ifndef ANTIPHON_TURN_TURN_RUN_H
#define ANTIPHON_TURN_TURN_RUN_H

#include "base/arena.h"
#include "flight/peer_nobody.h"
#include "response/replay.h"
#include "store/store_events.h"
#include "turn/owner_seal.h"
#include "turn/turn.h"

struct loop_timer;
struct turn;

/* What is new of the events, on its way to the store: one row at a time. A row of which it is not known
 * whether it was stored is written again as it is, and what comes meanwhile gathers behind it. */
struct turn_journal {
    struct replay walk;     /* behind the last event that is in a row */
    struct journal_row row; /* under way, or to be written again; while has_row */
    struct buf cuts;        /* its own */
    bool has_row, is_writing;
    bool is_failing; /* the last try has failed */
    bool is_timed;   /* the clock will strike for the next one */
    str head, tail;  /* of the response that begins, for the first row */
    struct store_task task;
};

/* On the heap: made before the turn, and freed after it. */
struct turn_run {
    struct nobody nobody;
    struct http_header headers[3]; /* that count: authorization, and the trace of the request */
    struct arena arena;            /* of all texts here */
    struct turn_work work;
    str scope;                   /* for turn_memory_scope(), or STR_NONE */
    bool is_named;               /* its owner may be logged */
    uint64_t queue_ms;           /* from the request until it was taken up */
    struct loop_timer *deadline; /* background_timeout */
    struct loop_timer *clock;    /* for the next row, or the next try */
    struct loop_timer *pulse;    /* for a sign of life: keepalive_interval */
    struct turn_journal journal;
    bool is_started;      /* the store knows that it has begun */
    bool is_cancelled;    /* it is to be, as soon as it is not on the pool */
    enum store_wish wish; /* what the store said to the last row, or to its end */
    const struct err
        *failure; /* why it has ended without one, in the turn's memory; NULL: it has not */
    bool is_reported;
};

/* Has the store said that nobody wants the response, or somebody else has it? */
static inline bool turn_run_is_unwanted(const struct turn_run *run)
{
    return run->wish == STORE_TAKEN || run->wish == STORE_DELETED;
}

/* The end of the response was not stored: is that tried again? Then the clock is on; else it is why the turn
 * ends. In turn_run.c. */
bool turn_run_saves_again(struct turn *t);

/* ---- turn_journal.c */

/* The response is open: tells the store that it has begun, with its first events. The turn is woken when
 * that is safe (is_started). Returns 0, or -1 with *reterr filled. */
int turn_journal_start(struct turn *t, struct err *reterr);

/* The response may have new events: they are written in background_commit. */
void turn_journal_note(struct turn *t);

/* The clock has struck. */
void turn_journal_write(struct turn *t);

/* A row is being stored. */
static inline bool turn_journal_is_busy(const struct turn_run *run)
{
    return run != NULL && run->journal.is_writing;
}

void turn_journal_fini(struct turn_journal *j);

#endif
