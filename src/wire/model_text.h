/* model_text.h -- plain text of a model, taken apart, becomes deltas.
 *
 * Some servers pass on what a model wrote as it is: Harmony, reasoning in tags, calls as text.
 * One of the parsers of text/, or none, reads it. Part of the reader of chunks (chat_chunk.h). */
#ifndef ANTIPHON_WIRE_MODEL_TEXT_H
#define ANTIPHON_WIRE_MODEL_TEXT_H

#include "text/harmony.h"
#include "text/text_calls.h"
#include "text/think.h"
#include "wire/tool_set.h"

enum model_harmony {
    MODEL_HARMONY_OFF,
    MODEL_HARMONY_AUTO, /* if the text opens with one of its markers */
    MODEL_HARMONY_ON,
};

enum model_think {
    MODEL_THINK_OFF,
    MODEL_THINK_ON,     /* if the text opens with a tag */
    MODEL_THINK_INSIDE, /* from the start: the template has opened it */
};

struct model_text_conf {
    enum model_harmony harmony;
    enum model_think think;
    enum text_call_format calls;
    const struct tool_set *tools; /* of the request; or NULL */
    str begun_call; /* Harmony: the prompt ends in the header of this call; or STR_NONE */
};

#endif
