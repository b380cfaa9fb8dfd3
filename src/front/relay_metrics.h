/* relay_metrics.h -- what is counted of relays besides their calls: the model, and the tokens of the answer.
 *
 * Nobody reads the answer of a relay. Its first and last bytes are kept, and looked through when it is
 * complete: servers tell the tokens at the end, before [DONE], or in front of a long list. */
#ifndef ANTIPHON_FRONT_RELAY_METRICS_H
#define ANTIPHON_FRONT_RELAY_METRICS_H

#include "base/str.h"

struct relay;

/* The upstream is about to be asked, in these bytes. */
void relay_metrics_ask(struct relay *relay, str body);

/* Bytes of the answer. */
void relay_metrics_heard(struct relay *relay, str bytes);

/* The answer was complete. */
void relay_metrics_end(struct relay *relay);

#endif
