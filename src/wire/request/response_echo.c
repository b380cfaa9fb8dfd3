/* response_echo.c -- the request's fields with their defaults, ready to send.
 *
 * Everything goes through json_copy: a client may send pretty-printed schemas
 * and the echo has to fit into one data line. What must not come back is left
 * out by tool_copy: credentials of MCP servers. */
#include "wire/request/response_echo.h"

#include "conv/fields.h"
#include "conv/tool_copy.h"
#include "json/json_copy.h"
#include "json/json_read.h"
#include "json/json_text.h"
#include "wire/tools/tool_fields.h"

/* ---- values with a default */

static void write_raw_or(struct jw *w, const char *key, str raw, str fallback)
{
    json_copy_key_value(w, key, str_is_none(raw) ? fallback : raw);
}

static void write_text_or(struct jw *w, const char *key, str escaped, str fallback)
{
    json_copy_key_text(w, key, str_is_none(escaped) ? fallback : escaped);
}

static void write_int_or_null(struct jw *w, const char *key, int64_t n)
{
    jw_key(w, key);
    if (n == 0)
        jw_null(w);
    else
        jw_int(w, n);
}

/* ---- reasoning, text, tool_choice */

static void write_reasoning(struct jw *w, const struct reasoning_config *r)
{
    jw_key(w, "reasoning");
    jw_object(w);
    json_copy_key_text(w, "effort", r->effort);
    json_copy_key_text(w, "summary", r->summary);
    json_copy_given_text(w, "context", r->context);
    json_copy_given_text(w, "mode", r->mode);
    jw_object_end(w);
}

static void write_text(struct jw *w, const struct responses_request *r)
{
    const struct text_format *f = &r->format;

    jw_key(w, "text");
    jw_object(w);
    jw_key(w, "format");
    jw_object(w);
    write_text_or(w, "type", f->type, STR("text"));
    if (!str_is_none(f->type) && json_text_eq(f->type, STR("json_schema"))) {
        json_copy_key_text(w, "name", f->name);
        json_copy_key_text(w, "description", f->description);
        json_copy_key_value(w, "schema", f->schema);
        write_raw_or(w, "strict", f->strict, STR("false"));
    }
    jw_object_end(w);
    json_copy_given_text(w, "verbosity", r->verbosity);
    jw_object_end(w);
}

/* Some clients put the whole declaration of a server there, credentials included. */
static void write_choice(struct jw *w, str raw)
{
    struct choice {
        str type, server_label, name;
    } f = {0};
    static const struct field table[] = {
        FIELD(struct choice, type, FIELD_TEXT),
        FIELD(struct choice, server_label, FIELD_TEXT),
        FIELD(struct choice, name, FIELD_TEXT),
    };

    (void)fields_read_raw(raw, FIELDS(table), NULL, &f, NULL);
    if (!json_text_eq(f.type, STR("mcp"))) {
        json_copy_element(w, raw);
        return;
    }
    jw_object(w);
    jw_key_string(w, "type", STR("mcp"));
    json_copy_given_text(w, "server_label", f.server_label);
    json_copy_given_text(w, "name", f.name);
    jw_object_end(w);
}

static void write_choices(struct jw *w, str choices)
{
    struct jr j;

    jw_key(w, "tools");
    jw_array(w);
    jr_init(&j, choices);
    (void)jr_enter(&j, JR_ARRAY);
    while (jr_next_element(&j))
        write_choice(w, jr_raw(&j));
    jw_array_end(w);
}

static void write_tool_choice(struct jw *w, const struct tool_choice *c)
{
    if (str_is_none(c->type)) {
        jw_key_string(w, "tool_choice", str_from_c(tool_choice_word(c->mode)));
        return;
    }
    jw_key(w, "tool_choice");
    jw_object(w);
    json_copy_key_text(w, "type", c->type);
    json_copy_given_text(w, "server_label", c->server_label);
    json_copy_given_text(w, "name", c->name);
    if (!str_is_none(c->allowed_tools)) {
        jw_key_string(w, "mode", str_from_c(tool_choice_word(c->mode)));
        write_choices(w, c->allowed_tools);
    }
    jw_object_end(w);
}

/* ---- tools */

