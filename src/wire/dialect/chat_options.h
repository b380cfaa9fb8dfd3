/* chat_options.h -- what may differ from upstream to upstream in a Chat request.
 *
 * Zeroed, an enum or flag stands for the default of CONTRACT 1 and 2; every
 * other value is for servers that want it otherwise. Most are settings of models
 * (model_setting.def), whose help says when. */
#ifndef ANTIPHON_WIRE_DIALECT_CHAT_OPTIONS_H
#define ANTIPHON_WIRE_DIALECT_CHAT_OPTIONS_H

#include <stdbool.h>

#include <stdint.h>

#include "base/str.h"
#include "conv/conversation.h"

struct extra_fields_options;

/* CONTRACT 1.3 */
enum chat_token_field { CHAT_MAX_TOKENS, CHAT_MAX_COMPLETION_TOKENS, CHAT_BOTH_TOKEN_FIELDS };

/* CONTRACT 2.4 */
enum chat_reasoning_field {
    CHAT_REASONING_CONTENT,
    CHAT_REASONING,
    CHAT_BOTH_REASONING_FIELDS,
    CHAT_REASONING_IN_TAGS, /* in front of the content */
    CHAT_NO_REASONING,
};

/* HARMONY 2.1: of which messages the reasoning is sent. */
enum chat_reasoning_history {
    CHAT_ALL_REASONING,
    CHAT_OPEN_REASONING, /* those behind the last answer: the tool chain that is still open */
};

/* HARMONY 2.1, CONTRACT 2.5: how calls of earlier turns stand in messages. */
enum chat_call_messages {
    CHAT_CALLS_MERGED, /* all that were made at once in one */
    CHAT_CALLS_SINGLE, /* one call in each message, its output behind it; no text beside reasoning */
    CHAT_CALLS_TEXT,   /* text of the assistant, and what came back text of the user: for chat
                          templates that know no tools */
};

/* CONTRACT 2.5 rule 9: who may speak when. Calls and their outputs do not count. */
enum chat_role_order {
    CHAT_ANY_ORDER,
    CHAT_USER_FIRST, /* the assistant does not begin */
    CHAT_ALTERNATE,  /* nor does anybody speak twice */
};

/* CONTRACT 2.1: of instructions and system messages. */
enum chat_system_role {
    CHAT_SYSTEM_ROLE,
    CHAT_DEVELOPER_ROLE,
    CHAT_USER_ROLE, /* part of the first message of the user */
};

/* CONTRACT 1.4: the forms of tool_choice that the server takes. */
enum chat_tool_choice {
    CHAT_CHOICE_FULL,
    CHAT_CHOICE_STRINGS, /* a chosen tool: required, and only that tool is sent */
    CHAT_CHOICE_AUTO,    /* none: no tools; a chosen tool: only that one; else all */
};

/* Which upstream call of a response it is (CONTRACT 1.4, 1.5). */
enum chat_round {
    CHAT_FIRST_ROUND,
    CHAT_LATER_ROUND, /* tool_choice is auto, whatever the request says but none */
    CHAT_LAST_ROUND,  /* tool_choice is none */
};

/* How the server goes on with a last message of the assistant that was not finished. */
enum chat_continuation {
    CHAT_NOT_CONTINUED,       /* it begins another message, as far as is known */
    CHAT_CONTINUED_BY_ITSELF, /* without being told to */
    CHAT_CONTINUED_BY_FLAG,   /* told by continue_final_message, without a generation prompt */
};

/* CONTRACT 2.2: content of an assistant message that only carries calls. */
enum chat_empty_content { CHAT_CONTENT_NULL, CHAT_CONTENT_EMPTY, CHAT_CONTENT_ABSENT };

struct chat_request_options {
    str model;      /* plain text; STR_NONE: the requested one */
    bool is_openai; /* also knows verbosity, service_tier, safety_identifier ... */
    enum chat_token_field token_field;
    enum chat_reasoning_field reasoning_field;
    enum chat_reasoning_history reasoning_history;
    str think_open, think_close; /* plain, with the white space that belongs to them: what
                                    stands around it with CHAT_REASONING_IN_TAGS */
    enum chat_call_messages call_messages;
    enum chat_tool_choice tool_choice;
    enum chat_continuation continuation;
    enum chat_empty_content empty_content;
    enum chat_system_role system_role;
    bool late_system_as_user; /* system messages behind the first other one have the role user */
    enum chat_role_order role_order;
    bool images_in_tool;  /* of a tool's output: in the tool message */
    bool thinking_switch; /* effort none: chat_template_kwargs.enable_thinking=false, too */
    bool omit_usage;      /* do not ask for token counts */
    bool keep_markers;    /* the text is to come with its special tokens (HARMONY 2.2) */
    /* For calls that came without the reasoning before them; NULL: none is known. */
    const struct reasoning_source *reasoning_source;
    enum chat_round round;
    int64_t spent_tokens;     /* of max_output_tokens, by the rounds before (CONTRACT 1.3) */
    int64_t most_tokens;      /* that it may ask for as an answer (clamp_output); 0: any number */
    bool describes_all_tools; /* a tool or argument without a description has an empty one */
    bool short_call_ids;      /* nine letters and digits, see conv/call_id.h */
    bool format_after_tools;  /* response_format keeps the model from calling: it is for a round of
                                 its own, see chat_request_defers_format() */
    bool object_schema;       /* json_object binds only together with a schema */
    /* Of the client's fields, those that are written (extra_fields_are_taken()); NULL: all. */
    const struct extra_fields_options *taken_fields;
    /* What had to be changed of the history, set when the messages are written; NULL: nobody
     * asks. */
    struct history_repairs *repairs;
};

#endif
