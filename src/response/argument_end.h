/* argument_end.h -- are the arguments of a call, which stream, a complete JSON object?
 *
 * A call can be closed then while its round goes on. Every byte is looked at once, but for those
 * of arguments whose brackets are closed: these are checked as a whole, once. */
#ifndef ANTIPHON_RESPONSE_ARGUMENT_END_H
#define ANTIPHON_RESPONSE_ARGUMENT_END_H

#include "base/str.h"

/* Zeroed at first. */
struct argument_end {
    enum {
        ARGUMENT_END_BEFORE, /* nothing yet, or white space */
        ARGUMENT_END_INSIDE,
        ARGUMENT_END_REACHED,
        ARGUMENT_END_NEVER, /* whatever follows, it is no object */
    } state;
    size_t n_seen; /* bytes of the arguments */
    size_t depth;  /* of brackets */
    bool in_string, after_backslash;
};

/* escaped: all arguments so far, escaped; they begin with those of the call before. Without memory
 * the answer is false, and stays so where complete arguments could not be checked. */
bool argument_end_is_reached(struct argument_end *e, str escaped);

#endif
