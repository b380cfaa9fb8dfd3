/* token_answer.h -- what a server says when it is asked how many tokens a request is (CONTRACT 14). */
#ifndef ANTIPHON_WIRE_CHUNK_TOKEN_ANSWER_H
#define ANTIPHON_WIRE_CHUNK_TOKEN_ANSWER_H

#include "wire/dialect/token_way.h"

/* One of the first two is there. */
struct token_answer {
    int64_t tokens; /* 0: not yet */
    str prompt;     /* raw: what is to be counted next; else STR_NONE */
    int64_t window; /* the most that a request may have; 0: not told */
};

/* Reads the body of a good answer. wants_prompt: it was the first step of the way. Views of the body.
 * False when it is none, from somebody who knows the path as something else. */
bool token_answer_read(enum token_way way, bool wants_prompt, str body, struct token_answer *ret);

#endif
