/* owner_seal.h -- encrypted_content of the client whose turn it is (CONTRACT 4.4, 13.7).
 *
 * The seal belongs to the owner of the client's API key, like what is stored: nobody else's request
 * opens it. Without API keys all clients are the same owner. Reasoning and compaction have keys of their
 * own, so that neither opens as the other, and so have requests that wait in the store (4.8). */
#ifndef ANTIPHON_TURN_OWNER_SEAL_H
#define ANTIPHON_TURN_OWNER_SEAL_H

#include "config/config.h"
#include "conv/text_seal.h"
#include "ev/seal.h"

/* The keys of these secrets; of none: one that is forgotten with the process. For all workers. NULL with
 * *reterr filled. */
struct seal_keys *owner_seal_reasoning_keys(const struct config_list *secrets, struct err *reterr);
struct seal_keys *owner_seal_compaction_keys(const struct config_list *secrets, struct err *reterr);
struct seal_keys *owner_seal_request_keys(const struct config_list *secrets, struct err *reterr);

/* A client gets encrypted_content. The first time in a process, in whatever thread, the log
 * says so if its key is going to be forgotten. */
void owner_seal_tell(bool is_forgotten);

/* What one turn seals and opens with. It stays where it is, and keys and owner outlive it. */
struct owner_seal {
    struct text_seal text; /* for the core */
    const struct seal_keys *keys;
    str owner;
};

void owner_seal_init(struct owner_seal *s, const struct seal_keys *keys, str owner);

#endif
