/* event_rules.c -- the tables. */
#include "lib/event_rules.h"

#include <stddef.h>
#include <string.h>

#define IDS         "item_id output_index "
#define PART_IDS    IDS "content_index "
#define SUMMARY_IDS IDS "summary_index "

static const struct event_rule event_rules[] = {
    {"response.created", ACT_RESPONSE, "in_progress", NULL, "response"},
    {"response.queued", ACT_RESPONSE, "queued", NULL, "response"},
    {"response.in_progress", ACT_RESPONSE, "in_progress", NULL, "response"},
    {"response.completed", ACT_RESPONSE, "completed", NULL, "response"},
    {"response.incomplete", ACT_RESPONSE, "incomplete", NULL, "response"},
    {"response.failed", ACT_RESPONSE, "failed", NULL, "response"},
    {"error", ACT_ERROR, NULL, NULL, "code message param error"},
    {"keepalive", ACT_KEEPALIVE, NULL, NULL, ""},
    {"response.output_item.added", ACT_ITEM_ADDED, NULL, NULL, "output_index item"},
    {"response.output_item.done", ACT_ITEM_DONE, NULL, NULL, "output_index item"},
    {"response.content_part.added", ACT_PART_ADDED, "content_index", NULL, PART_IDS "part"},
    {"response.content_part.done", ACT_PART_DONE, "content_index", NULL, PART_IDS "part"},
    {"response.reasoning_summary_part.added", ACT_PART_ADDED, "summary_index", NULL,
     SUMMARY_IDS "part"},
    {"response.reasoning_summary_part.done", ACT_PART_DONE, "summary_index", NULL,
     SUMMARY_IDS "part"},
    {"response.output_text.delta", ACT_PART_DELTA, "output_text", "delta",
     PART_IDS "delta logprobs obfuscation?"},
    {"response.output_text.annotation.added", ACT_PART_ANNOTATION, "output_text", NULL,
     PART_IDS "annotation_index annotation"},
    {"response.output_text.done", ACT_PART_TEXT, "output_text", "text", PART_IDS "text logprobs"},
    {"response.refusal.delta", ACT_PART_DELTA, "refusal", "delta", PART_IDS "delta obfuscation?"},
    {"response.refusal.done", ACT_PART_TEXT, "refusal", "refusal", PART_IDS "refusal"},
    {"response.reasoning_text.delta", ACT_PART_DELTA, "reasoning_text", "delta",
     PART_IDS "delta obfuscation?"},
    {"response.reasoning_text.done", ACT_PART_TEXT, "reasoning_text", "text", PART_IDS "text"},
    {"response.reasoning.delta", ACT_PART_DELTA, "reasoning_text", "delta",
     PART_IDS "delta obfuscation?"},
    {"response.reasoning.done", ACT_PART_TEXT, "reasoning_text", "text", PART_IDS "text"},
    {"response.reasoning_summary_text.delta", ACT_PART_DELTA, "summary_text", "delta",
     SUMMARY_IDS "delta obfuscation?"},
    {"response.reasoning_summary_text.done", ACT_PART_TEXT, "summary_text", "text",
     SUMMARY_IDS "text"},
    {"response.function_call_arguments.delta", ACT_CALL_DELTA, "function_call", "delta",
     IDS "delta obfuscation?"},
    {"response.function_call_arguments.done", ACT_CALL_TEXT, "function_call", "arguments",
     IDS "name arguments"},
    {"response.custom_tool_call_input.delta", ACT_CALL_DELTA, "custom_tool_call", "delta",
     IDS "delta obfuscation?"},
    {"response.custom_tool_call_input.done", ACT_CALL_TEXT, "custom_tool_call", "input",
     IDS "input"},
    {"response.mcp_list_tools.in_progress", ACT_STATE, "mcp_list_tools", "in_progress", IDS},
    {"response.mcp_list_tools.completed", ACT_STATE, "mcp_list_tools", "completed", IDS},
    {"response.mcp_list_tools.failed", ACT_STATE, "mcp_list_tools", "failed", IDS},
    {"response.mcp_call.in_progress", ACT_STATE, "mcp_call", "in_progress", IDS},
    {"response.mcp_call.completed", ACT_STATE, "mcp_call", "completed", IDS},
    {"response.mcp_call.failed", ACT_STATE, "mcp_call", "failed", IDS},
    {"response.mcp_call_arguments.delta", ACT_CALL_DELTA, "mcp_call", "delta",
     IDS "delta obfuscation?"},
    {"response.mcp_call_arguments.done", ACT_CALL_TEXT, "mcp_call", "arguments", IDS "arguments"},
    {"response.code_interpreter_call.in_progress", ACT_STATE, "code_interpreter_call",
     "in_progress", IDS},
    {"response.code_interpreter_call.interpreting", ACT_STATE, "code_interpreter_call",
     "interpreting", IDS},
    {"response.code_interpreter_call.completed", ACT_STATE, "code_interpreter_call", "completed",
     IDS},
    {"response.code_interpreter_call_code.delta", ACT_CALL_DELTA, "code_interpreter_call", "delta",
     IDS "delta obfuscation?"},
    {"response.code_interpreter_call_code.done", ACT_CALL_TEXT, "code_interpreter_call", "code",
     IDS "code"},
    {"response.web_search_call.in_progress", ACT_STATE, "web_search_call", "in_progress", IDS},
    {"response.web_search_call.searching", ACT_STATE, "web_search_call", "searching", IDS},
    {"response.web_search_call.completed", ACT_STATE, "web_search_call", "completed", IDS},
    {"response.compaction.compacting", ACT_STATE, "compaction", "compacting", IDS},
};

