/* turn_spans.h -- what the spans of a turn say (OPERATIONS 2.3); flight/flight_spans.h has where they begin
 * and end. Each does nothing for a turn that is not traced. */
#ifndef ANTIPHON_TURN_TURN_SPANS_H
#define ANTIPHON_TURN_TURN_SPANS_H

#include <stdbool.h>

struct chat_stream;
struct err;
struct turn;
struct turn_question;

/* The model is asked: the next round, or for a summary. */
void turn_spans_ask(struct turn *t);
void turn_spans_ask_summary(struct turn *t, const struct turn_question *q);

/* The model has said all, of which this has come; nothing more is asked in this round. */
void turn_spans_heard(struct turn *t);
void turn_spans_heard_summary(struct turn *t, const struct chat_stream *said,
                              const struct err *failure);

/* The turn has ended: e says why badly, or is NULL; or its client has left. */
void turn_spans_end(struct turn *t, const struct err *e, bool is_gone);

#endif
