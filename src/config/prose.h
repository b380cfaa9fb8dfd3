/* prose.h -- the help texts of the tables, for a terminal.
 *
 * They are plain ASCII in which `...` marks what is typed or sent literally. */
#ifndef ANTIPHON_CONFIG_PROSE_H
#define ANTIPHON_CONFIG_PROSE_H

#include "base/buf.h"

/* Appends the words below each other: lines indented by 6 and, as long as no
 * single word is longer, of at most 80 columns. */
void prose_wrap(const char *text, struct buf *out);

#endif
