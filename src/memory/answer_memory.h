/* answer_memory.h -- answers that are kept for requests which come again with their Idempotency-Key, where
 * nothing of them is stored (CONTRACT 4.8).
 *
 *     (free) --ask--> runs --keep--> kept --age, or its bytes are needed--> (free)
 *                      \--drop--> (free)
 *
 * All workers share one. Whoever asks first for a key has to record the answer while it is given; what
 * others are told meanwhile is that it runs, and they ask again. Kept answers never change: they are
 * counted references. All bytes together are bounded, those of answers that are being recorded
 * included: the oldest kept ones go first, and an answer for which that is not enough is not kept. */
#ifndef ANTIPHON_MEMORY_ANSWER_MEMORY_H
#define ANTIPHON_MEMORY_ANSWER_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/header.h"

enum { ANSWER_HASH_BYTES = 32, ANSWER_MAX_HEADERS = 8 };

struct answer;
struct answer_memory;

/* max_bytes 0: none is kept, but requests still wait for the one that runs. NULL with *reterr filled. */
struct answer_memory *answer_memory_new(size_t max_bytes, uint64_t max_age_ms, struct err *reterr);

/* When all answers have been kept, dropped and released. NULL is fine. */
void answer_memory_free(struct answer_memory *m);

/* Forgets what is kept: its memory is needed. Any thread. */
void answer_memory_forget(struct answer_memory *m);

/* The bytes of all answers at this moment. Any thread, without a lock. */
size_t answer_memory_bytes(const struct answer_memory *m);

/* Whose request it is: a hash of owner, path and key; and a hash of its body. */
struct answer_key {
    unsigned char name[ANSWER_HASH_BYTES], body[ANSWER_HASH_BYTES];
};

enum answer_state {
    ANSWER_BEGUN,      /* nobody has: the caller is to record it */
    ANSWER_RUNS,       /* another does */
    ANSWER_KEPT,       /* here it is */
    ANSWER_OTHER_BODY, /* of another request than this one */
};

/* Asks for the answer to a request. Any thread; times are those of loop_now_ms(). *ret: in the first case
 * the answer to be recorded, which ends with answer_keep() or answer_drop(); if it is kept, a reference.
 * Returns 0, or -1 when out of memory. */
int answer_memory_ask(struct answer_memory *m, const struct answer_key *key, uint64_t now_ms,
                      enum answer_state *ret_state, struct answer **ret, struct err *reterr);

/* ---- recording; one thread. What there is no room for makes the answer one that is not kept. */

void answer_start(struct answer *a, int status, const struct http_header *headers, size_t n);
void answer_add(struct answer *a, str bytes);

/* The answer is complete: others are given it from now on. */
void answer_keep(struct answer *a, uint64_t now_ms);

/* The answer is not one to be given again: the key is free. */
void answer_drop(struct answer *a);

/* ---- a kept answer */

int answer_status(const struct answer *a);
size_t answer_headers(const struct answer *a, struct http_header headers[ANSWER_MAX_HEADERS]);
str answer_body(const struct answer *a);
void answer_unref(struct answer *a);

#endif
