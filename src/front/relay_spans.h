/* relay_spans.h -- what the spans of relays say. */
#ifndef ANTIPHON_FRONT_RELAY_SPANS_H
#define ANTIPHON_FRONT_RELAY_SPANS_H

#include "base/str.h"

struct err;
struct relay;

/* The upstream is asked, in these bytes; the relay has ended, as its line in the log says. */
void relay_spans_ask(struct relay *relay, str body);
void relay_spans_end(struct relay *relay, const char *outcome, const struct err *e);

#endif
