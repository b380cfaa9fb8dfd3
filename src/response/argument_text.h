/* argument_text.h -- unpack one text out of the arguments of a call while they stream.
 *
 * Upstreams know some tools as functions with one string parameter: custom tools take
 * {"input":"..."}, the code interpreter {"code":"..."}. The client gets what stands between the
 * inner quotes. */
#ifndef ANTIPHON_RESPONSE_ARGUMENT_TEXT_H
#define ANTIPHON_RESPONSE_ARGUMENT_TEXT_H

#include "base/buf.h"
#include "json/json_text.h"

/* Zeroed, but for the member's name. */
struct argument_text {
    const char *member;
    enum {
        ARGUMENT_OBJECT, /* before its brace */
        ARGUMENT_FIRST,  /* before the first member, or the end */
        ARGUMENT_NEXT,   /* behind a comma */
        ARGUMENT_NAME,
        ARGUMENT_COLON,
        ARGUMENT_VALUE,
        ARGUMENT_SKIP, /* in the value of another member */
        ARGUMENT_TEXT,
        ARGUMENT_DONE,
        ARGUMENT_OTHER, /* not of this form */
    } state;
    size_t matched;       /* NAME: characters of the member's name; SIZE_MAX: it is another */
    unsigned depth;       /* SKIP: of brackets */
    bool in_string;       /* SKIP */
    bool after_backslash; /* NAME, SKIP: the next byte means nothing */
    struct buf unit;      /* TEXT: an escape that is not complete yet */
    struct json_splice splice;
};

void argument_text_fini(struct argument_text *a);

/* Plain arguments in, the text out, escaped. What follows the text is not looked at. */
void argument_text_feed(struct argument_text *a, str plain, struct buf *out);

/* Has the text begun? It is there and empty when the object has no members at all. */
bool argument_text_has_begun(const struct argument_text *a);

/* Are the arguments no object, or an object without the text? Then all of them are the best text
 * there is. */
bool argument_text_is_other(const struct argument_text *a);

#endif
