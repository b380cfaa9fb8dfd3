/* replay.h -- the events of a response once more, from its cuts (CONTRACT 4.8).
 *
 * A replay walks along the cuts and takes from the response what each event had. The response may be under
 * way and grow between two calls, or be one that was read from the store (response_read.h); one may take
 * the place of the other between two calls, since a replay keeps no pointers. What it makes are the bytes
 * that were sent first.
 *
 * Cuts of a store are input: what is damaged, or does not fit the response, ends the replay with -1, and
 * nothing worse; nothing of an event that is wrong is written. Pure; whoever has the response. */
#ifndef ANTIPHON_RESPONSE_REPLAY_H
#define ANTIPHON_RESPONSE_REPLAY_H

#include "response/cuts.h"
#include "response/response.h"

struct replay {
    struct cuts_reader reader;
    uint64_t next;  /* the number of the next event */
    bool has_ended; /* the terminal event has been: `data: [DONE]` follows, which is the caller's */
};

void replay_init(struct replay *p);

/* Appends the frames of the next events, as far as there are cuts and their numbers are less than limit,
 * until out has max bytes or more: one event at least, so whoever asks again with an empty out comes to
 * the end. Those with numbers up to after (-1: none) are passed over. cuts: all from the first one on.
 * obfuscate: deltas are padded. Returns 0, also when out has failed, or -1. */
int replay_events(struct replay *p, const struct response *r, str cuts, uint64_t limit,
                  int64_t after, bool obfuscate, size_t max, struct buf *out);

/* What a store is given of a response under way, to be able to make it again with
 * response_restore_row() (response_restore.h). Rows follow each other without a gap. */
struct journal_row {
    uint64_t first, n; /* events: the number of the first one, and how many */
    str cuts;          /* theirs: a view into all */
    struct buf done;   /* the items that were done with these events: JSON, a line each */
    struct buf pieces; /* what events brought to items that were not done with them, in their order:
                             output_item.added   the item as it was announced: JSON, a line
                             a part's added      the part as it was then: JSON, a line
                             a delta             its text, then its logprobs, as long as the cut says
                             an annotation       JSON, a line */
};

/* Fills a row of the events behind the last row, which may be none: n is 0 then. Between two calls of the
 * response machine only, when no event is half made. Returns 0, also when a buf of the row has failed, or
 * -1 when cuts and response do not fit together. Either way the row is given to journal_row_fini(). */
int replay_journal(struct replay *p, const struct response *r, str cuts, struct journal_row *ret);
void journal_row_fini(struct journal_row *row);

#endif
