/* legacy.h -- the events of open-responses-server, for clients that were written for it
 * (CONTRACT 4.9).
 *
 * The state machine is the same; where it would send an event, these functions send what that
 * dialect says instead, which is often nothing: there are no sequence numbers, no items and no
 * parts, text and arguments grow by themselves, calls are numbered on their own, and every end
 * is response.completed. out is never NULL.
 *
 * What a tool of the gateway returned is shown as a JSON array of its texts: an output that is
 * none becomes the only element of one. */
#ifndef ANTIPHON_RESPONSE_LEGACY_H
#define ANTIPHON_RESPONSE_LEGACY_H

#include "response/response.h"

/* An event of a part; text is what it carries. */
void legacy_emit_part(const struct output_item *item, const struct output_part *part,
                      enum event_type type, str text, struct buf *out);

/* The text of a call grew, or all of it is known. */
void legacy_emit_call(const struct response *r, const struct output_item *item,
                      enum event_type type, str text, struct buf *out);

/* An item was added or is done. */
void legacy_emit_item(const struct response *r, const struct output_item *item,
                      enum event_type type, struct buf *out);

/* created, in_progress or an end. */
void legacy_emit_object(const struct response *r, enum event_type type, struct buf *out);

/* ---- between the files of this dialect */

/* True when the item is a call that this dialect shows. */
bool legacy_shows(const struct output_item *item);

/* By what a client knows a call. */
str legacy_call_id(const struct output_item *item);

/* What a tool of the gateway returned, as JSON; false when there is nothing yet. */
bool legacy_write_output(const struct output_item *item, struct buf *out);

/* The response object as it stands. */
void legacy_write_object(const struct response *r, struct buf *out);

#endif
