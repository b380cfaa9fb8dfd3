/* request_check.h -- checks that other requests share with that for a response. */
#ifndef ANTIPHON_WIRE_REQUEST_REQUEST_CHECK_H
#define ANTIPHON_WIRE_REQUEST_REQUEST_CHECK_H

#include "conv/reject.h"

/* `metadata`, a raw object: 16 strings, with names of 64 and values of 512
 * characters (CONTRACT 1.1). Returns 0, or -1 with *reterr filled. */
int request_check_metadata(str metadata, struct err *reterr);

/* One value of `include`, escaped (CONTRACT 1.7). Returns 0, or -1 with *reterr filled. */
int request_check_include(const struct path *at, str value, struct err *reterr);

#endif
