/* tool_copy.c -- of MCP tools only the members that are no secret are written. */
#include "conv/tool_copy.h"

#include "base/url.h"
#include "conv/fields.h"
#include "json/json_copy.h"
#include "json/json_read.h"
#include "json/json_text.h"

struct mcp {
    str server_label, server_url, server_description, allowed_tools, require_approval;
    str defer_loading;
};

static const struct field mcp_table[] = {
    FIELD(struct mcp, server_label, FIELD_TEXT),
    FIELD(struct mcp, server_url, FIELD_TEXT),
    FIELD(struct mcp, server_description, FIELD_TEXT),
    FIELD(struct mcp, allowed_tools, FIELD_ARRAY_OR_OBJECT),
    FIELD(struct mcp, require_approval, FIELD_TEXT_OR_OBJECT),
    FIELD(struct mcp, defer_loading, FIELD_BOOLEAN),
};

/* Keys are where people put them: in what is not shown. */
static void write_url(struct jw *w, const char *key, str escaped)
{
    struct buf url = {0}, shown = {0};

    json_text_decode(escaped, &url);
    url_write_shown(buf_str(&url), &shown);
    jw_key_string(w, key, buf_str(&shown));
    w->out->failed = w->out->failed || buf_failed(&url) || buf_failed(&shown);
    buf_fini(&url);
    buf_fini(&shown);
}

void tool_copy_mcp(struct jw *w, str raw, str default_approval)
{
    struct mcp f = {0};

    (void)fields_read_raw(raw, FIELDS(mcp_table), NULL, &f, NULL);
    jw_object(w);
    jw_key_string(w, "type", STR("mcp"));
    json_copy_given_text(w, "server_label", f.server_label);
    if (!str_is_none(f.server_url))
        write_url(w, "server_url", f.server_url);
    json_copy_given_text(w, "server_description", f.server_description);
    json_copy_given_value(w, "allowed_tools", f.allowed_tools);
    json_copy_given_value(w, "require_approval",
                          str_is_none(f.require_approval) ? default_approval : f.require_approval);
    json_copy_given_value(w, "defer_loading", f.defer_loading);
    jw_object_end(w);
}

static void write_namespace(struct jw *w, str raw)
{
    struct jr j;
    str key;

    jw_object(w);
    jr_init(&j, raw);
    (void)jr_enter(&j, JR_OBJECT);
    while (jr_next_member(&j, &key)) {
        bool is_list = str_eq(key, STR("tools")) && jr_peek(&j) == JR_ARRAY;

        json_copy_key(w, j.raw_key);
        if (is_list)
            tool_copy_list(w, jr_raw(&j));
        else
            json_copy_element(w, jr_raw(&j));
    }
    jw_object_end(w);
}

void tool_copy(struct jw *w, str raw)
{
    str type = jr_type_of(raw) == JR_OBJECT ? jr_member_string(raw, STR("type")) : STR_NONE;

    if (!str_is_none(type) && json_text_eq(type, STR("mcp")))
        tool_copy_mcp(w, raw, STR_NONE);
    else if (!str_is_none(type) && json_text_eq(type, STR("namespace")))
        write_namespace(w, raw);
    else
        json_copy_element(w, raw);
}

void tool_copy_list(struct jw *w, str raw)
{
    struct jr j;

    jw_array(w);
    jr_init(&j, raw);
    (void)jr_enter(&j, JR_ARRAY);
    while (jr_next_element(&j))
        tool_copy(w, jr_raw(&j));
    jw_array_end(w);
}
