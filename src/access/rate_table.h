/* rate_table.h -- what names and addresses have used of their limits, in the whole process
 * (OPERATIONS 5.3).
 *
 * Shared by all workers, with one lock that is taken two or three times for a request. A user has a place
 * from its first request on; one of whom nothing runs gives it up when there are many, whoever was not seen
 * for the longest time first, and is then as if it had never asked. */
#ifndef ANTIPHON_ACCESS_RATE_TABLE_H
#define ANTIPHON_ACCESS_RATE_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum { RATE_TABLE_USERS = 65536 }; /* of a gateway */

struct rate_table;
struct rate_user;

/* Limits of a user, in a minute and at a time; 0: none. RATE_MOST at most. */
struct rate_limits {
    uint64_t rpm, tpm, concurrency;
};

/* One limit as headers tell it. */
struct rate_view {
    uint64_t limit; /* 0: there is none */
    uint64_t left;
    uint64_t full_ms; /* until all of it is there */
};

enum rate_verdict {
    RATE_TAKEN,
    RATE_OUT_OF_REQUESTS,
    RATE_OUT_OF_TOKENS,
    RATE_TOO_MANY_AT_ONCE,
    RATE_NO_MEMORY,
};

struct rate_answer {
    enum rate_verdict verdict;
    uint64_t wait_ms;       /* until it may be worth another try; when it was refused */
    struct rate_user *user; /* for rate_table_end(); NULL: there is no limit, or it was refused */
    struct rate_view requests, tokens; /* as they are now */
    /* Requests that have not ended, this one among them; only those of whom there was a limit count. */
    uint64_t n_running;
};

/* A table of max_users; it holds more while something runs of those that were not seen for the longest time. NULL
 * with *reterr filled. */
struct rate_table *rate_table_new(size_t max_users, struct err *reterr);
void rate_table_free(struct rate_table *t); /* NULL is fine */

/* Any thread, all of them; now_ms is that of loop_now_ms(). user: a name, which is copied. */

/* True when one of the limits is set; a user without any is not counted here. */
bool rate_limits_are_any(const struct rate_limits *limits);

/* Takes a request of so many tokens, if its limits let it, and else nothing. A request with more tokens than a
 * minute brings is let in when none have been used. */
struct rate_answer rate_table_take(struct rate_table *t, str user, const struct rate_limits *limits,
                                   uint64_t tokens, uint64_t now_ms);

/* Looks at what a user has left, and takes nothing. */
struct rate_answer rate_table_look(struct rate_table *t, str user, const struct rate_limits *limits,
                                   uint64_t now_ms);

/* Something begins that was let in before: it runs, whatever the limits say. NULL: no limit, or no memory. */
struct rate_user *rate_table_join(struct rate_table *t, str user, const struct rate_limits *limits,
                                  uint64_t now_ms);

/* A request that was taken or has joined has ended, with so many tokens more than were taken for it. */
void rate_table_end(struct rate_table *t, struct rate_user *user, int64_t more_tokens,
                    uint64_t now_ms);

/* How many users have a place. */
size_t rate_table_users(struct rate_table *t);

#endif
