/* chat_request.c -- put the Chat request together from its parts. */
#include "wire/chat/chat_request.h"

#include <assert.h>

#include "conv/call_id.h"
#include "conv/reject.h"
#include "json/json_copy.h"
#include "json/json_text.h"
#include "wire/chat/chat_extra.h"
#include "wire/chat/chat_messages.h"
#include "wire/chat/chat_tools.h"
#include "wire/chat/upstream_fields.h"

static void write_logprobs(const struct responses_request *r, struct jw *w)
{
    if (r->top_logprobs > 0 || r->include_logprobs)
        jw_key_bool(w, "logprobs", true);
    if (r->top_logprobs > 0)
        jw_key_int(w, "top_logprobs", r->top_logprobs);
}

static void write_token_limit(const struct responses_request *r,
                              const struct chat_request_options *o, struct jw *w)
{
    const int64_t left = upstream_tokens_left(r, o);

    if (left == 0)
        return;
    if (o->token_field != CHAT_MAX_COMPLETION_TOKENS)
        jw_key_int(w, "max_tokens", left);
    if (o->token_field != CHAT_MAX_TOKENS)
        jw_key_int(w, "max_completion_tokens", left);
}

static void write_json_schema(const struct text_format *f, struct jw *w)
{
    jw_key(w, "json_schema");
    jw_object(w);
    json_copy_key_text(w, "name", f->name);
    json_copy_given_text(w, "description", f->description);
    json_copy_key_value(w, "schema", f->schema);
    json_copy_given_value(w, "strict", f->strict);
    jw_object_end(w);
}

static bool has_format(const struct text_format *f)
{
    return !str_is_none(f->type) && !json_text_eq(f->type, STR("text"));
}

bool chat_request_defers_format(const struct responses_request *r,
                                const struct chat_request_options *o)
{
    return o->format_after_tools && has_format(&r->format) && r->tools.n_sent > 0 &&
           upstream_tool_choice(&r->tool_choice, o->round).mode != TOOL_CHOICE_NONE;
}

static void write_response_format(const struct responses_request *r,
                                  const struct chat_request_options *o, struct jw *w)
{
    const struct text_format *f = &r->format;

    if (!has_format(f) || chat_request_defers_format(r, o))
        return;
    jw_key(w, "response_format");
    jw_object(w);
    json_copy_key_text(w, "type", f->type);
    if (json_text_eq(f->type, STR("json_schema")))
        write_json_schema(f, w);
    else if (o->object_schema)
        jw_key_raw(w, "schema", STR("{\"type\":\"object\"}"));
    jw_object_end(w);
}

static void write_chosen_tool(const struct tool *t, struct jw *w)
{
    jw_key(w, "tool_choice");
    jw_object(w);
    jw_key_string(w, "type", STR("function"));
    jw_key(w, "function");
    jw_object(w);
    jw_key_string(w, "name", t->upstream_name);
    jw_object_end(w);
    jw_object_end(w);
}

static void write_tool_choice(const struct tool_choice *c, const struct chat_request_options *o,
                              struct jw *w)
{
    enum tool_choice_mode mode = c->mode;

    if (mode == TOOL_CHOICE_NOT_GIVEN)
        return;
    if (o->tool_choice == CHAT_CHOICE_AUTO)
        mode = TOOL_CHOICE_AUTO;
    if (mode == TOOL_CHOICE_TOOL && o->tool_choice == CHAT_CHOICE_FULL)
        write_chosen_tool(c->tool, w);
    else
        jw_key_string(w, "tool_choice", str_from_c(tool_choice_word(mode)));
}

/* Several servers reject a choice without tools. What a server cannot be told
 * by a choice it is told by the tools it gets: the chosen ones, or none. */
static void write_tools(const struct responses_request *r, const struct chat_request_options *o,
                        struct jw *w)
{
    const struct tool_choice choice = upstream_tool_choice(&r->tool_choice, o->round);
    const bool names_tool = choice.mode == TOOL_CHOICE_TOOL && o->tool_choice == CHAT_CHOICE_FULL;

    if (r->tools.n_sent == 0)
        return;
    if (o->tool_choice == CHAT_CHOICE_AUTO && choice.mode == TOOL_CHOICE_NONE)
        return;
    jw_key(w, "tools");
    chat_tools_write(&r->tools, names_tool ? NULL : &choice, o->describes_all_tools, w);
    write_tool_choice(&choice, o, w);
    json_copy_given_value(w, "parallel_tool_calls", r->parallel_tool_calls);
}

static void write_openai_fields(const struct responses_request *r, struct jw *w)
{
    json_copy_given_text(w, "verbosity", r->verbosity);
    json_copy_given_text(w, "service_tier", r->service_tier);
    json_copy_given_text(w, "safety_identifier", r->safety_identifier);
    json_copy_given_text(w, "prompt_cache_key", r->prompt_cache_key);
    json_copy_given_text(w, "prompt_cache_retention", r->prompt_cache_retention);
}

/* The template is not to open another message behind the one that goes on. */
static void write_continuation(struct jw *w)
{
    jw_key_bool(w, "add_generation_prompt", false);
    jw_key_bool(w, "continue_final_message", true);
}

int chat_request_write(const struct responses_request *r, const struct conversation *c,
                       const struct chat_request_options *o, struct buf *out, struct err *reterr)
{
    const bool continues = c->is_unfinished && o->continuation == CHAT_CONTINUED_BY_FLAG;
    struct jw writer = jw_to(out), *w = &writer;

    jw_object(w);
    upstream_write_model(r, o, w);
    jw_key(w, "messages");
    chat_messages_write(c, o, w);
    upstream_write_stream(o, w);
    write_token_limit(r, o, w);
    upstream_write_sampling(r, w);
    write_logprobs(r, w);
    write_response_format(r, o, w);
    json_copy_given_text(w, "reasoning_effort", r->reasoning.effort);
    write_tools(r, o, w);
    json_copy_given_text(w, "user", r->user);
    if (o->is_openai)
        write_openai_fields(r, w);
    if (o->keep_markers)
        jw_key_bool(w, "skip_special_tokens", false);
    if (continues)
        write_continuation(w);
    chat_extra_write(r, o, continues, w);
    jw_object_end(w);
    return buf_failed(out) ? err_set_no_memory(reterr) : 0;
}

int chat_request_conversation(const struct responses_request *r,
                              const struct chat_request_options *o, const struct id_source *ids,
                              struct arena *arena, struct conversation *ret, struct err *reterr)
{
    const struct conversation_context context = {
        .is_stateful = responses_request_continues(r),
        .reasoning = o->reasoning_field == CHAT_NO_REASONING ? NULL : o->reasoning_source,
        .open_reasoning_only = o->reasoning_history == CHAT_OPEN_REASONING,
    };

    assert(!r->needs_store);
    if (conversation_build(&r->items, r->instructions, &context, ids, arena, ret, reterr) == -1)
        return -1;
    return o->short_call_ids ? call_ids_shorten(ret, ids, arena, reterr) : 0;
}

int chat_request_build(const struct responses_request *r, const struct chat_request_options *o,
                       const struct id_source *ids, struct arena *arena, struct buf *out,
                       struct err *reterr)
{
    struct conversation c;

    if (chat_request_conversation(r, o, ids, arena, &c, reterr) == -1)
        return -1;
    return chat_request_write(r, &c, o, out, reterr);
}
