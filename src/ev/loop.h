/* loop.h -- one libuv loop and its thread's view of the world.
 *
 * All of it belongs to the thread that runs the loop, except loop_post(). */
#ifndef ANTIPHON_EV_LOOP_H
#define ANTIPHON_EV_LOOP_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "base/err.h"

struct loop;
struct loop_timer;

/* NULL with *reterr filled when the loop cannot be made. */
struct loop *loop_new(struct err *reterr);

/* After loop_run() has returned. Runs what is still deferred and closes what is
 * left; messages not yet delivered are dropped. NULL is fine. */
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

/* From any thread: run fn(arg) on the loop's thread, soon and once. False when
 * out of memory; then fn will not run. */
bool loop_post(struct loop *loop, void (*fn)(void *arg), void *arg);

/* On the loop's thread: run fn(arg) after the current batch of socket events,
 * for work that must not happen inside a callback (freeing what called us). */
bool loop_defer(struct loop *loop, void (*fn)(void *arg), void *arg);

/* On the loop's thread: run work(arg) on libuv's pool of threads, and then done(arg), once, on the
 * loop. For work that would hold the loop, and touches nothing that the loop touches meanwhile. The
 * pool looks up names as well, so of each loop's jobs one runs at a time and the others wait in
 * order: a flood of them takes no more than one thread for each loop, see loop_pool_size(). False
 * when out of memory; then neither will run. Nothing is cancelled: what arg points to must stay
 * until done. */
bool loop_offload(struct loop *loop, void (*work)(void *arg), void (*done)(void *arg), void *arg);

/* How many of them have not been reported. A loop is freed when there are none. */
size_t loop_offloaded(const struct loop *loop);

/* Makes the pool large enough for n_loops besides what looks up names, unless UV_THREADPOOL_SIZE is
 * in the environment. Once, before there are other threads. */
void loop_pool_size(unsigned n_loops);

/* One-shot timers. NULL when out of memory. Starting a running timer moves it.
 * A fired timer may be started again, also from inside its function. */
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
