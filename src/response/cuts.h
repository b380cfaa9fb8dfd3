/* cuts.h -- where a response was cut into events (CONTRACT 4.8).
 *
 * The texts of a stream stand in the response's items; what its events were is told by their cuts alone:
 * of each its type, what it was about, and which piece of the text it had. A few bytes each, and one for
 * a delta that follows another of the same text:
 *
 *     0          such a delta, whose length follows
 *     1..191     such a delta, of so many bytes
 *     192 + n    an event of type n (event.def); a delta's place and length follow
 *     252        a text follows, which is noted with the next event
 *     253, 254   the part, or the item, of the next event follows
 *
 * Numbers that follow have seven bits a byte, the low ones first. Where no item is named, an event is
 * about that of the one before it, or about the next one when it announces one; likewise its part. The
 * lengths of logprobs follow those of texts where a part has them.
 *
 * Cuts are stored. What is read is checked as far as it can be without the items: types, numbers that end
 * and fit. Pure. */
#ifndef ANTIPHON_RESPONSE_CUTS_H
#define ANTIPHON_RESPONSE_CUTS_H

#include <stdint.h>

#include "base/buf.h"
#include "response/event.h"

/* One event. */
struct event_cut {
    enum event_type type;
    unsigned item,
        part;         /* output_index; content_index or summary_index. Of events that have them */
    size_t from, len; /* of a delta: its place in the text of the part or call */
    size_t logprobs_from,
        logprobs_len;    /* of a delta: in the part's logprobs, without commas around */
    unsigned annotation; /* annotation_index */
    str note; /* of created: the service tier; of an item's announcement: the text that it had then, if
                 it may have another later. STR_NONE: none. A view into the cuts */
};

/* What the next cut refers to. Zeroed at the beginning. */
struct cuts_place {
    enum event_type delta; /* the type of the last delta; EVENT_NONE: there was none */
    unsigned delta_item, delta_part;
    size_t from, logprobs_from; /* where it ended */
    bool has_logprobs;
    unsigned item, part;             /* of the last event */
    unsigned n_items;                /* that were announced */
    unsigned n_parts, n_annotations; /* of the item and the part of the last event */
};

/* Cuts being made. Zeroed at the beginning. */
struct cuts {
    struct buf bytes; /* failed: out of memory, then they are of no use */
    uint64_t n;       /* events */
    struct cuts_place place;
};

void cuts_fini(struct cuts *c);

/* Appends an event; cut->annotation is counted, not read. */
void cuts_note(struct cuts *c, const struct event_cut *cut);

/* Appends cuts that were made behind the same ones, of a row of the store, or all of them, packed. False,
 * with c as it was, when they are damaged, or when memory ran out (buf_failed). */
bool cuts_append(struct cuts *c, str bytes);

/* Cuts being read. Zeroed at the beginning; it keeps no view, so that what is read may grow and move. */
struct cuts_reader {
    size_t at;  /* so many bytes have been read */
    uint64_t n; /* so many events */
    struct cuts_place place;
};

/* The next event; false at the end, when at == bytes.len, or before what is damaged. */
bool cuts_next(struct cuts_reader *r, str bytes, struct event_cut *ret);

/* Appends whole cuts in the form in which they are stored for good (cuts_pack.c). out has failed when they
 * are damaged. cuts_append() takes them back to the same bytes: what is read in the middle of them is found
 * again. */
void cuts_pack(str bytes, struct buf *out);

/* For cuts_append(): is it that form, and what was packed. False when it is damaged. */
bool cuts_are_packed(str bytes);
bool cuts_unpack(str packed, struct buf *out);

#endif
