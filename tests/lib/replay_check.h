/* replay_check.h -- the events of a response are replayed while it is made, and when it has ended. */
#ifndef ANTIPHON_TESTS_LIB_REPLAY_CHECK_H
#define ANTIPHON_TESTS_LIB_REPLAY_CHECK_H

#include "response/replay.h"

struct replay_check {
    struct replay reader, journal;
    struct buf live;   /* what was replayed of it, step by step, with [DONE] */
    struct cuts whole; /* as they were said to be before the last events */
    const char *fault; /* NULL: none so far */
};

void replay_check_init(struct replay_check *c);
void replay_check_fini(struct replay_check *c);

/* After something was done to a response with cuts. */
void replay_check_step(struct replay_check *c, const struct response *r);

/* Before response_end(), and behind it. stream: what was sent first, or STR_NONE; then what was replayed
 * step by step takes its place. */
void replay_check_ending(struct replay_check *c, const struct response *r);
void replay_check_end(struct replay_check *c, const struct response *r, str stream);

#endif
