/* vendor_fields.h -- request fields of Chat Completions servers that pass through.
 *
 * They are no part of the Responses API; clients that know their server send
 * them anyway, and they reach it unchanged (CONTRACT 1.1, last row). */
#ifndef ANTIPHON_WIRE_VENDOR_FIELDS_H
#define ANTIPHON_WIRE_VENDOR_FIELDS_H

#include "base/str.h"

#define VENDOR_FIELDS(X)                                                                           \
    X(stop)                                                                                        \
    X(seed)                                                                                        \
    X(logit_bias)                                                                                  \
    X(n) /* only 1, see chat_request.c */                                                          \
    X(top_k)                                                                                       \
    X(min_p)                                                                                       \
    X(repetition_penalty)                                                                          \
    X(chat_template_kwargs)                                                                        \
    X(structured_outputs)                                                                          \
    X(guided_json)                                                                                 \
    X(guided_regex)                                                                                \
    X(guided_choice)                                                                               \
    X(guided_grammar)                                                                              \
    X(guided_decoding_backend)                                                                     \
    X(guided_whitespace_pattern)

/* Raw values, STR_NONE when not given. */
struct vendor_fields {
#define DECLARE(name) str name;
    VENDOR_FIELDS(DECLARE)
#undef DECLARE
};

#endif
