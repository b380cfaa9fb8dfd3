/* chat_turn_spans.h -- what the spans of chat completions with tools say. */
#ifndef ANTIPHON_FRONT_CHAT_TURN_SPANS_H
#define ANTIPHON_FRONT_CHAT_TURN_SPANS_H

struct chat_turn;
struct err;

/* The model is asked once more; it has answered; the turn has ended, as its line in the log says. */
void chat_turn_spans_ask(struct chat_turn *t);
void chat_turn_spans_heard(struct chat_turn *t);
void chat_turn_spans_end(struct chat_turn *t, const char *outcome, const struct err *e);

#endif
