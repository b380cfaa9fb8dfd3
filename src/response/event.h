/* event.h -- write one event of a stream (CONTRACT 4.1, 4.2). */
#ifndef ANTIPHON_RESPONSE_EVENT_H
#define ANTIPHON_RESPONSE_EVENT_H

#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"

enum event_type {
    EVENT_NONE,
#define EVENT(symbol, name, number, members) EVENT_##symbol,
#include "response/event.def"
    EVENT_COUNT,
};

enum event_member_bit {
#define EVENT_MEMBER(symbol, name) EV_BIT_##symbol,
#include "response/event.def"
    EV_BITS,
};

enum event_member {
#define EVENT_MEMBER(symbol, name) EV_##symbol = 1 << EV_BIT_##symbol,
#include "response/event.def"
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

/* The number of a type in cuts, and the other way round; EVENT_NONE: there is no such event. */
unsigned event_number(enum event_type type);
enum event_type event_of_number(unsigned number);

#endif
