/* replay_walk.h -- what an event was about: a cut and a response (CONTRACT 4.8). Internal to replays. */
#ifndef ANTIPHON_RESPONSE_REPLAY_WALK_H
#define ANTIPHON_RESPONSE_REPLAY_WALK_H

#include "response/cuts.h"
#include "response/response.h"

/* Along one response, during one call. Zeroed but for the response. */
struct replay_walk {
    const struct response *response;
    /* where it is; NULL: nowhere yet */
    const struct output_item *item;
    const struct output_part *part;
    const struct output_citation *citation;
    unsigned n_citations; /* of the part, before that one */
};

/* What an event had; what its type has not is not set. */
struct replay_event {
    const struct output_item *item;
    const struct output_part *part;
    str text, logprobs, annotation;
};

/* Finds out what the event of a cut had. False: cut and response do not fit together. */
bool replay_walk_to(struct replay_walk *w, const struct event_cut *cut, struct replay_event *ret);

#endif
