/* relay_path.h -- what a path is at the upstream. */
#ifndef ANTIPHON_FRONT_RELAY_PATH_H
#define ANTIPHON_FRONT_RELAY_PATH_H

#include "base/str.h"

/* What a path is below the upstream's base URL, which ends in its /v1: the path
 * without any /v1 in front, of which clients whose base URL has one as well send
 * two. "/models" of "/v1/models" and of "/v1/v1/models". */
str relay_path(str path);

#endif
