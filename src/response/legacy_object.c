/* legacy_object.c -- the response object of the legacy dialect.
 *
 * What it has in common with the other is taken out of the members that repeat
 * the request. Its output are the calls, if there are any; else, once it has
 * ended, one message with all of the text. */
#include "response/legacy.h"

#include "json/json_copy.h"
#include "json/json_read.h"
#include "json/json_text.h"
#include "response/client_call.h"
#include "wire/dialect/upstream_error.h"

bool legacy_shows(const struct output_item *item)
{
    switch (item->kind) {
    case OUTPUT_FUNCTION_CALL:
    case OUTPUT_CUSTOM_TOOL_CALL:
    case OUTPUT_LOCAL_SHELL_CALL:
    case OUTPUT_SHELL_CALL:
    case OUTPUT_APPLY_PATCH_CALL:
    case OUTPUT_CLIENT_SEARCH_CALL:
    case OUTPUT_MCP_CALL:
        return !item->is_hidden && !item->is_waiting;
    default:
        return false;
    }
}

/* A call that a client has approved has no other. */
str legacy_call_id(const struct output_item *item)
{
    return item->call_id.len > 0 ? item->call_id : id_str(&item->id);
}

/* ---- what tools returned */

static bool is_array_of_texts(str json)
{
    struct jr j;

    if (!jr_is_valid(json) || jr_type_of(str_trim(json)) != JR_ARRAY)
        return false;
    jr_init(&j, json);
    (void)jr_enter(&j, JR_ARRAY);
    while (jr_next_element(&j)) {
        if (str_is_none(jr_string(&j)))
            return false;
    }
    return true;
}

/* Puts one text, escaped, into an array, and escapes that. */
static void write_only_text(const char *prefix, str escaped, struct buf *out)
{
    struct buf json = {.limit = 0};

    buf_c(&json, "[\"");
    buf_c(&json, prefix);
    buf_append(&json, escaped);
    buf_c(&json, "\"]");
    json_text_escape(buf_str(&json), out);
    out->failed = out->failed || buf_failed(&json);
    buf_fini(&json);
}

static void write_result(str output, struct buf *out)
{
    struct buf plain = {.limit = 0};

    json_text_decode(output, &plain);
    if (is_array_of_texts(buf_str(&plain)))
        buf_append(out, output);
    else
        write_only_text("", output, out);
    out->failed = out->failed || buf_failed(&plain);
    buf_fini(&plain);
}

static void write_failure(str error, struct buf *out)
{
    struct buf text = {.limit = 0};

    if (jr_type_of(error) == JR_STRING)
        buf_append(&text, str_from(error.p + 1, error.len - 2));
    else
        json_text_escape(error, &text);
    write_only_text("Error: ", buf_str(&text), out);
    out->failed = out->failed || buf_failed(&text);
    buf_fini(&text);
}

bool legacy_write_output(const struct output_item *item, struct buf *out)
{
    if (!str_is_none(item->output))
        write_result(item->output, out);
    else if (!str_is_none(item->error))
        write_failure(item->error, out);
    else
        return false;
    return true;
}

/* ---- output */

/* The gateway's own calls keep the form in which they were announced. */
static void write_call(const struct output_item *item, struct jw *w)
{
    bool is_hosted = item->kind == OUTPUT_MCP_CALL;
    bool is_ready = !is_hosted && item->status != OUTPUT_INCOMPLETE;

    jw_object(w);
    if (client_call_is(item->kind))
        jw_key_string(w, "arguments", buf_str(&item->text)); /* raw JSON */
    else
        jw_key_escaped(w, "arguments", is_hosted ? STR("") : buf_str(&item->text));
    jw_key_escaped(w, "call_id", legacy_call_id(item));
    jw_key_escaped(w, "name", item->name);
    jw_key_string(w, "type", STR("function_call"));
    jw_key_escaped(w, "id", legacy_call_id(item));
    jw_key_string(w, "status", is_ready ? STR("ready") : STR("in_progress"));
    jw_object_end(w);
}

static void write_call_output(const struct output_item *item, struct jw *w)
{
    struct buf text = {.limit = 0};

    if (legacy_write_output(item, &text)) {
        jw_object(w);
        jw_key_escaped(w, "id", legacy_call_id(item));
        jw_key_string(w, "type", STR("function_call_output"));
        jw_key_escaped(w, "call_id", legacy_call_id(item));
        jw_key_escaped(w, "output", buf_str(&text));
        jw_object_end(w);
    }
    w->out->failed = w->out->failed || buf_failed(&text);
    buf_fini(&text);
}

