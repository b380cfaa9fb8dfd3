/* memory_keeper.h -- keeps the process within max_memory, and gives memory back to the system.
 *
 * The limit is set once, for base/budget.h. On the main loop the keeper looks now and then: when
 * memory is short, the memories of calls and of answers forget; when much less is in use than before, what the C
 * library has kept of it goes back to the system. */
#ifndef ANTIPHON_MEMORY_MEMORY_KEEPER_H
#define ANTIPHON_MEMORY_MEMORY_KEEPER_H

#include "config/config.h"
#include "ev/loop.h"

struct answer_memory;
struct call_memory;
struct memory_keeper;

/* Sets the limit, before there are threads, and how the C library holds memory for so many threads
 * that are busy. */
void memory_set_up(const struct config *c, unsigned n_threads);

/* Makes a keeper, or returns NULL with *reterr filled. memories are n that may forget, or NULL
 * ones, and so are the answers; they outlive the keeper. */
struct memory_keeper *memory_keeper_new(struct loop *loop, struct call_memory *const *memories,
                                        size_t n, struct answer_memory *answers,
                                        struct err *reterr);

/* NULL is fine. */
void memory_keeper_free(struct memory_keeper *k);

#endif
