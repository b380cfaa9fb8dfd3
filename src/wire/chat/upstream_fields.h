/* upstream_fields.h -- what a request for /v1/chat/completions and one for /v1/completions have
 * in common (CONTRACT 1.3, 1.4).
 *
 * The writers add members to the open object. A field that the client did not send is not sent:
 * the server has its own defaults for sampling, and several reject what they do not know. */
#ifndef ANTIPHON_WIRE_CHAT_UPSTREAM_FIELDS_H
#define ANTIPHON_WIRE_CHAT_UPSTREAM_FIELDS_H

#include "json/json_write.h"
#include "wire/dialect/chat_options.h"
#include "wire/request/responses_request.h"

void upstream_write_model(const struct responses_request *r, const struct chat_request_options *o,
                          struct jw *w);
void upstream_write_stream(const struct chat_request_options *o, struct jw *w);
void upstream_write_sampling(const struct responses_request *r, struct jw *w);

/* What is left of max_output_tokens in this round, as far as there is room for it; 0: the request has
 * no limit. */
int64_t upstream_tokens_left(const struct responses_request *r,
                             const struct chat_request_options *o);

/* The choice that counts in this round. */
struct tool_choice upstream_tool_choice(const struct tool_choice *c, enum chat_round round);

#endif