static void write_text(const struct response *r, struct jw *w)
{
    jw_key(w, "text");
    jw_open_string(w);
    for (const struct output_item *item = r->first; item != NULL; item = item->next) {
        if (item->kind != OUTPUT_MESSAGE)
            continue;
        for (const struct output_part *p = item->first; p != NULL; p = p->next)
            buf_append(w->out, buf_str(&p->text));
    }
    jw_close_string(w);
}

static void write_message(const struct response *r, const struct output_item *first, struct jw *w)
{
    jw_object(w);
    jw_key_string(w, "id", id_str(&first->id));
    jw_key_string(w, "type", STR("message"));
    jw_key_string(w, "role", STR("assistant"));
    jw_key(w, "content");
    jw_array(w);
    jw_object(w);
    jw_key_string(w, "type", STR("output_text"));
    write_text(r, w);
    jw_object_end(w);
    jw_array_end(w);
    jw_object_end(w);
}

static void write_output(const struct response *r, struct jw *w)
{
    const struct output_item *message = NULL;
    bool has_calls = false;

    jw_key(w, "output");
    jw_array(w);
    for (const struct output_item *item = r->first; item != NULL; item = item->next) {
        if (message == NULL && item->kind == OUTPUT_MESSAGE)
            message = item;
        if (!legacy_shows(item))
            continue;
        has_calls = true;
        write_call(item, w);
        write_call_output(item, w);
    }
    if (!has_calls && message != NULL && response_has_ended(r))
        write_message(r, message, w);
    jw_array_end(w);
}

/* ---- the object */

static bool is_repeated(str key)
{
    static const str keys[] = {STR_INIT("instructions"),
                               STR_INIT("max_output_tokens"),
                               STR_INIT("model"),
                               STR_INIT("parallel_tool_calls"),
                               STR_INIT("previous_response_id"),
                               STR_INIT("reasoning"),
                               STR_INIT("temperature"),
                               STR_INIT("text"),
                               STR_INIT("tools"),
                               STR_INIT("top_p"),
                               STR_INIT("truncation"),
                               STR_INIT("metadata")};

    return str_is_one_of(key, LIST_OF(keys));
}

/* The members of the echo that this dialect has as well. */
static void write_echo(str echo, struct jw *w)
{
    struct buf object = {.limit = 0};
    struct jr j;
    str key;

    buf_char(&object, '{');
    buf_append(&object, echo);
    buf_char(&object, '}');
    jr_init(&j, buf_str(&object));
    (void)jr_enter(&j, JR_OBJECT);
    while (jr_next_member(&j, &key)) {
        str value = jr_raw(&j);

        if (is_repeated(key)) {
            json_copy_key(w, key);
            jw_raw(w, value);
        }
    }
    w->out->failed = w->out->failed || buf_failed(&object);
    buf_fini(&object);
}

/* open-responses-server passes the upstream's words on as they are. */
static void write_error(const struct response *r, struct jw *w)
{
    jw_key(w, "error");
    if (r->status != RESPONSE_FAILED) {
        jw_null(w);
        return;
    }
    jw_object(w);
    jw_key_string(w, "message", upstream_error_unmarked(r->error));
    jw_object_end(w);
}

void legacy_write_object(const struct response *r, struct buf *out)
{
    bool is_running = !response_has_ended(r);
    struct jw w = jw_to(out);

    jw_object(&w);
    jw_key_string(&w, "id", id_str(&r->id));
    jw_key_string(&w, "object", STR("response"));
    jw_key_int(&w, "created_at", r->conf.created_at);
    jw_key_string(&w, "status", is_running ? STR("in_progress") : STR("completed"));
    write_error(r, &w);
    jw_key_raw(&w, "incomplete_details", STR_NONE);
    write_output(r, &w);
    write_echo(r->conf.echo, &w);
    jw_key_bool(&w, "store", false);
    jw_key_string(&w, "tool_choice", STR("auto"));
    jw_key_raw(&w, "usage", STR_NONE);
    jw_key_raw(&w, "user", STR_NONE);
    jw_object_end(&w);
}
