/* upstream_window.h -- how many tokens a model's context may have (CONTRACT 15). */
#ifndef ANTIPHON_UPSTREAM_UPSTREAM_WINDOW_H
#define ANTIPHON_UPSTREAM_UPSTREAM_WINDOW_H

#include "config/config.h"
#include "upstream/upstream_facts.h"

struct upstream_window {
    int64_t tokens;    /* 0: not known */
    bool is_guess;     /* the server may have allocated less: no request is refused by it */
    bool takes_images; /* the model is known to look at them */
    str efforts;       /* of reasoning that it is known to take: "low|high", or ""; static */
};

/* What the operator says of the model, else what the upstream has told of it. model: as the upstream
 * knows it, plain. facts: NULL while nothing is known. */
struct upstream_window upstream_window_of(const struct config *c,
                                          const struct upstream_facts *facts, str model);

/* The same where the profile of the model has been looked up. */
struct upstream_window upstream_window_profiled(const struct model_profile *p,
                                                const struct upstream_facts *facts, str model);

/* The same of a model of a list that has just come: what that says itself is newer than what was told
 * before. */
struct upstream_window upstream_window_listed(const struct config *c,
                                              const struct upstream_facts *facts, str model,
                                              const struct upstream_limits *listed);

#endif
