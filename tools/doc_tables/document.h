/* document.h -- a page of Markdown or roff, and the tables in it.
 *
 * A table stands between two comments that name it, and everything else is the writer's:
 *
 *     <!-- table endpoints -->              .\" table synopsis
 *     ...                                   ...
 *     <!-- end of table endpoints -->       .\" end of table synopsis
 */
#ifndef ANTIPHON_TOOLS_DOCUMENT_H
#define ANTIPHON_TOOLS_DOCUMENT_H

#include "base/buf.h"
#include "base/err.h"

/* Appends the text with its tables made anew. Returns 0, or -1 with *reterr filled: a table that
 * nobody makes, or one without an end. */
int document_fill(str text, struct buf *out, struct err *reterr);

#endif
