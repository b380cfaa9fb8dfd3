/* upstream_options.c -- keys of the configuration, one row each.
 *
 * The enums of the core do not depend on the order of the words in config.def,
 * so every word is named. */
#include "gateway/upstream_options.h"

#include "json/json_text.h"

static struct name_list list(const struct config_list *l)
{
    static const char *const nothing[] = {NULL}; /* an empty list, not the default one */

    return (struct name_list){l->n == 0 ? nothing : l->items, l->n};
}

struct name_list upstream_model_aliases(const struct config *c)
{
    return list(&c->model_alias);
}

struct responses_request_options upstream_request_options(const struct config *c)
{
    static const enum unknown_fields unknown[] = {
        [CONFIG_UNKNOWN_FIELDS_IGNORE] = UNKNOWN_FIELDS_IGNORE,
        [CONFIG_UNKNOWN_FIELDS_REJECT] = UNKNOWN_FIELDS_REJECT,
        [CONFIG_UNKNOWN_FIELDS_FORWARD] = UNKNOWN_FIELDS_FORWARD,
    };

    return (struct responses_request_options){
        .default_model = str_from_c(c->model),
        .extra = {.unknown = unknown[c->unknown_fields], .pass = list(&c->pass_fields)},
        .input = {.text_files = c->text_files,
                  .reasoning_from_summary = c->reasoning_from_summary,
                  .ignore_unknown_items = c->unknown_items == CONFIG_UNKNOWN_ITEMS_IGNORE},
        .reject_unserved_tools = c->unsupported_tools == CONFIG_UNSUPPORTED_TOOLS_REJECT,
    };
}

static enum chat_token_field token_field(const struct config *c)
{
    static const enum chat_token_field fields[] = {
        [CONFIG_TOKEN_FIELD_MAX_TOKENS] = CHAT_MAX_TOKENS,
        [CONFIG_TOKEN_FIELD_MAX_COMPLETION_TOKENS] = CHAT_MAX_COMPLETION_TOKENS,
        [CONFIG_TOKEN_FIELD_BOTH] = CHAT_BOTH_TOKEN_FIELDS,
    };

    if (c->token_field != CONFIG_TOKEN_FIELD_AUTO)
        return fields[c->token_field];
    return c->upstream_kind == CONFIG_UPSTREAM_KIND_OPENAI ? CHAT_MAX_COMPLETION_TOKENS
                                                           : CHAT_MAX_TOKENS;
}

/* A model without a name of its own, and one whose look-up finds no memory,
 * goes by the name the client used. */
static str model(const struct config *c, const struct responses_request *r, struct arena *a)
{
    str name = c->model_alias.n == 0 ? STR_NONE : json_text_dup(a, r->model);

    return str_is_none(name) ? STR_NONE : model_alias_find(list(&c->model_alias), name);
}

struct chat_request_options
upstream_chat_options(const struct config *c, const struct responses_request *r, struct arena *a)
{
    static const enum chat_reasoning_field reasoning[] = {
        [CONFIG_REASONING_FIELD_REASONING_CONTENT] = CHAT_REASONING_CONTENT,
        [CONFIG_REASONING_FIELD_REASONING] = CHAT_REASONING,
        [CONFIG_REASONING_FIELD_BOTH] = CHAT_BOTH_REASONING_FIELDS,
        [CONFIG_REASONING_FIELD_THINK] = CHAT_REASONING_IN_TAGS,
        [CONFIG_REASONING_FIELD_NONE] = CHAT_NO_REASONING,
    };
    static const enum chat_tool_choice choice[] = {
        [CONFIG_TOOL_CHOICE_SUPPORT_FULL] = CHAT_CHOICE_FULL,
        [CONFIG_TOOL_CHOICE_SUPPORT_STRINGS] = CHAT_CHOICE_STRINGS,
        [CONFIG_TOOL_CHOICE_SUPPORT_AUTO] = CHAT_CHOICE_AUTO,
    };
    static const enum chat_empty_content empty[] = {
        [CONFIG_EMPTY_CONTENT_NULL] = CHAT_CONTENT_NULL,
        [CONFIG_EMPTY_CONTENT_EMPTY] = CHAT_CONTENT_EMPTY,
        [CONFIG_EMPTY_CONTENT_ABSENT] = CHAT_CONTENT_ABSENT,
    };

    return (struct chat_request_options){
        .model = model(c, r, a),
        .is_openai = c->upstream_kind == CONFIG_UPSTREAM_KIND_OPENAI,
        .token_field = token_field(c),
        .reasoning_field = reasoning[c->reasoning_field],
        .tool_choice = choice[c->tool_choice_support],
        .empty_content = empty[c->empty_content],
        .developer_role = c->instructions_role == CONFIG_INSTRUCTIONS_ROLE_DEVELOPER,
        .late_system_as_user = c->late_system_role == CONFIG_LATE_SYSTEM_ROLE_USER,
        .images_in_tool = c->tool_images == CONFIG_TOOL_IMAGES_TOOL,
        .thinking_switch = c->thinking_switch,
        .omit_usage = !c->include_usage,
        .short_call_ids = c->call_ids == CONFIG_CALL_IDS_SHORT,
    };
}

struct chat_stream_conf upstream_stream_conf(const struct config *c,
                                             const struct responses_request *r)
{
    return (struct chat_stream_conf){
        .text = {.think = c->think_tags == CONFIG_THINK_TAGS_ON ? MODEL_THINK_ON : MODEL_THINK_OFF},
        .wants_logprobs = r->include_logprobs || r->top_logprobs > 0,
        .hold_leading_space = c->hold_leading_space,
        .max_event_bytes = c->max_line_bytes,
    };
}
