/* prefix_marks.h -- where the prompt of an upstream request could be cut, and what stands before each
 * cut (OPERATIONS 4.5).
 *
 * A mark is a boundary: behind everything of the body that is not `messages`, which templates put in
 * front, then behind each message. Its hash stands for all of the prompt up to there. Two requests
 * whose marks are equal up to one of them have the same prompt up to there, and a server that has seen
 * one has its keys and values for the other.
 *
 *     {"model":"m","tools":[...],"messages":[A,B,C],"stream":true}
 *
 *     marks  h0 = model, tools   h1 = h0, A   h2 = h1, B   h3 = h2, C
 *
 * What does not change the prompt is no part of it (prompt_neutral.def). The order of other members
 * does not matter, nor does white space between messages; names count as they are written. The body of /v1/completions has its
 * boundaries behind each `<|end|>` of its `prompt`, and at the end. A body with neither has two marks:
 * h0, and the end of the whole body, every byte of which counts.
 *
 * One pass, no copy. Pure; any thread. */
#ifndef ANTIPHON_AFFINITY_PREFIX_MARKS_H
#define ANTIPHON_AFFINITY_PREFIX_MARKS_H

#include <stdint.h>

#include "base/arena.h"
#include "base/str.h"

/* Of more boundaries the first half of this number is kept, and the last half. */
enum { PREFIX_MARKS_MAX = 4096 };

struct prefix_mark {
    uint64_t hash;
    size_t bytes; /* of the prompt up to here, as it is written in the body */
};

struct prefix_marks {
    struct prefix_mark *marks; /* h0 first; bytes never fall. In the arena they were read into */
    size_t n;
    uint64_t front, rest; /* h0, and what came behind it: together all of the prompt */
};

/* Reads the marks of a complete body under a key that is the same for all bodies that are compared.
 * The body is not checked: of what is not valid JSON the marks are of some parts; what is no object
 * has none. False when out of memory; there are none then either. */
bool prefix_marks_read(str body, uint64_t key, struct arena *a, struct prefix_marks *ret);

/* The mark of a body that has one more message, as JSON, behind all that these marks are of; of a
 * prompt, that goes on with this escaped text. There must be marks. */
struct prefix_mark prefix_marks_behind(const struct prefix_marks *m, str message);

#endif
