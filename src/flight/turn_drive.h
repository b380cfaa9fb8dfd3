/* turn_drive.h -- the stages of a turn, and what drives them, whatever its front.
 *
 * A front is one way in which clients ask: /v1/responses is one (turn.c), chat completions with tools are
 * another (front/chat_turn.c). Each is a table of stages and a few operations (struct turn_front), and its
 * turns are flights. Here is what they have in common.
 *
 * A stage may have work, which is done once when it is entered: on the pool of threads when there is much
 * of it, and then it touches nothing but the turn, what is constant and what may be used from any thread.
 * What the stage does on the loop (run) follows, and again whenever something has been reported: it looks
 * at what is there, and may be called for nothing. How it ends names what follows, in the table.
 *
 * Stages run one after the other until one waits. Whatever a turn waits for, the upstream, the store, a
 * tool, the timer, the pool, ends in a callback that leaves what it brought in the turn and wakes it:
 * turn_wake() goes on with the stage that waits.
 *
 * What stages write goes into the buffer of the worker, and leaves before the turn waits. A turn is freed
 * in turn_wake(), or by the flight that it is, when nobody has anything left to report to it. */
#ifndef ANTIPHON_FLIGHT_TURN_DRIVE_H
#define ANTIPHON_FLIGHT_TURN_DRIVE_H

#include "flight/flight.h"

/* How a stage ends. */
enum turn_next {
    TURN_GO,   /* on with what follows it */
    TURN_ELSE, /* with what follows it otherwise */
    TURN_WAIT, /* a report will come, and wake the turn; or the client has its answer */
    TURN_FAIL, /* *reterr says why */
    TURN_END,  /* the answer has ended, and is concluded */
};

/* arg is the flight, with which the front's struct begins. */
struct turn_stage {
    const char *name;
    size_t (*weigh)(const void *arg);           /* how much work there is; NULL: never much */
    int (*work)(void *arg, struct err *reterr); /* 0, or -1 with *reterr filled; NULL: none */
    enum turn_next (*run)(void *arg, struct err *reterr); /* NULL: goes on */
    unsigned char next, otherwise;                        /* after TURN_GO and TURN_ELSE */
    bool listens;         /* the upstream is heard; else much work cancels its call */
    bool needs_no_client; /* goes on when that has left */
    const char *span;     /* of what it waits for (flight_spans.h); NULL: none */
};

/* What tells the turns of one front from those of another. */
struct turn_front {
    const struct turn_stage *stages;
    unsigned char n_new; /* in the first so many stages memory is for new work (base/budget.h) */
    unsigned char ended; /* the stage after TURN_END */
    unsigned char done;  /* the last one: the client has its answer */
    void (*send)(void *arg); /* what is in the worker's buffer leaves, and is emptied */
    void (*fail)(void *arg, const struct err *e); /* a stage has failed: answers, or moves on */
};

/* Something that the turn waits for has ended, and has left in it what there is to know. Goes on; the
 * turn may be gone afterwards. Every callback ends with it. */
void turn_wake(struct flight *f);

/* turn_wake() for a caller who still uses the turn; the worker's buffer keeps what is in it. */
void turn_drive(struct flight *f);

/* Moves the turn to another stage than the table says. */
void turn_move(struct flight *f, unsigned char to);

/* True while the upstream's answer is read. Later it may only end its body. */
bool turn_listens(const struct flight *f);

/* The next bytes of why the upstream refuses. Returns whether they are not waited for any longer: an
 * error that is too long may have no end. */
bool turn_hear_refusal(struct flight *f, str bytes);

/* The upstream has not answered (failure says why), or has refused the request and said why: the error
 * that this is to the client, without the keys that it may quote. */
void turn_read_refusal(struct flight *f, const struct err *failure, struct err *ret);

/* The client has its answer: the flight has no client afterwards. See flight_answered(). */
void turn_answered(struct flight *f, bool has_upstream_said_all);

/* A copy of a failure that lives as long as the arena; NULL: there is none. */
const struct err *turn_keep_failure(struct arena *a, const struct err *failure);

/* Fills *ret, but for what is being worked on elsewhere just now; returns the word for where it stands. */
const char *flight_describe(const struct flight *f, struct flight_view *ret);

#endif
