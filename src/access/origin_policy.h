/* origin_policy.h -- what the configuration says of web pages and names. */
#ifndef ANTIPHON_ACCESS_ORIGIN_POLICY_H
#define ANTIPHON_ACCESS_ORIGIN_POLICY_H

#include "config/config.h"
#include "http/origin_check.h"

/* Fills *ret, which points into the configuration and the arena. Returns 0, or -1 when
 * out of memory. */
int origin_policy_make(const struct config *c, bool asks_for_key, struct arena *a,
                       struct origin_policy *ret);

#endif
