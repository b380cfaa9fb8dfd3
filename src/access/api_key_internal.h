/* api_key_internal.h -- what the files of the keys share.
 *
 * api_key.c        keys in memory, and which of them a request brings
 * api_key_file.c   the file of keys, and what else of the configuration has to do with them
 * api_key_names.c  all of them, by whose they are */
#ifndef ANTIPHON_ACCESS_API_KEY_INTERNAL_H
#define ANTIPHON_ACCESS_API_KEY_INTERNAL_H

#include "access/api_key.h"
#include "ev/sha256.h"

struct api_key {
    unsigned char hash[SHA256_BYTES];
    struct caller caller;
    size_t line;       /* of the file; 0: given as api_key */
    int64_t expires_s; /* Unix time from which on it is not good any more; INT64_MAX: never */
    bool is_admin;
    bool is_certificate; /* it has no hash: the certificates of the owner are the key */
};

/* Where texts are that live as long as the owners. */
struct arena *api_keys_memory(struct api_keys *keys);

/* A copy in there, unless the former keys have one. STR_NONE when out of memory. */
str api_keys_keep_owner(struct api_keys *keys, str owner);
str api_keys_keep_mark(struct api_keys *keys, const unsigned char hash[SHA256_BYTES]);

bool api_key_read_hash(str hex, unsigned char hash[SHA256_BYTES]);

/* False when out of memory. */
bool api_keys_push(struct api_keys *keys, const struct api_key *k);

/* NULL when there is none with this hash. */
const struct api_key *api_keys_find(const struct api_keys *keys,
                                    const unsigned char hash[SHA256_BYTES]);

#endif
