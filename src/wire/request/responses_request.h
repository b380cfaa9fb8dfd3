/* responses_request.h -- the body of POST /v1/responses, read and checked.
 *
 * One call does all that needs no store and no network: JSON, types, required
 * fields, limits, tools, tool_choice, items, exclusions, in the order of
 * CONTRACT 1.1, and reports the first finding with its path. A request that
 * refers to what is stored is then completed by request_resolve.h. */
#ifndef ANTIPHON_WIRE_REQUEST_RESPONSES_REQUEST_H
#define ANTIPHON_WIRE_REQUEST_RESPONSES_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/id.h"
#include "compact/compact_read.h"
#include "conv/item.h"
#include "wire/dialect/extra_fields.h"
#include "wire/tools/tool_choice.h"
#include "wire/tools/tool_set.h"

struct reasoning_config {
    str effort, summary, context, mode; /* escaped; generate_summary is read as summary */
};

struct text_format {
    str type, name, description; /* escaped; type STR_NONE: text */
    str schema, strict;          /* raw */
};

/* When the client wants its context replaced by a summary (CONTRACT 13.4). */
struct context_management {
    bool compacts;     /* else it never asked for that */
    int64_t threshold; /* in tokens; 0: not given */
};

/* A call that waited for the client's approval and has it now (CONTRACT 2.1). */
struct approved_call {
    const struct item *request;  /* ITEM_APPROVAL_REQUEST */
    const struct item *response; /* ITEM_APPROVAL_RESPONSE, of the request's own input */
    const struct tool *tool;     /* NULL while needs_tools */
    struct approved_call *next;
};

/* Every str is STR_NONE when the field was not given or null. */
struct responses_request {
    /* escaped text */
    str model; /* never STR_NONE */
    str instructions, previous_response_id, conversation_id;
    str truncation, service_tier, safety_identifier, user;
    str prompt_cache_key, prompt_cache_retention, verbosity;
    struct reasoning_config reasoning;
    struct text_format format;
    struct context_management context_management;

    /* raw values, as the client wrote them */
    str input, tools_json, tool_choice_json, metadata, parallel_tool_calls;
    str temperature, top_p, presence_penalty, frequency_penalty;

    bool stream, store, background, include_obfuscation;
    bool is_warm_up; /* nothing is generated (CONTRACT 6.3) */
    bool include_encrypted_reasoning, include_logprobs;
    bool include_code_outputs, include_search_sources;
    bool reasoning_summary_requested;
    bool compares_cache; /* it asks what of the prompt was cached since another response */

    /* 0: not given */
    int64_t max_output_tokens, max_tool_calls, top_logprobs;

    /* It refers to what is stored: items, tools and tool_choice are not all there
     * before request_resolve(). */
    bool needs_store;

    /* It has or may get tools that are not known yet: request_add_mcp() comes before its
     * tool_choice and its approvals are bound. Not final while needs_store: it may inherit
     * servers. */
    bool needs_tools;

    /* The input ends with a compaction_trigger, which is none of the items: what the client wants is
     * a summary. */
    bool has_trigger;
    bool is_compact; /* so it does by asking /v1/responses/compact; has_trigger is set as well */
    bool is_count;   /* it is only counted: of what makes no prompt nothing is read (CONTRACT 14) */

    struct item_list items;
    size_t n_before; /* so many of the items, the first, are history */
    /* Of the history, with what a summary has taken the place of. */
    str container_id;         /* escaped: where its last code ran, or STR_NONE */
    size_t n_searches;        /* of the web */
    unsigned n_ignored_items; /* of `input`: they tell the model nothing */
    unsigned n_put_back; /* responses of which the client had dropped calls (request_rounds.h) */
    struct tool_set tools;
    bool has_inherited_tools;     /* tools_json is that of the previous response */
    struct tool_index tool_index; /* while needs_tools */
    struct tool_choice tool_choice;
    struct approved_call *approved; /* to be run before the model is asked, in their order */
    struct extra_fields extra;
};

/* Zeroed: the defaults of CONTRACT 1.1. */
struct responses_request_options {
    bool is_message;   /* response.create, which is more than the body (CONTRACT 6.3) */
    str default_model; /* plain text, STR_NONE: the client has to name one */
    struct extra_fields_options extra;
    struct input_options input;
    struct compact_reading compaction;
    bool is_compact;         /* the request is one of /v1/responses/compact */
    bool is_count;           /* it is to be counted, see there */
    bool has_injected_tools; /* every request gets tools of the gateway: it needs_tools */
    struct tool_options tools;
};

/* The gateway holds what came before the items of the request. */
static inline bool responses_request_continues(const struct responses_request *r)
{
    return !str_is_none(r->previous_response_id) || !str_is_none(r->conversation_id);
}

/* Views in *ret point into body and arena, which must outlive it. ids makes up
 * missing call ids and seeds the tables. */
int responses_request_parse(str body, const struct responses_request_options *options,
                            const struct id_source *ids, struct arena *arena,
                            struct responses_request *ret, struct err *reterr);

#endif
