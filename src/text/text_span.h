/* text_span.h -- where a value ends that may not have come completely.
 *
 * A span goes on where it stopped, so each byte is looked at once however it is cut. It follows
 * brackets, strings and the order of members only as far as finding the end takes, and telling
 * early that something is no value; whoever has all of it reads it with a strict reader. */
#ifndef ANTIPHON_TEXT_TEXT_SPAN_H
#define ANTIPHON_TEXT_TEXT_SPAN_H

#include "text/text_scan.h"

enum { TEXT_SPAN_DEPTH = 512 };

/* Zeroed at the beginning of a value. */
struct text_span {
    unsigned depth;
    enum {
        SPAN_BEGIN,
        SPAN_VALUE,
        SPAN_VALUE_OR_END,
        SPAN_KEY,
        SPAN_KEY_OR_END,
        SPAN_COLON,
        SPAN_NEXT, /* a comma or the end */
        SPAN_WORD, /* within a number, true, false or null */
    } expected;
    char quote; /* of the string it is in, or 0 */
    bool is_escaped;
    /* The first member of all, or the first function; empty where a value stands before any;
     * name_end is 0 until it has come. */
    size_t name_at, name_end;
    unsigned char kinds[TEXT_SPAN_DEPTH / 8]; /* a bit each level: is it an object */
};

/* A JSON array or object that begins at text.p; *at is where the span has got, 0 at first.
 * TEXT_MATCHES: it ended there. TEXT_DIFFERS: the byte there cannot be. */
enum text_match text_span_json(struct text_span *s, str text, size_t *at);

/* text_span_json() for a Python list of calls: [f(a=1), g()]. */
enum text_match text_span_python(struct text_span *s, str text, size_t *at);

#endif
