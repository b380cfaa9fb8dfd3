/* id.h -- ids of responses, items and calls (CONTRACT 8).
 *
 * Randomness is handed in, so the core makes no system call and tests are
 * repeatable. */
#ifndef ANTIPHON_BASE_ID_H
#define ANTIPHON_BASE_ID_H

#include <stddef.h>

#include "base/str.h"

/* Fills p with n random bytes; must not fail. */
struct id_source {
    void (*fill)(void *arg, void *p, size_t n);
    void *arg;
};

enum { ID_BYTES = 64, ID_RANDOM_CHARS = 32, ID_CALL_CHARS = 24 };

/* A whole id with its NUL: prefix and n_chars of [0-9A-Za-z], about 190 random
 * bits for 32 characters. The prefix takes at most 16 bytes, n_chars at most 32. */
struct id {
    char text[ID_BYTES + 1];
    unsigned char len;
};

struct id id_make(const struct id_source *source, const char *prefix, size_t n_chars);

static inline str id_str(const struct id *id)
{
    return str_from(id->text, id->len);
}

#endif
