/* model_profile.h -- what is known about families of models, and what an operator says about
 * single ones: the forms of their reasoning and of their calls (HARMONY 2.1, 5; CONTRACT 2.4), and
 * of the messages that their chat templates take (CONTRACT 2.5 rule 9).
 *
 * The families are rows of model_family.def. An operator's line is a pattern and words, as in
 * "qwen3* think_tags=on text_calls=hermes"; lines that fit a model add to each other, and of two
 * that say the same the first counts. What no line says, the configuration's own keys say; what
 * is `auto` then, the model's chat template where the server shows it (model_template.h), else the
 * family of the model; a model that is said to write Harmony is of that of gpt-oss.
 *
 * In a pattern * stands for anything. Case does not count, nor what a path puts in front of a name:
 * "gpt-oss*" fits "openai/gpt-oss-20b", too. */
#ifndef ANTIPHON_WIRE_DIALECT_MODEL_PROFILE_H
#define ANTIPHON_WIRE_DIALECT_MODEL_PROFILE_H

#include <stdbool.h>

#include "text/text_calls.h"
#include "wire/dialect/chat_options.h"
#include "wire/dialect/extra_fields.h"

/* HARMONY 2 */
enum harmony_mode {
    HARMONY_MODE_AUTO,        /* the chat endpoint; recognised when the answer is raw text */
    HARMONY_MODE_CHAT,        /* the chat endpoint, whose server parses */
    HARMONY_MODE_RAW_CHAT,    /* harmony-chat: the chat endpoint, whose server does not parse */
    HARMONY_MODE_COMPLETIONS, /* harmony-completions: we write the prompt, and parse */
};

/* How text in tags of reasoning is read. */
enum model_think {
    MODEL_THINK_OFF,
    MODEL_THINK_ON,     /* if the text opens with a tag */
    MODEL_THINK_INSIDE, /* from the start: the template has opened it */
};

/* All decided: nothing is `auto` any more but the harmony mode, where it is a mode. */
struct model_profile {
    enum harmony_mode harmony;
    bool bare_content_type; /* of calls in a Harmony prompt, see harmony_request.h */
    enum model_think think;
    enum text_call_format text_calls;
    enum chat_reasoning_field reasoning_field;
    enum chat_reasoning_history reasoning_history;
    bool may_think; /* in tags, as its family does, whoever reads them */
    enum chat_call_messages call_messages;
    bool short_call_ids;
    enum chat_system_role system_role;
    bool late_system_as_user;
    enum chat_role_order role_order;
    bool describes_all_tools;
    str think_open, think_close; /* these seven: see chat_options.h */
};

/* What can be said of a model. A setting is called like its key in config.def, and has its
 * words. */
enum model_setting {
    MODEL_HARMONY,
    MODEL_HARMONY_CONTENT_TYPE,
    MODEL_THINK_TAGS,
    MODEL_TEXT_CALLS,
    MODEL_REASONING_FIELD,
    MODEL_REASONING_HISTORY,
    MODEL_CALL_MESSAGES,
    MODEL_CALL_IDS,
    MODEL_INSTRUCTIONS_ROLE,
    MODEL_LATE_SYSTEM_ROLE,
    MODEL_ROLE_ORDER,
    MODEL_TOOL_DESCRIPTIONS,
    MODEL_SETTINGS
};

const char *model_setting_name(enum model_setting s);

/* Is it a word of this setting? */
bool model_setting_has_word(enum model_setting s, str word);

/* STR_NONE: nothing is said of that setting. */
struct model_words {
    str of[MODEL_SETTINGS];
};

/* Takes what has not been said yet from a text as "call_ids=short role_order=alternate". */
void model_words_add(str text, struct model_words *words);

/* The profile of the model that the upstream knows by this name (plain text). lines: those of
 * the operator, which the configuration has checked; defaults: what its own keys say; learnt: what
 * its chat template tells, NULL when that is not known. */
struct model_profile model_profile_find(str model, struct name_list lines,
                                        const struct model_words *defaults,
                                        const struct model_words *learnt);

/* The same, of the family of the other name when this name tells of none: the path of its file,
 * say, or STR_NONE. */
struct model_profile model_profile_find_as(str model, str other, struct name_list lines,
                                           const struct model_words *defaults,
                                           const struct model_words *learnt);

#endif