static void write_function(struct jw *w, const struct tool_fields *f)
{
    jw_object(w);
    jw_key_string(w, "type", STR("function"));
    json_copy_key_text(w, "name", f->name);
    json_copy_key_text(w, "description", f->description);
    json_copy_key_value(w, "parameters", f->parameters);
    json_copy_key_value(w, "strict", f->strict);
    json_copy_given_value(w, "allowed_callers", f->allowed_callers);
    json_copy_given_value(w, "async", f->async);
    json_copy_given_value(w, "defer_loading", f->defer_loading);
    json_copy_given_value(w, "output_schema", f->output_schema);
    jw_object_end(w);
}

/* What holds for the calls of a server when its tool does not say (MCP 11.5). */
static str effective_approval(const struct tool_set *set, str label)
{
    for (const struct mcp_declaration *d = set->first_server; d != NULL; d = d->next) {
        if (json_text_eq(label, d->label))
            return d->effective_approval;
    }
    return STR_NONE;
}

static void write_tool(struct jw *w, const struct tool_set *set, str raw)
{
    struct tool_fields f;

    /* Types were checked when the request was parsed. */
    (void)tool_fields_read(raw, NULL, &f, NULL);
    if (json_text_eq(f.type, STR("function"))) {
        (void)tool_fields_flatten(&f, NULL, NULL);
        write_function(w, &f);
    } else if (json_text_eq(f.type, STR("mcp"))) {
        tool_copy_mcp(w, raw, effective_approval(set, f.server_label));
    } else {
        tool_copy(w, raw);
    }
}

static void write_tools(struct jw *w, const struct tool_set *set, str tools)
{
    struct jr j;

    jw_key(w, "tools");
    jw_array(w);
    if (!str_is_none(tools)) {
        jr_init(&j, tools);
        (void)jr_enter(&j, JR_ARRAY);
        while (jr_next_element(&j))
            write_tool(w, set, jr_raw(&j));
    }
    jw_array_end(w);
}

/* ---- all members */

/* Who asks is told that nothing is known of it, as the API says that. */
static void write_cache_diagnostics(struct jw *w)
{
    jw_key(w, "prompt_cache_diagnostics");
    jw_object(w);
    jw_key_string(w, "type", STR("unavailable"));
    jw_object_end(w);
}

static void write_conversation(struct jw *w, str id)
{
    jw_key(w, "conversation");
    if (str_is_none(id)) {
        jw_null(w);
        return;
    }
    jw_object(w);
    json_copy_key_text(w, "id", id);
    jw_object_end(w);
}

void responses_request_echo(const struct responses_request *r, struct buf *out)
{
    struct jw writer = jw_to(out), *w = &writer;

    jw_key_bool(w, "background", r->background);
    json_copy_key_text(w, "instructions", r->instructions);
    write_int_or_null(w, "max_output_tokens", r->max_output_tokens);
    write_int_or_null(w, "max_tool_calls", r->max_tool_calls);
    json_copy_key_text(w, "model", r->model);
    write_raw_or(w, "parallel_tool_calls", r->parallel_tool_calls, STR("true"));
    json_copy_key_text(w, "previous_response_id", r->previous_response_id);
    write_reasoning(w, &r->reasoning);
    jw_key_bool(w, "store", r->store);
    write_raw_or(w, "temperature", r->temperature, STR("1.0"));
    write_text(w, r);
    write_tool_choice(w, &r->tool_choice);
    write_tools(w, &r->tools, r->tools_json);
    write_raw_or(w, "top_p", r->top_p, STR("1.0"));
    write_text_or(w, "truncation", r->truncation, STR("disabled"));
    write_raw_or(w, "metadata", r->metadata, STR("{}"));
    write_raw_or(w, "presence_penalty", r->presence_penalty, STR("0.0"));
    write_raw_or(w, "frequency_penalty", r->frequency_penalty, STR("0.0"));
    jw_key_int(w, "top_logprobs", r->top_logprobs);
    json_copy_key_text(w, "safety_identifier", r->safety_identifier);
    json_copy_key_text(w, "prompt_cache_key", r->prompt_cache_key);
    write_conversation(w, r->conversation_id);
    json_copy_given_text(w, "user", r->user);
    json_copy_given_text(w, "prompt_cache_retention", r->prompt_cache_retention);
    if (r->compares_cache)
        write_cache_diagnostics(w);
}
