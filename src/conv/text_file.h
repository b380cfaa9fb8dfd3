/* text_file.h -- input files whose bytes are text (CONTRACT 2.2, input_file).
 *
 * Most Chat Completions servers know no files, but every model reads text. */
#ifndef ANTIPHON_CONV_TEXT_FILE_H
#define ANTIPHON_CONV_TEXT_FILE_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/err.h"
#include "conv/reject.h"

/* Does the media type of a data URL, or else the ending of the file name, say
 * that it is text? Both arguments are escaped and may be STR_NONE. */
bool text_file_is_text(str filename, str file_data);

/* Takes the base64 off file_data (escaped; a data URL or base64 alone). The
 * text is escaped, in the arena; bytes that are not UTF-8 become U+FFFD.
 * Returns 0, or -1 with *reterr naming at when it is not base64. */
int text_file_decode(str file_data, const struct path *at, struct arena *a, str *ret,
                     struct err *reterr);

#endif
