/* roff.h -- texts of the .def files in a man page; in them `...` marks what is literal. */
#ifndef ANTIPHON_TOOLS_ROFF_H
#define ANTIPHON_TOOLS_ROFF_H

#include "base/buf.h"

/* Appends text for man(7): what is special to roff is escaped, `...` is bold. The text may stand
 * at the start of a line and holds no line end of its own. */
void roff_text(str text, struct buf *out);
void roff_c(const char *text, struct buf *out);

#endif
