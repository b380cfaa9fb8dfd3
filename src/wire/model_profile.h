/* model_profile.h -- what is known about families of models, and what an operator says about
 * single ones: the forms of their reasoning and of their calls.
 *
 * The families are rows of model_family.def. An operator's line is a pattern and words, as in
 * "qwen3* think_tags=on text_calls=hermes"; lines that fit a model add to each other, and of two
 * that say the same the first counts. What no line says, the configuration's own keys say; what
 * these leave at `auto`, the family of the model. */
#ifndef ANTIPHON_WIRE_MODEL_PROFILE_H
#define ANTIPHON_WIRE_MODEL_PROFILE_H

#include <stdbool.h>

#include "base/buf.h"
#include "wire/chat_options.h"
#include "wire/extra_fields.h"
#include "wire/model_text.h"

/* HARMONY 2 */
enum harmony_mode {
    HARMONY_MODE_AUTO,        /* the chat endpoint; recognised when the answer is raw text */
    HARMONY_MODE_CHAT,        /* the chat endpoint, whose server parses */
    HARMONY_MODE_RAW_CHAT,    /* harmony-chat: the chat endpoint, whose server does not parse */
    HARMONY_MODE_COMPLETIONS, /* harmony-completions: we write the prompt, and parse */
};

/* All decided: nothing is `auto` any more but the harmony mode, where it is a mode. */
struct model_profile {
    enum harmony_mode harmony;
    enum model_think think;
    enum text_call_format text_calls;
    enum chat_reasoning_field reasoning_field;
    enum chat_reasoning_history reasoning_history;
    bool single_calls;           /* one call in each message of the assistant (HARMONY 2.1) */
    str think_open, think_close; /* plain: the tags around reasoning that is sent as text */
};

/* Words of the settings, one for each member: harmony, think_tags, text_calls, reasoning_field,
 * reasoning_history, call_messages, as their keys in config.def; NULL: auto. */
struct model_words {
    const char *harmony, *think_tags, *text_calls, *reasoning_field, *reasoning_history,
        *call_messages;
};

/* The profile of the model that the upstream knows by this name (plain text). lines: those of
 * the operator, which the configuration has checked; defaults: the configuration's own keys. */
struct model_profile model_profile_find(str model, struct name_list lines,
                                        const struct model_words *defaults);

#endif
