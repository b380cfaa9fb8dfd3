/* request_fields.h -- the fields of the request while they are read and checked.
 *
 * Two steps of responses_request_parse() share it: responses_request.c reads
 * and ties things together, request_check.c holds the limits and enums. */
#ifndef ANTIPHON_WIRE_REQUEST_FIELDS_H
#define ANTIPHON_WIRE_REQUEST_FIELDS_H

#include "wire/responses_request.h"

struct request_fields {
    struct responses_request r;
    /* raw values of which r keeps only the meaning */
    str stream, store, background, stream_options, include_obfuscation, conversation;
    str max_output_tokens, max_tool_calls, top_logprobs;
    str tool_choice, text, format, reasoning, generate_summary, include, prompt;
    str without_effect;
};

/* Types inside of `include` and `metadata`. */
int request_check_types(const struct request_fields *in, struct err *reterr);

/* Enums and limits; notes in in->r what `include` asks for and the integers. */
int request_check_values(struct request_fields *in, struct err *reterr);

#endif
