/* mcp_outcome.c -- what came of a call, as the texts that a turn needs.
 *
 * Secrets are taken out of what a failure is written from, not of what is written: a text
 * is cut, and half a secret would not be found; and in JSON a secret may be escaped, or
 * its removal may leave something that is no JSON (MCP 16.6). */
#include "mcp/mcp_hub_internal.h"

#include "json/json_copy.h"
#include "json/json_text.h"

/* So much of a failed result is searched for secrets; more than that nobody gets to see
 * (MCP 14.2). */
enum { SEARCHED_BYTES = 256 * 1024 };

struct hider {
    const struct secrets *secrets;
    size_t left; /* of SEARCHED_BYTES */
    struct jw w;
};

static void hide_string(struct hider *h, str escaped)
{
    struct buf text = {0}, hidden = {0};
    str searched;

    json_text_decode(escaped, &text);
    searched = buf_str(&text);
    searched.len = searched.len < h->left ? searched.len : h->left;
    h->left -= searched.len;
    secrets_hide(h->secrets, searched, &hidden);
    jw_string(&h->w, buf_str(&hidden));
    h->w.out->failed |= buf_failed(&text) || buf_failed(&hidden);
    buf_fini(&text);
    buf_fini(&hidden);
}

/* Copies the next value; its depth is bounded by the reader's. */
static void hide_value(struct hider *h, struct jr *j)
{
    enum jr_type type = jr_peek(j);
    str name;

    if (type == JR_STRING) {
        hide_string(h, jr_string(j));
    } else if (type == JR_OBJECT && jr_enter(j, type)) {
        jw_object(&h->w);
        while (jr_next_member(j, &name)) {
            json_copy_key(&h->w, j->raw_key);
            hide_value(h, j);
        }
        jw_object_end(&h->w);
    } else if (type == JR_ARRAY && jr_enter(j, type)) {
        jw_array(&h->w);
        while (jr_next_element(j))
            hide_value(h, j);
        jw_array_end(&h->w);
    } else {
        json_copy_element(&h->w, jr_raw(j));
    }
}

/* The value without secrets in the buf; STR_NONE for STR_NONE. */
static str hide_json(const struct secrets *secrets, str raw, struct buf *out)
{
    struct hider h = {.secrets = secrets, .left = SEARCHED_BYTES, .w = jw_to(out)};
    struct jr j;

    if (str_is_none(raw))
        return raw;
    jr_init(&j, raw);
    hide_value(&h, &j);
    return buf_str(out);
}

static void write_failure(struct hub_outcome *o, const struct mcp_failure *failure, str label,
                          const struct secrets *secrets)
{
    struct buf message = {0}, content = {0}, structured = {0};
    struct mcp_failure shown = *failure;
    struct mcp_call_result result;

    secrets_hide(secrets, failure->message, &message);
    shown.message = buf_str(&message);
    shown.label = label;
    if (failure->result != NULL) {
        result = *failure->result;
        result.content = hide_json(secrets, result.content, &content);
        result.structured = hide_json(secrets, result.structured, &structured);
        shown.result = &result;
    }
    mcp_failure_text(&shown, &o->error);
    mcp_failure_object(&shown, &o->error_object);
    o->error.failed |= buf_failed(&message) || buf_failed(&content) || buf_failed(&structured);
    buf_fini(&message);
    buf_fini(&content);
    buf_fini(&structured);
}

static void write_result(struct hub_outcome *o, const struct mcp_call_result *result,
                         const struct mcp_forms *forms)
{
    const struct mcp_result_options options = {
        .form = forms->result,
        .limit_bytes = forms->result_limit_bytes,
        .others_as_json = forms->others_as_json,
    };

    mcp_result_write(result, &options, &o->output);
}

static bool has_failed(const struct hub_outcome *o)
{
    return buf_failed(&o->output) || buf_failed(&o->error) || buf_failed(&o->error_object);
}

void hub_outcome_write(struct hub_outcome *o, const struct mcp_failure *failure,
                       const struct mcp_call_result *result, str label,
                       const struct secrets *secrets, const struct mcp_forms *forms)
{
    o->is_failed = failure != NULL;
    if (failure != NULL)
        write_failure(o, failure, label, secrets);
    else
        write_result(o, result, forms);
    if (has_failed(o)) {
        hub_outcome_fini(o);
        o->is_failed = true;
    }
}

void hub_outcome_fini(struct hub_outcome *o)
{
    buf_fini(&o->output);
    buf_fini(&o->error);
    buf_fini(&o->error_object);
    *o = (struct hub_outcome){.is_failed = false};
}
