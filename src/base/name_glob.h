/* name_glob.h -- names with stars: `gpt-oss-*` stands for all that begin with that.
 *
 * A * stands for any bytes, also none; everything else for itself, in its case. Time is linear in both
 * lengths, whatever a client sends as a name. Pure. */
#ifndef ANTIPHON_BASE_NAME_GLOB_H
#define ANTIPHON_BASE_NAME_GLOB_H

#include "base/str.h"

/* True when there is a star in it. */
bool name_is_glob(str text);

/* True when the whole name fits. */
bool name_glob_fits(str glob, str name);

/* The bytes of a glob that are no stars: of two that fit a name, the one with more says more about it. */
size_t name_glob_literals(str glob);

#endif
