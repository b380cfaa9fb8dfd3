/* response_internal.h -- what the files of the state machine share.
 *
 * response.c           start, text and reasoning
 * response_emit.c      their events, and the cuts of these
 * response_call.c      calls of the upstream, from their first delta to their end
 * response_call_item.c what they are, and the items they become
 * response_order.c     items one after the other
 * response_citation.c  sources of a text
 * response_marker.c    how a model cites them
 * response_withheld.c  text that is no answer yet
 * response_hosted.c    what the gateway does itself, between rounds
 * response_replay.c    what a round added, for the next one
 * response_rounds.c    all that rounds added, for clients that do not send it back
 * response_compaction.c  a summary in the place of what came before
 * response_end.c       the ends of rounds and of the response
 * replay.c             events once more, of their cuts; replay_journal.c what a store needs for that
 * legacy.c, legacy_object.c  the events of another dialect */
#ifndef ANTIPHON_RESPONSE_RESPONSE_INTERNAL_H
#define ANTIPHON_RESPONSE_RESPONSE_INTERNAL_H

#include "json/json_write.h"
#include "response/response.h"

/* Another dialect has its own events; see legacy.h. */
static inline bool response_is_legacy(const struct response *r)
{
    return r->conf.dialect != RESPONSE_DIALECT_OPENAI;
}

/* True when so many events have been that deltas are merged from now on. */
static inline bool response_merges_deltas(const struct response *r)
{
    return r->conf.max_events != 0 && r->next_sequence_number >= r->conf.max_events;
}

/* ---- response_emit.c */

/* An event without an object. When out is NULL nothing is written, by this and those that follow, but where
 * cuts are kept it is noted. Of an item that is hidden or waits there are no events. */
void response_emit(struct response *r, enum event_type type, const struct event *e,
                   struct buf *out);
void response_emit_item(struct response *r, enum event_type type, const struct output_item *item,
                        struct buf *out);
void response_emit_object(struct response *r, enum event_type type, struct buf *out);
void response_emit_error(struct response *r, struct buf *out);

/* The frames of the last two with the response as it stands; of a cancelled one as its end is told. */
void response_frame_object(const struct response *r, enum event_type type, uint64_t number,
                           struct buf *out);
void response_frame_error(const struct response *r, uint64_t number, struct buf *out);

/* What the last events of a cancelled one say. */
const struct err *response_cancelled_error(void);

/* An event about a hosted item that has nothing but its ids; none for EVENT_NONE. */
void response_emit_state(struct response *r, enum event_type type, const struct output_item *item,
                         struct buf *out);

/* output_item.added, and that the gateway has taken it up when it has. */
void response_announce_item(struct response *r, const struct output_item *item, struct buf *out);

/* Any event of a part: its added and done, its delta and text. *e holds the texts, of a delta what the part's
 * end with; the rest is filled in. */
void response_emit_part(struct response *r, enum event_type type, const struct output_item *item,
                        struct output_part *p, struct event *e, struct buf *out);

/* The events with which a part is closed. */
void response_emit_part_end(struct response *r, const struct output_item *item,
                            struct output_part *p, struct buf *out);

/* A call's delta, a piece of its item's text, or the event that repeats all of it. */
void response_emit_call_text(struct response *r, enum event_type type,
                             const struct output_item *item, str text, struct buf *out);

/* ---- response_object.c */

/* The status of that name; false when there is none. */
bool response_read_status(str word, enum response_status *ret);

/* {code,message,type,param}, for the error event and the response object. */
void response_write_error(const struct err *e, struct jw *w);

/* The member usage of the response object, and the items that stand in its output. */
void response_write_usage(const struct response *r, struct jw *w);
void response_write_items(const struct response *r, struct buf *out);

/* ---- response_end.c */

/* Tokens of a call of the upstream; n_reasoning: deltas of reasoning in it. */
void response_add_tokens(struct response *r, const struct usage *u, int64_t n_reasoning);

/* The response is complete as it stands. */
void response_complete(struct response *r, int64_t now_s);

/* ---- response.c */

/* From now on nothing more is taken; the first cause counts. */
void response_break(struct response *r, enum err_code why);

/* Counts bytes that are about to be kept; false past the limit. */
bool response_claim(struct response *r, size_t n);

/* A piece for the open hidden item of this kind, which is made if need be. */
bool response_hide_text(struct response *r, enum output_part_kind part, const struct delta *d);

