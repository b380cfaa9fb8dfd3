/* custom_input.h -- unpack the input of a custom tool call while it streams.
 *
 * Upstreams know custom tools as functions with one string parameter, so the
 * arguments read {"input":"..."}; the client gets what stands between the
 * inner quotes. */
#ifndef ANTIPHON_RESPONSE_CUSTOM_INPUT_H
#define ANTIPHON_RESPONSE_CUSTOM_INPUT_H

#include "base/buf.h"
#include "json/json_text.h"

struct custom_input {
    enum { INPUT_HEAD, INPUT_TEXT, INPUT_DONE, INPUT_OTHER } state;
    size_t matched;  /* HEAD: tokens seen of {"input":" */
    struct buf unit; /* TEXT: an escape that is not complete yet */
    struct json_splice splice;
};

void custom_input_fini(struct custom_input *c);

/* Plain argument text in, escaped input text out. */
void custom_input_feed(struct custom_input *c, str plain, struct buf *out);

/* Did the arguments have the expected form, as far as they went? When not, the
 * whole argument text is the best input there is. */
bool custom_input_is_unpacked(const struct custom_input *c);

#endif
