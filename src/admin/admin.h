/* admin.h -- what operators ask of all workers together.
 *
 * A question goes from worker to worker as a message, each of which adds what it knows, on its own thread,
 * and back to the worker of who asked. So nothing is locked or counted for it while nobody asks. */
#ifndef ANTIPHON_ADMIN_ADMIN_H
#define ANTIPHON_ADMIN_ADMIN_H

#include <stddef.h>
#include <stdint.h>

struct admin;
struct worker;

/* For these workers, which outlive it; before their threads begin. Sets their member. NULL when out of
 * memory. */
struct admin *admin_new(struct worker *const *workers, size_t n_workers);

/* When no worker is left. NULL is fine. */
void admin_free(struct admin *a);

/* Since admin_new(), in seconds. Any thread. */
uint64_t admin_uptime_s(const struct admin *a);

/* The loop of the worker has ended: questions pass it by. On its thread. */
void admin_close_worker(struct admin *a, const struct worker *w);

#endif
