/* text_scan.h -- searches in a text that has not come completely. */
#ifndef ANTIPHON_TEXT_TEXT_SCAN_H
#define ANTIPHON_TEXT_TEXT_SCAN_H

#include "base/str.h"

/* Ordered from the worst to the best. */
enum text_match { TEXT_DIFFERS, TEXT_MAY_MATCH, TEXT_MATCHES };

/* Tells whether s begins with mark, or may when more of it has come. */
enum text_match text_match(str s, str mark);

/* The better match of two marks, for a text that may begin with either. */
static inline enum text_match text_match_better(enum text_match a, enum text_match b)
{
    return a > b ? a : b;
}

/* The position of the first of these bytes, or s.len. The same byte may be given twice. */
size_t text_find_first(str s, const char bytes[3]);

/* A byte of the names of functions: letters, digits and _ - . : / */
bool text_is_name_char(char c);

/* s without trailing white space. */
str text_trim_end(str s);

/* The part of s before rest, which is its end. */
static inline str text_before(str s, str rest)
{
    return str_from(s.p, s.len - rest.len);
}

#endif
