/* api_key_names.h -- whose keys there are: each name once, for operators. */
#ifndef ANTIPHON_ACCESS_API_KEY_NAMES_H
#define ANTIPHON_ACCESS_API_KEY_NAMES_H

#include "access/api_key.h"

/* A key of a name, or its line of certificates. */
struct api_key_shown {
    str mark;          /* as in struct caller; STR_NONE: of certificates */
    int64_t expires_s; /* INT64_MAX: never */
    bool is_admin;
    const struct api_key_shown *next; /* of the same name */
};

struct api_key_name {
    struct caller caller; /* of its first key */
    struct api_key_shown *first, *last;
};

/* All names, in the order of their first keys, and the keys of each in their order. What is set lives in the
 * arena, its texts as long as those of the keys. Returns 0, or -1 when out of memory. Any thread. */
int api_key_names(const struct api_keys *keys, struct arena *memory, struct api_key_name **ret,
                  size_t *ret_n);

#endif
