/* relay_limits.h -- what a relay takes of its caller's limits, and which models it may be about
 * (OPERATIONS 5.1, 5.2).
 *
 * Every POST that is passed on counts as a request, whatever it asks. Whoever may ask for some models only may
 * send no body in which the gateway cannot find an allowed one. */
#ifndef ANTIPHON_FRONT_RELAY_LIMITS_H
#define ANTIPHON_FRONT_RELAY_LIMITS_H

#include "base/err.h"

struct flight;

/* What was found in the body. */
struct relay_limits {
    bool is_refused;   /* the caller may not ask for what is in it, ... */
    str refused_model; /* ... which is this, plain, in the arena; or "" */
};

/* May the caller be told of what is at the flight's path? model: the one it is, plain, or STR_NONE. Returns 0,
 * or -1 with *reterr filled: 404. Loop's thread. */
int relay_limits_check_path(struct flight *f, str model, struct err *reterr);

/* Does the body have to be looked through? */
bool relay_limits_need_body(const struct flight *f);

/* Looks it through, without its coding; STR_NONE: that could not be taken off. Any thread. */
void relay_limits_read(struct relay_limits *l, struct flight *f, str body);

/* Before the upstream is asked. Returns 0, or -1 with *reterr filled: 404, 429. Loop's thread. */
int relay_limits_admit(const struct relay_limits *l, struct flight *f, struct err *reterr);

/* Is the upstream's list of models more than the caller may see? */
bool relay_limits_hide_models(const struct flight *f);

#endif
