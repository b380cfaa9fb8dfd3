/* event_check.h -- is this a stream as the contract promises it (CONTRACT 4.1 to 4.3)?
 *
 * An independent reading of the promises, made for tests, scenarios and
 * fuzzers: frames, sequence numbers, the life of the response, of its items and
 * of their parts, and that every done repeats what its deltas said, and that an item is done before
 * the next is announced. It knows
 * the events that the gateway sends and takes any other for a fault. One thread at a time. */
#ifndef ANTIPHON_TESTS_LIB_EVENT_CHECK_H
#define ANTIPHON_TESTS_LIB_EVENT_CHECK_H

#include <jansson.h>

#include "base/str.h"

/* NULL when stream is a whole, faultless stream. Else what is wrong with it,
 * naming the frame: text that is valid until the next call. */
const char *event_check(str stream);

/* The same for a stream in which calls are open side by side (interleaved_calls). */
const char *event_check_interleaved(str stream);

/* event_check() for a stream that was cut between two frames, at any place. */
const char *event_check_cut(str stream);

/* The events of a stream of any dialect, in order: a new array. */
json_t *event_list(str stream);

/* The bytes of the response object in the last event of a whole stream. */
str event_response(str stream);

#endif
