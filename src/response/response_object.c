/* response_object.c -- the response object (CONTRACT 3): state first, then the
 * members that repeat the request, which never change. */
#include "response/response_internal.h"

static const char *const status_words[] = {
    [RESPONSE_IN_PROGRESS] = "in_progress", [RESPONSE_COMPLETED] = "completed",
    [RESPONSE_INCOMPLETE] = "incomplete",   [RESPONSE_FAILED] = "failed",
    [RESPONSE_QUEUED] = "queued",           [RESPONSE_CANCELLED] = "cancelled",
};

bool response_read_status(str word, enum response_status *ret)
{
    for (size_t i = 0; i < COUNT_OF(status_words); i++) {
        if (str_eq(word, str_from_c(status_words[i]))) {
            *ret = (enum response_status)i;
            return true;
        }
    }
    return false;
}

void response_write_error(const struct err *e, struct jw *w)
{
    jw_object(w);
    jw_key_string(w, "code", str_from_c(err_stream_code(e)));
    jw_key_string(w, "message", str_from_c(e->msg));
    jw_key_string(w, "type", str_from_c(err_type(e)));
    jw_key_string(w, "param", e->param[0] == '\0' ? STR_NONE : str_from_c(e->param));
    jw_object_end(w);
}

/* Null while it runs, and when it failed or was cancelled before the model had answered (CONTRACT 3). */
static bool has_usage(const struct response *r)
{
    const bool has_failed = r->status == RESPONSE_FAILED || r->status == RESPONSE_CANCELLED;

    return response_has_ended(r) && (!has_failed || r->n_rounds > 0 || r->usage.known);
}

void response_write_usage(const struct response *r, struct jw *w)
{
    const struct usage *u = &r->usage;

    jw_key(w, "usage");
    if (!has_usage(r)) {
        jw_null(w);
        return;
    }
    jw_object(w);
    jw_key_int(w, "input_tokens", u->input);
    jw_key(w, "input_tokens_details");
    jw_object(w);
    jw_key_int(w, "cached_tokens", u->cached);
    jw_key_int(w, "cache_write_tokens", u->cache_write);
    jw_object_end(w);
    jw_key_int(w, "output_tokens", u->output);
    jw_key(w, "output_tokens_details");
    jw_object(w);
    jw_key_int(w, "reasoning_tokens", u->reasoning);
    jw_object_end(w);
    jw_key_int(w, "total_tokens", u->input + u->output);
    jw_object_end(w);
}

static void write_state(const struct response *r, struct jw *w)
{
    jw_key_string(w, "id", id_str(&r->id));
    jw_key_string(w, "object", STR("response"));
    jw_key_int(w, "created_at", r->conf.created_at);
    jw_key(w, "completed_at");
    if (r->status == RESPONSE_COMPLETED)
        jw_int(w, r->completed_at);
    else
        jw_null(w);
    jw_key_string(w, "status", str_from_c(status_words[r->status]));
    jw_key(w, "error");
    if (r->status == RESPONSE_FAILED)
        response_write_error(r->error, w);
    else
        jw_null(w);
    jw_key(w, "incomplete_details");
    if (r->status == RESPONSE_INCOMPLETE) {
        jw_object(w);
        jw_key_string(w, "reason", str_from_c(r->incomplete_reason));
        jw_object_end(w);
    } else {
        jw_null(w);
    }
}

void response_object_head(const struct response *r, struct buf *out)
{
    struct jw w = jw_to(out);

    jw_object(&w);
    write_state(r, &w);
    jw_key(&w, "output");
    jw_array(&w);
}

void response_object_tail(const struct response *r, struct buf *out)
{
    struct jw w = jw_to(out);

    jw_array_end(&w);
    response_write_usage(r, &w);
    jw_key_escaped(&w, "service_tier", r->service_tier);
    if (r->conf.echo.len > 0)
        buf_char(out, ',');
    buf_append(out, r->conf.echo);
    jw_object_end(&w);
}

void response_write_items(const struct response *r, struct buf *out)
{
    bool is_first = true;

    for (const struct output_item *item = r->first; item != NULL; item = item->next) {
        if (item->is_hidden)
            continue;
        if (!is_first)
            buf_char(out, ',');
        is_first = false;
        output_item_write(item, out);
    }
}

void response_object(const struct response *r, struct buf *out)
{
    response_object_head(r, out);
    /* While it runs the object shows none of its items (CONTRACT 4.3 rule 9). */
    if (response_has_ended(r))
        response_write_items(r, out);
    response_object_tail(r, out);
}
