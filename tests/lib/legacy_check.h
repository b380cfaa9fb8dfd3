/* legacy_check.h -- is this a stream as open-responses-server sends it (CONTRACT 4.9)?
 *
 * Frames, the order of response events, the members of each, and that the event that ends
 * arguments repeats them. One thread at a time. */
#ifndef ANTIPHON_TESTS_LIB_LEGACY_CHECK_H
#define ANTIPHON_TESTS_LIB_LEGACY_CHECK_H

#include "base/str.h"

/* NULL when it is; else what is wrong with it. */
const char *legacy_check(str stream);

#endif