/* A new item at the end of the output, once the open message or reasoning
 * item is closed; nothing is announced. NULL when out of memory. */
struct output_item *response_add_item(struct response *r, enum output_kind kind, struct buf *out);

/* A new item that nobody sees and that ends none that is seen; NULL like above. */
struct output_item *response_add_hidden(struct response *r, enum output_kind kind);

/* Opens an empty message. */
void response_add_empty_message(struct response *r, struct buf *out);

/* More text for the open part; false when it does not fit. */
bool response_put_text(struct response *r, const struct delta *d, struct buf *out);

/* Closes the open message or reasoning item, if any. */
void response_close_prose(struct response *r, enum output_status status, struct buf *out);

/* ---- response_withheld.c */

/* Text that is no answer yet: a hidden message has it. */
bool response_withhold_text(struct response *r, const struct delta *d, struct buf *out);

/* The round ended, and the answer is lacking: what was withheld may yet be shown. */
void response_keep_withheld(struct response *r);

/* Shows what was withheld in a message of its own, or forgets it. Without any, nothing happens. */
void response_show_withheld(struct response *r, struct buf *out);
void response_drop_withheld(struct response *r);

/* ---- response_order.c */

/* An item that is seen was added: its events are sent as they come, or wait. */
void response_queue_item(struct response *r, struct output_item *item);

/* Closes an item; those that waited for it follow. */
void response_close_item(struct response *r, struct output_item *item, enum output_status status,
                         struct buf *out);

/* ---- response_citation.c */

/* Keeps a citation for the open text; without one there is nothing to cite. */
bool response_keep_citation(struct response *r, const struct citation *c);

/* The text is all there: its citations become the part's annotations. */
void response_write_citations(struct response *r, struct output_part *p);

/* One event for each of the part's annotations. */
void response_emit_citations(struct response *r, const struct output_item *item,
                             const struct output_part *p, struct buf *out);

/* ---- response_marker.c: only when there are sources */

/* response_put_text(), with links in place of markers. */
bool response_put_cited(struct response *r, const struct delta *d, struct buf *out);

/* The open part is about to be closed: what was held back is text. */
void response_put_held(struct response *r, struct buf *out);

/* ---- response_call.c */

bool response_call_delta(struct response *r, const struct delta *d, struct buf *out);

/* Announces the calls that waited for arguments; another item is about to begin. */
void response_announce_calls(struct response *r, struct buf *out);

/* The call that was begun last has said all. */
void response_end_call(struct response *r, struct buf *out);

/* Closes the call announced last if its arguments are complete. */
void response_close_finished_call(struct response *r, struct buf *out);

/* The round ended: announces what can be announced, closes every call and
 * forgets them. Returns whether a call was dropped because it had no name. */
bool response_close_calls(struct response *r, enum output_status status, struct buf *out);

void response_calls_fini(struct response *r);

/* ---- response_call_item.c */

/* True when the name of what is called is known. */
bool response_call_has_name(const struct response_call *c);

/* The kind of item that the call becomes, or has become. */
enum output_kind response_call_kind(const struct response_call *c);

/* Takes over a name that has become longer, and an id that has become known. */
void response_call_learn(struct response *r, struct response_call *c, const struct delta *d);

/* Makes the item of a call whose name is known; it still has to be announced. */
bool response_call_make_item(struct response *r, struct response_call *c, struct buf *out);

/* ---- response_replay.c */

struct item;
struct input_options;

/* Has the item something to tell the model, in the next round or the next turn? */
bool response_is_for_model(const struct output_item *item);

/* Reads an item of the output as the input item that it would be in a later request, with the
 * name by which the model knows the tool. ret must be zeroed. Returns 0, or -1 with *reterr
 * filled. */
int response_read_item(const struct response *r, const struct output_item *item,
                       const struct input_options *o, struct arena *a, struct item *ret,
                       struct err *reterr);

/* ---- response_hosted.c */

/* A call of which all is known stays open until it has been run, unless it is hidden. */
void response_await_outcome(struct output_item *item);

/* The calls that are open are going to be run. */
void response_run_hosted(struct response *r, struct buf *out);

/* Closes hosted calls that will not be run any more. */
void response_cut_hosted(struct response *r, struct buf *out);

/* Closes the listings that were under way when the response failed. */
void response_fail_listings(struct response *r, const struct err *e, struct buf *out);

#endif
