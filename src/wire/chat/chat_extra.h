/* chat_extra.h -- fields of the Chat request that the Responses API does not have. */
#ifndef ANTIPHON_WIRE_CHAT_CHAT_EXTRA_H
#define ANTIPHON_WIRE_CHAT_CHAT_EXTRA_H

#include "json/json_write.h"
#include "wire/dialect/chat_options.h"
#include "wire/request/responses_request.h"

/* The value of a field of that name if it is written, or STR_NONE. */
str chat_extra_get(const struct responses_request *r, const struct chat_request_options *o,
                   str name);

/* Writes them as members of the open object, which they never give a name that
 * chat_request_write() gives it itself; continues: it says that the last message goes on. */
void chat_extra_write(const struct responses_request *r, const struct chat_request_options *o,
                      bool continues, struct jw *w);

/* The same for a request to /v1/completions (harmony_request.h). */
void chat_extra_write_for_prompt(const struct responses_request *r,
                                 const struct chat_request_options *o, struct jw *w);

#endif
