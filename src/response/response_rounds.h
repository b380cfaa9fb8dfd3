/* response_rounds.h -- what the gateway ran in a response is remembered by the calls of the client
 * that it came before, and by its own ids (CONTRACT 2.5 rule 8; wire/request/call_rounds.h). */
#ifndef ANTIPHON_RESPONSE_RESPONSE_ROUNDS_H
#define ANTIPHON_RESPONSE_RESPONSE_ROUNDS_H

#include "response/response.h"
#include "wire/request/call_cache.h"
#include "wire/request/call_rounds.h"

/* Has the gateway run calls in a response that has ended well? In most it has not. */
bool response_has_rounds(const struct response *r);

/* Has the client something to answer? */
bool response_has_clients_call(const struct response *r);

/* Appends its text. */
void response_rounds_write(const struct response *r, struct buf *out);

struct response_rounds {
    str scope;
    str text;                    /* "": the gateway has run nothing */
    struct call_context context; /* of what it answers */
};

/* Puts it into the cache. A text that would take more than a quarter of it is not remembered: it
 * would push out what others need. Without a text only calls whose ids are known are marked: what
 * came before another call that says the same is not put back before them. */
void response_rounds_remember(const struct response *r, const struct response_rounds *rounds,
                              struct call_cache *cache);

#endif
