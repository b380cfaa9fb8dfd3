/* turn_summary.h -- a summary that takes the place of a turn's context (CONTRACT 13).
 *
 * turn_compact.c   whether it is time for one, and the question
 * turn_summary.c   the answer, and what follows
 *
 * The model writes it in an upstream call of its own, before a round or in place of all rounds. The call
 * may have to be made again: without tools when the answer is a call, with less of the conversation when
 * that is too long. What fails is the response where the client has asked for the summary, and else
 * nothing: the round is tried with the context as it is. */
#ifndef ANTIPHON_TURN_TURN_SUMMARY_H
#define ANTIPHON_TURN_TURN_SUMMARY_H

#include "compact/compact_keep.h"
#include "flight/flight_admission.h"
#include "response/summary_round.h"
#include "turn/turn_internal.h"

/* The summary that is being made; in the arena of its turn. */
struct turn_summary_call {
    /* what is asked, and how */
    struct responses_request request;
    struct model_profile profile;
    struct chat_request_options chat;
    struct conversation conversation; /* with the question at its end */
    int64_t max_tokens;

    struct flight_route former; /* of the turn, while the summary has one of its own */
    bool has_route;             /* of its own */

    struct compact_kept kept; /* what stays beside it */
    int64_t n_tokens;         /* of the context that it replaces */

    struct summary_round round;
    bool has_conversation, has_round; /* are initialised */
    bool omits_tools;                 /* the operator says so, or the answer was a call */
    bool is_asked;                    /* the upstream has been, and is heard */
    bool has_failed;                  /* why_not: what this attempt has failed with */
    bool is_upstreams;                /* failure: it has not answered, or not to the end */
    const struct err *retried;        /* what the attempt before it has failed with, or NULL */
    bool is_call;                     /* for its answer was one */
    bool is_too_long;                 /* what was refused is to be sent again with less of it */
    unsigned n_refused;               /* calls, for their length */
    struct err why_not;
};

/* The model that writes summaries, by the operator's word; NULL: that of the turn. */
static inline const char *turn_compaction_model(const struct turn *t)
{
    const char *model = t->flight.worker->config->compaction_model;

    return model == NULL || model[0] == '\0' ? NULL : model;
}

/* The summary has been made, or not: the turn goes on with upstreams of its own model; in turn_admit.c. */
void turn_leave_summary_route(struct turn *t);

/* Is the summary what the client has asked for, and the whole of the response? */
static inline bool turn_is_for_summary(const struct turn *t)
{
    return t->request.has_trigger;
}

#endif
