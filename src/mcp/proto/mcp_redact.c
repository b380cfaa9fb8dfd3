/* mcp_redact.c -- JSON is copied, its texts decoded, searched and written again. */
#include "mcp/proto/mcp_redact.h"

#include "json/json_copy.h"
#include "json/json_read.h"
#include "json/json_text.h"
#include "json/json_write.h"

enum { SEARCHED_BYTES = 256 * 1024 };

struct redaction {
    const struct secrets *secrets;
    bool hides_names; /* of members as well */
    size_t left;      /* of SEARCHED_BYTES */
    struct jw w;
};

/* Appends the text without secrets, plain. */
static void redact_text(struct redaction *r, str escaped, struct buf *out)
{
    struct buf text = {0};
    str searched;

    json_text_decode(escaped, &text);
    searched = buf_str(&text);
    searched.len = searched.len < r->left ? searched.len : r->left;
    r->left -= searched.len;
    secrets_hide(r->secrets, searched, out);
    r->w.out->failed |= buf_failed(&text) || buf_failed(out);
    buf_fini(&text);
}

static void copy_string(struct redaction *r, str escaped)
{
    struct buf shown = {0};

    redact_text(r, escaped, &shown);
    jw_string(&r->w, buf_str(&shown));
    buf_fini(&shown);
}

static void copy_name(struct redaction *r, str escaped)
{
    struct buf shown = {0}, name = {0};

    if (!r->hides_names) {
        json_copy_key(&r->w, escaped);
        return;
    }
    redact_text(r, escaped, &shown);
    json_text_escape(buf_str(&shown), &name);
    json_copy_key(&r->w, buf_str(&name));
    r->w.out->failed |= buf_failed(&name);
    buf_fini(&shown);
    buf_fini(&name);
}

/* {"type": "text"} is what the part is, even if somebody's secret is "text". */
static bool is_part_type(const struct redaction *r, str name, struct jr *j)
{
    static const str kinds[] = {STR_INIT("\"text\""), STR_INIT("\"image\""), STR_INIT("\"audio\""),
                                STR_INIT("\"resource\""), STR_INIT("\"resource_link\"")};
    struct jr ahead = *j;
    str value;

    if (r->hides_names || !str_eq(name, STR("type")))
        return false;
    value = jr_raw(&ahead);
    return str_is_one_of(value, LIST_OF(kinds));
}

/* Copies the next value; its depth is bounded by the reader's. */
static void copy_value(struct redaction *r, struct jr *j)
{
    enum jr_type type = jr_peek(j);
    str name;

    if (type == JR_STRING) {
        copy_string(r, jr_string(j));
    } else if (type == JR_OBJECT && jr_enter(j, type)) {
        jw_object(&r->w);
        while (jr_next_member(j, &name)) {
            copy_name(r, j->raw_key);
            if (is_part_type(r, name, j))
                json_copy_element(&r->w, jr_raw(j));
            else
                copy_value(r, j);
        }
        jw_object_end(&r->w);
    } else if (type == JR_ARRAY && jr_enter(j, type)) {
        jw_array(&r->w);
        while (jr_next_element(j))
            copy_value(r, j);
        jw_array_end(&r->w);
    } else {
        json_copy_element(&r->w, jr_raw(j));
    }
}

static str redact_json(struct redaction *r, str raw, struct buf *out)
{
    struct jr j;

    if (str_is_none(raw))
        return raw;
    r->left = SEARCHED_BYTES;
    r->w = jw_to(out);
    jr_init(&j, raw);
    copy_value(r, &j);
    return buf_failed(out) ? STR("[]") : buf_str(out);
}

str mcp_redact_content(const struct secrets *secrets, str raw, struct buf *out)
{
    struct redaction r = {.secrets = secrets};

    return redact_json(&r, raw, out);
}

str mcp_redact_structured(const struct secrets *secrets, str raw, struct buf *out)
{
    struct redaction r = {.secrets = secrets, .hides_names = true};

    return redact_json(&r, raw, out);
}
