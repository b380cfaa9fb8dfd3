/* json_relax.h -- JSON as people write it by hand, made strict.
 *
 * For configuration files: comments, commas before a closing bracket and a
 * byte order mark are allowed there, and a reader like jr is told of none. */
#ifndef ANTIPHON_JSON_JSON_RELAX_H
#define ANTIPHON_JSON_JSON_RELAX_H

#include "base/str.h"

/* Overwrites with spaces, outside of strings: // and block comments, a comma
 * that only white space and comments separate from the closing bracket, and a
 * byte order mark at the start. Nothing moves and line ends stay, so places in
 * messages are right. What is wrong otherwise is left for the reader to find. */
void json_relax(char *p, size_t len);

/* Line and column of a byte of the text, both from 1; a column is a character. */
void json_relax_place(str text, size_t offset, size_t *ret_line, size_t *ret_column);

#endif
