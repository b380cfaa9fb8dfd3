/* harmony_request.h -- a request as a prompt for /v1/completions, in the Harmony format
 * (HARMONY 2.2, 2.3). */
#ifndef ANTIPHON_WIRE_HARMONY_HARMONY_REQUEST_H
#define ANTIPHON_WIRE_HARMONY_HARMONY_REQUEST_H

#include "conv/conversation.h"
#include "wire/dialect/chat_options.h"
#include "wire/harmony/harmony_builtin.h"
#include "wire/request/responses_request.h"

struct harmony_options {
    str date;               /* plain, YYYY-MM-DD; empty: the prompt has none */
    bool bare_content_type; /* of calls: ` json`, else ` <|constrain|>json` */
    /* web_search and code_interpreter are the browser and python that the model was trained with;
     * else they are functions. */
    bool has_browser, has_python;
    int64_t max_tokens; /* for a request without a limit; 0: none either */
};

/* Those of them that the prompt of this round offers: who reads the answer has to know. */
struct harmony_builtins harmony_request_builtins(const struct responses_request *r,
                                                 enum chat_round round,
                                                 const struct harmony_options *options);

/* Can the request be said in a prompt at all? Returns 0, or -1 with *reterr filled: images and
 * files, tool_choice required, logprobs are a 400. round: which upstream call it is. */
int harmony_request_check(const struct responses_request *r, const struct conversation *c,
                          enum chat_round round, struct err *reterr);

/* Appends the prompt, plain text, of what passed the check. Reasoning of c that is not to be sent
 * has been left out. out fails when memory runs out or at its limit. */
void harmony_prompt_write(const struct responses_request *r, const struct conversation *c,
                          enum chat_round round, const struct harmony_options *options,
                          struct buf *out);

/* Appends the whole JSON body for /v1/completions, prompt included. Checks first. Returns 0, or -1
 * with *reterr filled. For a moment there are two copies of the prompt. */
int harmony_request_write(const struct responses_request *r, const struct conversation *c,
                          const struct chat_request_options *o,
                          const struct harmony_options *options, struct buf *out,
                          struct err *reterr);

/* tool_choice names one function: the prompt ends in the header of its call, and the answer
 * begins with its arguments. Its name as the model sees it, plain, or STR_NONE. */
str harmony_request_begun_call(const struct responses_request *r, enum chat_round round);

#endif
