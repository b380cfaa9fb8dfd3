/* event.h -- write one event of a stream (CONTRACT 4.1, 4.2). */
#ifndef ANTIPHON_RESPONSE_EVENT_H
#define ANTIPHON_RESPONSE_EVENT_H

#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"

enum event_type {
    EVENT_NONE,
#define EVENT(symbol, name, members) EVENT_##symbol,
#include "response/event.def"
#undef EVENT
    EVENT_COUNT,
};

/* Members in the order in which they are written. */
enum event_member {
    EV_ITEM_ID = 1 << 0,
    EV_OUTPUT_INDEX = 1 << 1,
    EV_CONTENT_INDEX = 1 << 2,
    EV_SUMMARY_INDEX = 1 << 3,
    EV_ITEM = 1 << 4,
    EV_PART = 1 << 5,
    EV_DELTA = 1 << 6,
    EV_NAME = 1 << 7,
    EV_TEXT = 1 << 8,
    EV_REFUSAL = 1 << 9,
    EV_ARGUMENTS = 1 << 10,
    EV_INPUT = 1 << 11,
    EV_LOGPROBS = 1 << 12,
    EV_ERROR = 1 << 13,
    EV_RESPONSE = 1 << 14,
    EV_ANNOTATION_INDEX = 1 << 15,
    EV_ANNOTATION = 1 << 16,
    EV_CODE = 1 << 17,
};

/* Values for the members an event has; the others are not read. */
struct event {
    str ids; /* what event_ids() has made of the next four; empty: not made */
    str item_id;
    uint64_t output_index, part_index, annotation_index;
    str text;       /* escaped: delta, text, refusal, arguments, input or code */
    str name;       /* escaped */
    str logprobs;   /* elements without brackets */
    str annotation; /* raw */
    bool obfuscate; /* pad a delta to a multiple of 16 bytes (CONTRACT 1.1) */
};

/* Appends the frame up to and including the members that struct event holds.
 * A member that is an object (item, part, response, error) comes last: the
 * caller appends its value and then calls event_end(). */
void event_begin(enum event_type type, uint64_t sequence_number, const struct event *e,
                 struct buf *out);
void event_end(struct buf *out);

/* Appends the members that tell what an event is about. They are the same for
 * all deltas of a part, so they need to be made only once. */
void event_ids(enum event_type type, const struct event *e, struct buf *out);

/* "response.created" ... and its members, for the documentation and tests. */
const char *event_name(enum event_type type);
unsigned event_members(enum event_type type);

#endif