static const struct item_rule item_rules[] = {
    {"message", "msg_", true, NULL, true, NULL, "role content phase?"},
    {"reasoning", "rs_", true, NULL, true, NULL, "summary content encrypted_content?"},
    {"function_call", "fc_", false, "arguments", true, NULL, "call_id name arguments namespace?"},
    {"custom_tool_call", "ctc_", false, "input", true, NULL, "call_id name input namespace?"},
    {"local_shell_call", "lsh_", false, NULL, true, NULL, "call_id action"},
    {"shell_call", "sh_", false, NULL, true, NULL, "call_id action environment"},
    {"apply_patch_call", "apc_", false, NULL, true, NULL, "call_id operation"},
    {"tool_search_call", "tsc_", false, NULL, true, NULL, "call_id execution arguments"},
    {"tool_search_output", "tso_", false, NULL, true, NULL, "call_id execution tools"},
    {"mcp_list_tools", "mcpl_", false, NULL, false, "in_progress", "server_label tools error?"},
    {"mcp_call", "mcp_", false, "arguments", true, "in_progress",
     "server_label name arguments output error approval_request_id"},
    {"mcp_approval_request", "mcpr_", false, NULL, false, NULL, "server_label name arguments"},
    {"code_interpreter_call", "ci_", false, "code", true, "interpreting",
     "container_id code outputs"},
    {"web_search_call", "ws_", false, NULL, true, "searching", "action"},
    {"compaction", "cmp_", false, NULL, false, "compacting", "encrypted_content"},
};

static const struct part_rule part_rules[] = {
    {"output_text", "message", "content", "text", "type text annotations logprobs"},
    {"refusal", "message", "content", "refusal", "type refusal"},
    {"reasoning_text", "reasoning", "content", "text", "type text"},
    {"summary_text", "reasoning", "summary", "text", "type text"},
};

const char response_members[] =
    "id object created_at completed_at status background error incomplete_details instructions "
    "max_output_tokens max_tool_calls model output parallel_tool_calls previous_response_id "
    "reasoning store temperature top_p presence_penalty frequency_penalty top_logprobs text "
    "tool_choice tools truncation usage metadata service_tier safety_identifier prompt_cache_key "
    "conversation? user? prompt_cache_retention? prompt_cache_diagnostics?";

/* The members that change while a response runs. */
const char response_running_members[] =
    "status output usage completed_at error incomplete_details service_tier";

#define FIND(rules, name)                                                                          \
    for (size_t i = 0; name != NULL && i < sizeof(rules) / sizeof(*(rules)); i++) {                \
        if (strcmp((rules)[i].type, name) == 0)                                                    \
            return &(rules)[i];                                                                    \
    }                                                                                              \
    return NULL

const struct event_rule *event_rule_find(const char *type)
{
    FIND(event_rules, type);
}

const struct item_rule *item_rule_find(const char *type)
{
    FIND(item_rules, type);
}

const struct part_rule *part_rule_find(const char *type)
{
    FIND(part_rules, type);
}
