/* dotenv.h -- the file .env, as programs read it that have a library for that: lines NAME=VALUE.
 *
 *     # a comment
 *     export NAME = value     # the comment begins behind white space
 *     NAME='as it \'stands\''
 *     NAME="line\nline"
 *     NAME=${OTHER:-default}/more
 *
 * A value in quotes may have several lines. ${OTHER} is replaced in all of them. */
#ifndef ANTIPHON_CONFIG_DOTENV_H
#define ANTIPHON_CONFIG_DOTENV_H

#include "base/buf.h"
#include "base/str.h"

struct dotenv {
    str rest;
    size_t line;     /* of what rest begins with, from 1 */
    size_t n_bad;    /* lines that say nothing */
    size_t bad_line; /* the first of them */
};

struct dotenv dotenv_of(str text);

/* What a variable is, or STR_NONE. */
typedef str dotenv_look(void *arg, str name);

/* Takes the next NAME=VALUE off. *ret_name is a view of the text; the value is appended. False at the
 * end. */
bool dotenv_next(struct dotenv *d, dotenv_look *look, void *arg, str *ret_name, struct buf *value);

#endif
