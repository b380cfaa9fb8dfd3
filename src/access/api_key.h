/* api_key.h -- whose request it is: the keys of the clients and their owners
 * (401, CONTRACT 7.2).
 *
 * What is stored belongs to an *owner*, a text that stays the same when the
 * gateway starts again: the name beside the key's hash in the file, or one made
 * of the key itself for keys that were given without a name. Several keys may
 * have one name, so that a client can change its key and keep its responses.
 *
 * Of a key only its SHA-256 is kept, and every request is compared with all of
 * them, so the time it takes tells nothing about them. */
#ifndef ANTIPHON_ACCESS_API_KEY_H
#define ANTIPHON_ACCESS_API_KEY_H

#include "access/allowance.h"
#include "base/err.h"
#include "config/config.h"

struct api_key;

/* Unchanging once loaded, so that all threads may read it. A zeroed one has no keys. */
struct api_keys {
    struct api_key *list;
    size_t n;
    struct arena memory;           /* of the owners, ... */
    struct arena *owners;          /* ... unless they are to outlive the keys: then this */
    const struct api_keys *former; /* while loading: whose owners' texts are used again; or NULL */
};

/* Who sent a request. The texts and the allowance live as long as the owners' memory: what has begun goes on
 * with what its name might when it began. */
struct caller {
    str owner; /* "" when no keys are asked for */
    str name;  /* the owner, when it is a name that may be logged; else STR_NONE */
    str mark;  /* of the key, for the log: the first 8 digits of its hash; STR_NONE without one */
    const struct allowance *allowance; /* what its name may; NULL: it has no settings */
};

/* Fills *keys, which has no keys yet, from api_key and api_keys_file. Returns 0, or -1 with the
 * reasons among the problems, which name the file and the line and show nothing of what is written
 * there. Reads the file. Finish *keys with api_keys_fini() either way. */
int api_keys_load(struct api_keys *keys, const struct config *c, struct config_problems *problems);
void api_keys_fini(struct api_keys *keys);

/* Adds one key, NUL-terminated, without a name; a part of api_keys_load(). -1 when out of memory.
 */
int api_keys_add(struct api_keys *keys, const char *key);

/* Adds the keys of a file's text, all that are right, and what their names may; another part of
 * api_keys_load(). Errors are added to the problems. */
void api_keys_parse(struct api_keys *keys, const char *path, str text,
                    struct config_problems *problems);

/* Finds the caller by the value of the request's Authorization header, or
 * STR_NONE. Without keys, everybody is the same one. Any thread. Returns 0, or -1
 * with *reterr filled: 401 (ERR_API_KEY_EXPIRED for one that was good until some time ago), 500. */
int api_keys_identify(const struct api_keys *keys, str authorization, struct caller *ret,
                      struct err *reterr);

/* Finds the caller of a client that may have shown a certificate: the owner that this names, or STR_NONE
 * (struct http_request), stands in place of a key, which is not looked at then. */
int api_keys_identify_client(const struct api_keys *keys, str certificate, str authorization,
                             struct caller *ret, struct err *reterr);

/* True for an owner that a certificate names: no key has one of these. */
bool api_key_is_of_certificate(str owner);

/* Finds a caller who may administer: 401 without a key that is known, 403 with one that has not `admin`.
 * Without keys nobody may. */
int api_keys_identify_admin(const struct api_keys *keys, str certificate, str authorization,
                            struct caller *ret, struct err *reterr);

/* What the keys, or the certificates, of an owner may; NULL: it has no settings, or no key. */
const struct allowance *api_keys_allowance(const struct api_keys *keys, str owner);

/* True when any key may administer. */
bool api_keys_have_admin(const struct api_keys *keys);

/* True for what can be a name in the file, or a key: visible ASCII characters; a name has at most
 * 64 and does not begin with "#" or "-". */
bool api_key_is_name(str name);
bool api_key_is_key(str key);

/* Appends the line of a key for the file, with settings (key_setting.h), which may be "". False when it cannot
 * be hashed for want of memory. */
bool api_key_line(str name, str key, str settings, struct buf *out);

#endif
