/* docs.h -- texts made from the tables: help, and the pages that `make docs` writes. */
#ifndef ANTIPHON_GATEWAY_DOCS_H
#define ANTIPHON_GATEWAY_DOCS_H

#include "base/buf.h"

void docs_events(struct buf *out);    /* docs/events.md */
void docs_errors(struct buf *out);    /* docs/errors.md */
void docs_mcp(struct buf *out);       /* docs/mcp.md */
void docs_models(struct buf *out);    /* docs/models.md */
void docs_upstreams(struct buf *out); /* docs/upstreams.md */
void docs_man(struct buf *out);       /* docs/antiphon.1 */

/* Text of `antiphon help`. */
void docs_commands(struct buf *out);

/* The same of one command. */
void docs_command(const char *name, struct buf *out);

#endif
