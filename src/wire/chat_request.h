/* chat_request.h -- the request as a Chat Completions server takes it (CONTRACT 1, 2). */
#ifndef ANTIPHON_WIRE_CHAT_REQUEST_H
#define ANTIPHON_WIRE_CHAT_REQUEST_H

#include <stdbool.h>

#include "conv/conversation.h"
#include "wire/responses_request.h"

/* What may differ from upstream to upstream. Zeroed: the defaults. */
struct chat_request_options {
    str model;                  /* plain text; STR_NONE: the requested one */
    bool max_completion_tokens; /* name of the token limit, else max_tokens */
    bool is_openai;             /* also knows verbosity, service_tier, safety_identifier ... */
};

/* Appends the whole JSON body. The tool messages, calls and texts are views of
 * *r until they are in out; the arena gets what assembly needs. */
int chat_request_build(const struct responses_request *r, const struct chat_request_options *o,
                       const struct id_source *ids, struct arena *arena, struct buf *out,
                       struct err *reterr);

/* The same for a conversation that has been assembled already. */
int chat_request_write(const struct responses_request *r, const struct conversation *c,
                       const struct chat_request_options *o, struct buf *out, struct err *reterr);

#endif
