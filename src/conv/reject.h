/* reject.h -- say which part of a request is wrong, in the words clients know.
 *
 * A path is a chain of small structs on the stack of the parsers, so naming a
 * place costs nothing until something is wrong there. The patterns of the
 * messages are those of CONTRACT 7.2. Every reject_* fills *reterr and returns
 * -1, so that a check reads `return reject_missing(&at, reterr);`. */
#ifndef ANTIPHON_CONV_REJECT_H
#define ANTIPHON_CONV_REJECT_H

#include <stddef.h>

#include "base/err.h"
#include "base/str.h"

/* One step: a member, or an array index when member is STR_NONE. NULL stands
 * for the request body itself. */
struct path {
    const struct path *parent;
    str member;
    size_t index;
};

static inline struct path path_member(const struct path *parent, str member)
{
    return (struct path){.parent = parent, .member = member};
}

static inline struct path path_index(const struct path *parent, size_t index)
{
    return (struct path){.parent = parent, .index = index};
}

/* "input[2].content[0].type", cut when it is too long; "" for the body. */
struct path_name {
    char text[96];
};
struct path_name path_name(const struct path *at);

/* Plain text of a client's escaped string, cut for use in a message. */
struct shown {
    char text[128];
};
struct shown shown(str escaped);

int reject_type(const struct path *at, const char *expected, const char *got, struct err *reterr);
int reject_missing(const struct path *at, struct err *reterr);
int reject_unsupported(const struct path *at, struct err *reterr);
int reject_empty(const struct path *at, struct err *reterr);

/* value is escaped text; the supported values are listed in the message. */
int reject_value(const struct path *at, str value, const str *supported, size_t n_supported,
                 struct err *reterr);

/* 0 when value is not given or one of the supported ones. */
int check_value(const struct path *at, str value, const str *supported, size_t n_supported,
                struct err *reterr);

#endif
