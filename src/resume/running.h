/* running.h -- the responses that this process is making, and what others ask of them (CONTRACT 4.8).
 *
 * One table for all workers. A turn that makes a response enters it, on the loop of its worker; who
 * wants to read the response's events, to cancel it or to hear of its end *asks*, from any other loop:
 *
 *     home                              the loop of the turn
 *     running_ask()  ---- ask ------->  parked in the entry, until
 *                                       running_notify():  its buffer is filled with events, or
 *                                       running_remove():  the response is gone
 *     report()       <--- report -----
 *
 * An ask takes no memory and cannot fail; it is a part of what waits for it, and belongs to the table
 * from running_ask() until its report. It is an errand (ev/errand.h) but for two things: it may be parked
 * for a response that is yet to begin, and calling it off mostly needs no way there and back, because
 * parked asks are found under the lock of the table. Its home expects it (loop_n_expected()).
 *
 * An id of another owner is an unknown id.
 *
 * The functions that take an entry belong to the loop of its turn, those that take an ask or a reader to
 * their home. */
#ifndef ANTIPHON_RESUME_RUNNING_H
#define ANTIPHON_RESUME_RUNNING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/buf.h"
#include "base/err.h"
#include "ev/loop.h"
#include "response/replay.h"

struct response;
struct running;
struct running_ask;
struct running_entry;
struct running_home;

/* The table, for the turns of so many loops. NULL when out of memory. Frees NULL too; nothing is in the
 * table then. */
struct running *running_new(unsigned n_loops);
void running_free(struct running *table);

/* Turns will run on this loop: before its thread begins, as often as running_new() was told at most. */
void running_open(struct running *table, struct loop *loop);

/* The loop has ended, and nothing on it answers any more: asks are reported as RUNNING_ENDED. On its
 * thread, once, before the loop is freed; the entries of its turns may be removed later all the same. */
void running_close(struct running *table, struct loop *loop);

/* ---- in the table */

/* Where something is in the table; running.c's own, as whatever is said to be so below. */
struct running_place {
    struct running *table; /* NULL: it is not in there */
    void *of;
    uint64_t hash;
    str owner, id;
    unsigned char kind;
    LIST_ENTRY(running_place) next;
};

/* ---- turns */

/* What came of an ask. */
enum running_outcome {
    RUNNING_NOTHING, /* of fill alone: there are no events yet behind those that the ask has had */
    RUNNING_SOME,    /* out has events; others follow */
    RUNNING_LAST, /* out has the last one of the response; or it is empty, and had that one before */
    RUNNING_ENDED, /* it is not under way here, any more or at all: the store knows what became of it */
    RUNNING_FAILED, /* its events cannot be replayed, for want of memory above all */
};

/* What the turn of an entry can do; on its loop. */
struct running_ops {
    /* Writes the next events for the ask, with running_fill() below; changes nothing of the turn, and
     * calls nothing of the table. While the response is worked on elsewhere (on the pool) there is
     * RUNNING_NOTHING, and running_notify() afterwards. */
    enum running_outcome (*fill)(struct running_entry *entry, struct running_ask *ask);
    /* Somebody wishes that the response ends as cancelled. May be called again, and late; may end the
     * turn and remove the entry. */
    void (*cancel)(struct running_entry *entry);
};

TAILQ_HEAD(running_asks, running_ask);

/* A part of the turn; zeroed until it is added. */
struct running_entry {
    const struct running_ops *ops;
    uint64_t n_durable; /* the turn's: so many events may be shown. UINT64_MAX: all, as they come */

    /* running.c's own */
    struct running_place place;
    struct running_home *home;
    atomic_bool is_asked;     /* somebody waits for events */
    struct running_asks asks; /* guarded by the table's lock, like the next ones */
    uint64_t last_reader_ms;  /* when the last one left; 0: none has */
    uint64_t last_repeat_ms;  /* the same of those who repeat the request */
    bool is_hidden;
};

/* Enters the turn's response; owner and id live until the entry is removed, and the loop is one of
 * running_open(). Asks that wait for it to begin are parked here. Cannot fail. */
void running_add(struct running *table, struct running_entry *entry, const struct running_ops *ops,
                 str owner, str id, struct loop *loop);

