/* loop.h -- one libuv loop and its thread's view of the world.
 *
 * All of it belongs to the thread that runs the loop, except loop_post().
 *
 * Messages and jobs are part of the thing that they are about, so to send one cannot fail:
 *
 *     struct thing {
 *         struct loop_message ended; // = {.fn = on_ended, .arg = thing}
 *     };
 *     loop_post(loop, &thing->ended); */
#ifndef ANTIPHON_EV_LOOP_H
#define ANTIPHON_EV_LOOP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <uv.h>

#include "base/budget.h"

#include "base/err.h"

struct loop;
struct loop_timer;

/* Makes a loop; NULL with *reterr filled when that cannot be. */
struct loop *loop_new(struct err *reterr);

/* Frees a loop after loop_run() has returned. Runs what is still deferred and closes what is left;
 * messages not yet delivered are forgotten, and not looked at, since their owners may be gone; they
 * stay under way for good. NULL is fine. */
void loop_free(struct loop *loop);

/* Runs until loop_stop(), which only the loop's own thread may call; others
 * post a function that does. */
void loop_run(struct loop *loop);
void loop_stop(struct loop *loop);

uv_loop_t *loop_uv(struct loop *loop);

/* One buffer for all sockets of the loop: who reads into it is done with the
 * bytes when it returns to the loop. */
enum { LOOP_SCRATCH_BYTES = 64 * 1024 };
char *loop_scratch(struct loop *loop);

/* Milliseconds of the monotonic clock, as of this turn of the loop. */
uint64_t loop_now_ms(const struct loop *loop);

/* A function to be run on a loop. The message belongs to the loop from when it is sent until fn
 * begins: it must stay where it is, and its members must not change. fn may send it again, or free
 * it. Zeroed but for fn and arg before it is first sent. */
struct loop_message {
    void (*fn)(void *arg);
    void *arg;
    STAILQ_ENTRY(loop_message) next; /* loop.c's own, like the next one */
    atomic_bool is_under_way;
};

/* Runs m->fn on the loop's thread, soon; from any thread. A message that is under way is not sent a
 * second time: the one run that is to come sees all that was done before this call. */
void loop_post(struct loop *loop, struct loop_message *m);

/* Runs m->fn after the current batch of socket events, for work that must not happen inside a
 * callback (freeing what called us); on the loop's thread. A message that is under way is not sent
 * twice. */
void loop_defer(struct loop *loop, struct loop_message *m);

/* True from when it is sent until its function begins. On the thread of its loop. */
bool loop_message_is_under_way(const struct loop_message *m);

/* A job for the pool. It belongs to the loop until done begins. */
struct loop_job {
    void (*work)(void *arg); /* on a thread of the pool */
    void (*done)(void *arg); /* on the loop, afterwards */
    void *arg;
    struct loop *loop; /* loop.c's own, like what follows */
    enum budget_use use;
    STAILQ_ENTRY(loop_job) next;
};

/* Runs the work on libuv's pool of threads, and then done, once, on the loop; called on the loop's
 * thread. For work that would hold the loop, and touches nothing that the loop touches meanwhile.
 * The pool looks up names as well, so of each loop's jobs one runs at a time and the others wait in
 * order: a flood of them takes no more than one thread for each loop, see loop_pool_size(). Nothing
 * is cancelled: what arg points to must stay until done. */
void loop_offload(struct loop *loop, struct loop_job *job);

/* The number of jobs, and of errands (errand.h, which call the first two), that are elsewhere and
 * must come back. A loop runs until it is 0. On the loop's thread. */
void loop_expect(struct loop *loop);
void loop_receive(struct loop *loop);
size_t loop_n_expected(const struct loop *loop);

/* Makes the pool large enough for n_loops besides the lookups of names, unless UV_THREADPOOL_SIZE
 * is in the environment. Once, before there are other threads. */
void loop_pool_size(unsigned n_loops);

/* One-shot timers. NULL when out of memory. Starting a running timer moves it; after_ms counts from
 * loop_now_ms(), which may be some milliseconds old. A fired timer may be started again or freed, also
 * from inside its function. */
struct loop_timer *loop_timer_new(struct loop *loop, void (*fn)(void *arg), void *arg);
void loop_timer_start(struct loop_timer *timer, uint64_t after_ms);
void loop_timer_stop(struct loop_timer *timer);
void loop_timer_free(struct loop_timer *timer); /* NULL is fine */

/* Seconds since 1970, UTC. Any thread. */
int64_t clock_unix_s(void);

/* Cryptographic randomness, buffered per thread; aborts when the system has
 * none. Has the shape of id_source.fill; arg is unused. Any thread. */
void random_fill(void *arg, void *p, size_t n);

#endif
