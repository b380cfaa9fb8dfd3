/* secrets.h -- what must not be seen in a text that leaves us (MCP 16.6).
 *
 * Servers like to repeat in an error what they were sent. A set of secrets
 * knows the tokens, header values and session ids of a call, and takes them out
 * of whatever is logged, stored or told about it.
 *
 *     secrets_add(&s, token);
 *     secrets_add_header(&s, value);
 *     secrets_hide(&s, message, &out);
 *     secrets_fini(&s);
 *
 * A zeroed struct is an empty set. One thread at a time. */
#ifndef ANTIPHON_BASE_SECRETS_H
#define ANTIPHON_BASE_SECRETS_H

#include "base/buf.h"
#include "base/str.h"

/* Shorter ones are not kept: they would tear up every text, and hide little. */
enum { SECRET_MIN_BYTES = 4 };

struct secret;

struct secrets {
    struct secret *first;
    bool failed; /* out of memory: from then on every text is hidden as a whole */
};

/* Keeps a copy, of each secret once. */
void secrets_add(struct secrets *s, str secret);

/* secrets_add() for the value of a header, whose credential may be repeated without the word before
 * it ("Bearer ..."). */
void secrets_add_header(struct secrets *s, str value);

/* Appends text with "[redacted]" in place of every secret, also of one that stands there
 * as a JSON string holds it ("a\/b", "\u00e9"). Where they overlap nothing is left of
 * either, so this hides at least what replacing the longest first would. What is left of a
 * text when it has taken too long to search is hidden as a whole. */
void secrets_hide(const struct secrets *s, str text, struct buf *out);

/* Wipes and frees the copies. */
void secrets_fini(struct secrets *s);

/* Overwrites a secret. The bytes are the caller's, in memory that may be written. */
void secret_wipe(str secret);

/* Wipes and finishes a buf that has held a secret. */
void secret_buf_fini(struct buf *b);

#endif