/* The response is over, its end is stored and its last event noted; or there is no turn any more.
 * Reports all asks that are parked as RUNNING_ENDED: what they have not had of the events is to be read
 * from the store. Does nothing when the entry is not in the table, so that it may be called both when the
 * answer is complete and when the turn is freed. */
void running_remove(struct running_entry *entry);

void running_serve(struct running_entry *entry);

/* The response has more events, or more of them may be shown: who waits for them gets them. Called on
 * the way of every piece of an answer: one test when nobody waits. */
static inline void running_notify(struct running_entry *entry)
{
    if (atomic_load_explicit(&entry->is_asked, memory_order_relaxed))
        running_serve(entry);
}

/* The response is deleted: its turn may still end, but whoever asks from now on finds none here. What was
 * asked before is reported as ever. Any thread. */
void running_hide(struct running *table, str owner, str id);

/* For how long nobody has read it, if since_ms was the last time that somebody else did: 0 while there is
 * a reader. by_repeats: of those who repeat its request alone. Times are those of loop_now_ms(). */
uint64_t running_unread_ms(const struct running_entry *entry, bool by_repeats, uint64_t since_ms,
                           uint64_t now_ms);

/* ---- asks */

enum running_wish {
    RUNNING_EVENTS, /* that follow those which the ask's replay has been through */
    RUNNING_END,    /* to hear when the response is over and stored, or gone */
    RUNNING_CANCEL, /* to end it as cancelled, and the same */
};

/* About how much is filled at once. An event that is larger alone still goes whole. */
enum { RUNNING_FILL_BYTES = 64 * 1024 };

/* Set by who asks, zeroed but for: wish, report, arg; owner and id, which live until the report; and for
 * RUNNING_EVENTS after, obfuscate, and a replay of its own (replay_init()), which goes on where it was
 * when the same ask is made again. */
struct running_ask {
    enum running_wish wish;
    bool
        awaits_begin; /* it is parked as well while nobody makes the response: there is a chance that
                          somebody here is going to */
    str owner, id;
    int64_t after; /* events with greater numbers are wanted; -1: all */
    bool obfuscate;
    struct replay replay;
    struct buf out; /* freed by who asks, who may keep it for the next time: it is emptied first */

    /* At home, once for each ask that was accepted, and not inside a call of the table. The ask may be
     * made anew from there, or freed. */
    void (*report)(void *arg, enum running_outcome outcome);
    void *arg;

    /* running.c's own */
    struct running *table;
    struct running_place place; /* while it waits for an entry */
    struct running_entry *entry;
    struct loop *home;
    struct loop_message told;
    unsigned char state;
    bool is_unwanted;
    enum running_outcome outcome;
    TAILQ_ENTRY(running_ask) of_entry, of_home;
};

/* Does a turn here make that response, so that its events can be asked for? That may be over at once. Any
 * loop. */
bool running_has(struct running *table, str owner, str id);

/* Asks, from the loop home. False: nobody here makes such a response, and nothing has begun. */
bool running_ask(struct running *table, struct running_ask *ask, struct loop *home);

/* Calls an ask off that has no report yet. True: it belongs to its owner again, and there will be none;
 * a wish to cancel that has not arrived has no effect then. False: the other thread works for it just now
 * or has reported, so that the report comes in a moment; the ask stays until then. */
bool running_drop(struct running_ask *ask);

/* For running_ops.fill: writes what the ask has not had of the events below limit into its buffer, which is
 * empty. Reads the response. */
enum running_outcome running_fill(struct running_ask *ask, const struct response *r,
                                  uint64_t limit);

/* ---- readers */

/* Somebody who follows a response, asked or not: a part of the reader, zeroed until it joins. */
struct running_reader {
    bool repeats;               /* the request of the response: set before it joins */
    struct running_place place; /* running.c's own */
};

/* Counts a reader of a response that may be made here, elsewhere, or be over; owner and id live until it
 * leaves. Returns 0, or -1 with *reterr filled (ERR_RATE_LIMIT) when it has max_readers. */
int running_join(struct running *table, struct running_reader *reader, str owner, str id,
                 unsigned max_readers, struct err *reterr);

/* The reader is gone; does nothing when it has not joined. now_ms: of its loop. */
void running_leave(struct running_reader *reader, uint64_t now_ms);

#endif
