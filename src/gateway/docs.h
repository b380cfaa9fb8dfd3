/* docs.h -- reference pages made from the tables, for `make docs`. */
#ifndef ANTIPHON_GATEWAY_DOCS_H
#define ANTIPHON_GATEWAY_DOCS_H

#include "base/buf.h"

void docs_events(struct buf *out); /* docs/events.md */
void docs_errors(struct buf *out); /* docs/errors.md */

#endif
