/* reasoning_seal.h -- makes and reads the encrypted_content of reasoning items (CONTRACT 4.4, 2.4).
 *
 * It belongs to the owner of the client's API key, like what is stored: nobody else's request
 * opens it. Without API keys all clients are the same owner. */
#ifndef ANTIPHON_TURN_REASONING_SEAL_H
#define ANTIPHON_TURN_REASONING_SEAL_H

#include "config/config.h"
#include "conv/text_seal.h"
#include "ev/seal.h"

/* The keys of encryption_keys, or else one that is forgotten with the process. For all workers.
 * NULL with *reterr filled. */
struct seal_keys *reasoning_seal_keys(const struct config *c, struct err *reterr);

/* A client asks for encrypted_content. The first time in a process, in whatever thread, the log
 * says so if its key is going to be forgotten. */
void reasoning_seal_tell(const struct config *c);

/* What one turn seals and opens with. It stays where it is, and keys and owner outlive it. */
struct reasoning_seal {
    struct text_seal text; /* for the core */
    const struct seal_keys *keys;
    str owner;
};

void reasoning_seal_init(struct reasoning_seal *s, const struct seal_keys *keys, str owner);

#endif
