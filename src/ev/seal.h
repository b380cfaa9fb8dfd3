/* seal.h -- texts that others may keep, and neither read nor change: authenticated encryption
 * (CONTRACT 4.4).
 *
 *     gw1.  base64url( key id 6 | salt 16 | AES-256-GCM of the text | tag 16 )
 *
 * A text is sealed for an owner, and does not open for any other. Who holds several keys seals
 * with the first and opens with all, so that a new one can be put in front of the old.
 *
 * From a secret HKDF-SHA256 makes a key and its id; from the key and the random salt another
 * key with its nonce, for this one text. So no nonce is ever used twice with a key, however
 * many texts are sealed by however many gateways. */
#ifndef ANTIPHON_EV_SEAL_H
#define ANTIPHON_EV_SEAL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"

/* Longest text that is sealed, or opened. */
enum { SEAL_MAX_TEXT_BYTES = 1 << 30 };

/* Unchanging once made, so that all threads may use it. */
struct seal_keys;

/* Keys of n secrets, NUL-terminated, of any length; of none: a random key that nobody else has.
 * What is sealed for one purpose cannot be opened for another. No argument is kept. NULL with
 * *reterr filled. */
struct seal_keys *seal_keys_new(const char *const *secrets, size_t n, const char *purpose,
                                struct err *reterr);

/* Wipes and frees the keys. NULL is fine. */
void seal_keys_free(struct seal_keys *keys);

/* Appends the text sealed for this owner: letters, digits, "-", "_" and ".". False when it is
 * too long or memory is out; then nothing is appended. */
bool seal_close(const struct seal_keys *keys, str text, str owner, struct buf *out);

/* Opens a sealed text into the arena. False, without a word about the reason, for whatever
 * seal_close() has not made for this owner with one of these keys, and when memory is out. */
bool seal_open(const struct seal_keys *keys, str sealed, str owner, struct arena *a, str *ret);

#endif
