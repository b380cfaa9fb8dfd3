/* upstream_outcome.h -- how an attempt at an upstream has ended, in one word, and what that word means
 * (OPERATIONS 4.6, 4.7). The table is upstream_outcome.def; metrics, health and retries all go by it.
 *
 * Pure; any thread. */
#ifndef ANTIPHON_UPSTREAM_UPSTREAM_OUTCOME_H
#define ANTIPHON_UPSTREAM_UPSTREAM_OUTCOME_H

#include "metrics/metric_table.h"

struct err;
struct upstream_answer;

enum upstream_outcome {
#define UPSTREAM_OUTCOME(symbol, ...) UPSTREAM_OUTCOME_##symbol,
#include "upstream/upstream_outcome.def"
    UPSTREAM_OUTCOMES,
};

/* Ids of words that are none. */
enum { METRIC_EJECTION_UNCOUNTED = -1, METRIC_RETRY_NEVER = -1 };

enum upstream_same {
    UPSTREAM_SAME_NO,
    UPSTREAM_SAME_LATER,
    UPSTREAM_SAME_TOLD,
    UPSTREAM_SAME_ONCE,
    UPSTREAM_SAME_LOADED,
};

enum upstream_other { UPSTREAM_OTHER_NO, UPSTREAM_OTHER_AT_ONCE, UPSTREAM_OTHER_ONCE };

struct upstream_outcome_row {
    unsigned result; /* METRIC_ATTEMPT_... */
    int failure;     /* METRIC_EJECTION_..., or METRIC_EJECTION_UNCOUNTED */
    int retry;       /* METRIC_RETRY_..., or METRIC_RETRY_NEVER */
    enum upstream_same same;
    enum upstream_other other;
};

const struct upstream_outcome_row *upstream_outcome_row(enum upstream_outcome outcome);

/* How an attempt has ended. When the call broke off or could not be made, the answer has been told so
 * (upstream_answer_failed()).
 *
 * failure: what went wrong; NULL: nothing. For an answer with 2xx that is the transport's failure, or, when
 * its body was read, what that came to (chat_result.error). For other statuses it is not looked at: they
 * speak for themselves. */
enum upstream_outcome upstream_outcome_of(const struct upstream_answer *answer,
                                          const struct err *failure);

#endif
