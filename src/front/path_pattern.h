/* path_pattern.h -- paths with ids in them, such as "/v1/responses/{id}", and whole folders. */
#ifndef ANTIPHON_FRONT_PATH_PATTERN_H
#define ANTIPHON_FRONT_PATH_PATTERN_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/str.h"

enum { PATH_MAX_IDS = 2 };

/* Views into the path, not percent-decoded; STR_NONE where the pattern has none. */
struct path_ids {
    str v[PATH_MAX_IDS];
};

/* Does the path look like the pattern? Each {...} of it stands for a segment of
 * the path that is not empty, a * at its end for one byte or more. *ret is set when it does. */
bool path_pattern_fits(str pattern, str path, struct path_ids *ret);

/* The ids percent-decoded, in an array of PATH_MAX_IDS; STR_NONE where there are none. False when out
 * of memory. */
bool path_ids_decode(const struct path_ids *ids, struct arena *a, str *ret);

#endif
