/* demo_model.h -- what the built-in demo model says. Pure and deterministic:
 * the same request always gets the same answer. */
#ifndef ANTIPHON_DEMO_DEMO_MODEL_H
#define ANTIPHON_DEMO_DEMO_MODEL_H

#include "base/arena.h"
#include "base/err.h"
#include <stdint.h>

/* All text is plain, STR_NONE or empty where there is none. */
struct demo_answer {
    str model;
    str reasoning, text;
    str tool, arguments;               /* arguments: JSON */
    int64_t prompt_tokens, max_tokens; /* max_tokens 0: no limit */
    bool stream, include_usage;
};

/* Reads a Chat Completions request and decides on the answer:
 *
 *   a tool's result              quotes it
 *   tool_choice forces a tool, or the last user message names a declared one:
 *                                calls it, with the JSON that follows "with "
 *                                or with arguments made from its schema
 *   response_format json_schema  an example of the schema
 *   "think" in the message       reasoning first
 *   anything else                a greeting that repeats the message
 *
 * Returns 0, or -1 with *reterr filled when the body is no such request. */
int demo_model_answer(str body, struct arena *a, struct demo_answer *ret, struct err *reterr);

#endif
