/* prose.h -- the help texts of the tables, for a terminal and for a man page.
 *
 * They are plain ASCII in which `...` marks what is typed or sent literally. */
#ifndef ANTIPHON_CONFIG_PROSE_H
#define ANTIPHON_CONFIG_PROSE_H

#include "base/buf.h"

/* Appends the words below each other: lines indented by 6 and, as long as no
 * single word is longer, of at most 80 columns. */
void prose_wrap(const char *text, struct buf *out);

/* Appends text for man(7): what is special to roff is escaped, `...` is bold.
 * May stand at the start of a line and holds no line end of its own. */
void prose_roff(str text, struct buf *out);

#endif
