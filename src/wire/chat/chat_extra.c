/* chat_extra.c -- the client's fields for the upstream, behind our own.
 *
 * What a request says in the words of the Responses API counts; the same in
 * Chat words beside it is not sent. */
#include "wire/chat/chat_extra.h"

#include "json/json_copy.h"
#include "json/json_read.h"
#include "json/json_text.h"

/* Only fields that the Responses API calls by another name can meet here. */
static bool is_ours(const struct responses_request *r, str name)
{
    const struct {
        str name;
        bool ours;
    } fields[] = {
        {STR("messages"), true},
        {STR("max_tokens"), r->max_output_tokens > 0},
        {STR("max_completion_tokens"), r->max_output_tokens > 0},
        {STR("logprobs"), r->top_logprobs > 0 || r->include_logprobs},
        {STR("response_format"), !str_is_none(r->format.type)},
        {STR("reasoning_effort"), !str_is_none(r->reasoning.effort)},
        {STR("verbosity"), !str_is_none(r->verbosity)},
    };

    for (size_t i = 0; i < COUNT_OF(fields); i++) {
        if (str_eq(name, fields[i].name))
            return fields[i].ours;
    }
    return false;
}

static bool is_said(const struct chat_request_options *o, bool continues, str name)
{
    if (continues &&
        (str_eq(name, STR("continue_final_message")) || str_eq(name, STR("add_generation_prompt"))))
        return true;
    return o->keep_markers && str_eq(name, STR("skip_special_tokens"));
}

/* One request has one answer; a second choice would only cost time. */
static bool asks_for_choices(const struct extra_field *f)
{
    return str_eq(f->name, STR("n")) &&
           (jr_type_of(f->value) != JR_NUMBER || jr_number_value(f->value) != 1);
}

static bool is_taken(const struct chat_request_options *o, str name)
{
    return o->taken_fields == NULL || extra_fields_are_taken(o->taken_fields, name);
}

/* True for a field that this upstream gets: not null, and taken by its options. */
static bool is_sent(const struct extra_field *f, const struct chat_request_options *o)
{
    return !str_is_none(f->value) && is_taken(o, f->name);
}

str chat_extra_get(const struct responses_request *r, const struct chat_request_options *o,
                   str name)
{
    return is_taken(o, name) ? extra_fields_get(&r->extra, name) : STR_NONE;
}

static bool switches_thinking_off(const struct responses_request *r,
                                  const struct chat_request_options *o)
{
    return o->thinking_switch && !str_is_none(r->reasoning.effort) &&
           json_text_eq(r->reasoning.effort, STR("none"));
}

/* A member whose name is the client's, both as they stand in JSON. */
static void write_member(struct jw *w, str escaped_name, str value)
{
    jw_open_string(w);
    json_copy_text(escaped_name, w->out);
    jw_close_string(w);
    buf_char(w->out, ':');
    w->comma = false;
    json_copy_element(w, value);
}

/* The client's own arguments for the template stay, but for the switch. */
static void write_template_arguments(str given, struct jw *w)
{
    struct jr j;
    str name;

    jr_init(&j, given);
    jw_key(w, "chat_template_kwargs");
    jw_object(w);
    if (jr_enter(&j, JR_OBJECT)) {
        while (jr_next_member(&j, &name)) {
            str raw_name = j.raw_key, value = jr_raw(&j);

            if (!str_eq(name, STR("enable_thinking")))
                write_member(w, raw_name, value);
        }
    }
    jw_key_bool(w, "enable_thinking", false);
    jw_object_end(w);
}

/* Chat words that mean nothing to a prompt, or something else, and what we say ourselves. A form
 * of the answer would bind the reasoning, and the format around it, as well. */
static bool is_for_prompts(const struct responses_request *r, const struct extra_field *f)
{
    static const str others[] = {
        STR_INIT("messages"),
        STR_INIT("prompt"),
        STR_INIT("max_completion_tokens"),
        STR_INIT("logprobs"),
        STR_INIT("response_format"),
        STR_INIT("reasoning_effort"),
        STR_INIT("verbosity"),
        STR_INIT("chat_template_kwargs"),
        STR_INIT("skip_special_tokens"),
        STR_INIT("spaces_between_special_tokens"),
        STR_INIT("add_special_tokens"),
        STR_INIT("stop_token_ids"),
        STR_INIT("preserved_tokens"),
    };

    return !str_is_one_of(f->name, LIST_OF(others)) && !is_ours(r, f->name) && !asks_for_choices(f);
}

void chat_extra_write_for_prompt(const struct responses_request *r,
                                 const struct chat_request_options *o, struct jw *w)
{
    for (const struct extra_field *f = r->extra.first; f != NULL; f = f->next) {
        if (is_sent(f, o) && is_for_prompts(r, f))
            write_member(w, f->raw_name, f->value);
    }
}

void chat_extra_write(const struct responses_request *r, const struct chat_request_options *o,
                      bool continues, struct jw *w)
{
    bool thinking_off = switches_thinking_off(r, o);

    for (const struct extra_field *f = r->extra.first; f != NULL; f = f->next) {
        if (!is_sent(f, o) || is_ours(r, f->name) || is_said(o, continues, f->name) ||
            asks_for_choices(f))
            continue;
        if (!thinking_off || !str_eq(f->name, STR("chat_template_kwargs")))
            write_member(w, f->raw_name, f->value);
    }
    if (thinking_off)
        write_template_arguments(chat_extra_get(r, o, STR("chat_template_kwargs")), w);
}
