/* model_profile.h -- what is known about families of models, and what an operator says about
 * single ones: the forms of their reasoning and of their calls (HARMONY 2.1, 5; CONTRACT 2.4), and
 * of the messages that their chat templates take (CONTRACT 2.5 rule 9).
 *
 * The families are rows of model_family.def. An operator's line is a pattern and words, as in
 * "qwen3* think_tags=on text_calls=hermes"; lines that fit a model add to each other, and of two
 * that say the same the first counts. What is said of the model counts before what is said of all,
 * by `*`, and that before what the old keys say. What nobody says, or is `auto`, comes from the kind
 * of the server, from the model's chat template where the server shows it (model_template.h), else
 * from the family of the model; a model that is said to write Harmony is of that of gpt-oss.
 *
 * In a pattern * stands for anything. Case does not count, nor what a path puts in front of a name:
 * "gpt-oss*" fits "openai/gpt-oss-20b", too. */
#ifndef ANTIPHON_WIRE_DIALECT_MODEL_PROFILE_H
#define ANTIPHON_WIRE_DIALECT_MODEL_PROFILE_H

#include <stdbool.h>

#include "text/text_calls.h"
#include "wire/dialect/chat_options.h"
#include "wire/dialect/extra_fields.h"
#include "wire/dialect/model_setting.h"

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

/* White space at the beginning of a text (hold_leading_space). */
enum model_space {
    MODEL_SPACE_AUTO, /* held for models that think */
    MODEL_SPACE_HELD,
    MODEL_SPACE_KEPT,
};

/* All decided: nothing is `auto` any more but the harmony mode and the space, where that is one. */
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
    str think_open, think_close;
    enum chat_token_field token_field;
    enum chat_tool_choice tool_choice;
    enum chat_empty_content empty_content;
    bool thinking_switch;
    bool asks_for_usage;
    bool format_after_tools;
    bool images_in_tool; /* those from call_messages on: see chat_options.h */
    enum model_space space;
    enum model_images images; /* as the operator says it */
    int64_t context_window;   /* the same, in tokens; 0: not said */
    str efforts;              /* of reasoning that its family is known to take: "low|high", or "" */
};

/* True when both say the same of how requests are written and answers read. */
bool model_profile_is_same(const struct model_profile *a, const struct model_profile *b);

/* The profile of the model that the upstream knows by this name (plain text). other: a name that
 * tells the family when the first tells of none, as the path of the model's file may, or STR_NONE.
 * lines: those of the operator, which the configuration has checked; of_all: what they say by old
 * keys; learnt: what its server and its chat template tell, NULL when that is not known. */
struct model_profile model_profile_find(str model, str other, struct name_list lines,
                                        const struct model_words *of_all,
                                        const struct model_words *learnt);

#endif
