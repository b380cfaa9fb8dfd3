/* mcp_schema.c -- one walk to check a schema, one to copy it. */
#include "mcp/proto/mcp_schema.h"

#include "base/utf8.h"
#include "json/json_copy.h"
#include "json/json_text.h"
#include "mcp/proto/mcp_place.h"

static int refuse_schema(struct err *reterr, const char *why)
{
    err_set(reterr, ERR_UPSTREAM_ERROR, "its inputSchema %s", why);
    return -1;
}

/* How many containers lie inside each other; raw is valid. */
static size_t depth_of(str raw)
{
    size_t depth = 0, deepest = 0;
    bool in_string = false;

    for (size_t i = 0; i < raw.len; i++) {
        char c = raw.p[i];

        if (in_string) {
            i += c == '\\';
            in_string = c != '"';
        } else if (c == '"') {
            in_string = true;
        } else if (c == '{' || c == '[') {
            deepest = ++depth > deepest ? depth : deepest;
        } else if (c == '}' || c == ']') {
            depth--;
        }
    }
    return deepest;
}

int mcp_schema_check(str schema, struct err *reterr)
{
    str type = jr_member(schema, STR("type"));

    if (jr_type_of(schema) != JR_OBJECT)
        return refuse_schema(reterr, "is not an object");
    if (schema.len > MCP_SCHEMA_MAX_BYTES)
        return refuse_schema(reterr, "is larger than 256 KiB");
    if (depth_of(schema) > MCP_SCHEMA_MAX_DEPTH)
        return refuse_schema(reterr, "is nested more than 64 levels deep");
    if (!str_is_none(type) && !json_text_eq(jr_member_string(schema, STR("type")), STR("object")))
        return refuse_schema(reterr, "has another type than \"object\"");
    return 0;
}

/* ---- copying */

static void copy_value(struct jr *j, struct jw *w, enum mcp_place place);

static void copy_members(struct jr *j, struct jw *w, enum mcp_place place)
{
    bool is_root = j->depth == 1;
    str key;

    while (jr_next_member(j, &key)) {
        if ((mcp_place_has_keywords(place) && str_eq(key, MCP_HEADER_KEYWORD)) ||
            (is_root && str_eq(key, STR("$schema")))) {
            jr_skip(j);
            continue;
        }
        json_copy_key(w, j->raw_key);
        copy_value(j, w, mcp_place_of_member(place, key));
    }
}

static void copy_elements(struct jr *j, struct jw *w, enum mcp_place place)
{
    while (jr_next_element(j))
        copy_value(j, w, mcp_place_of_element(place));
}

static void copy_value(struct jr *j, struct jw *w, enum mcp_place place)
{
    enum jr_type type = jr_peek(j);

    if (place == MCP_PLACE_DATA || (type != JR_OBJECT && type != JR_ARRAY)) {
        json_copy_element(w, jr_raw(j));
    } else if (type == JR_OBJECT && jr_enter(j, JR_OBJECT)) {
        jw_object(w);
        copy_members(j, w, place);
        jw_object_end(w);
    } else if (type == JR_ARRAY && jr_enter(j, JR_ARRAY)) {
        jw_array(w);
        copy_elements(j, w, place);
        jw_array_end(w);
    }
}

void mcp_schema_write(str schema, struct buf *out)
{
    struct jw w = jw_to(out);
    struct jr j;

    jr_init(&j, schema);
    jw_object(&w);
    if (jr_enter(&j, JR_OBJECT))
        copy_members(&j, &w, MCP_PLACE_PROPERTY);
    if (str_is_none(jr_member(schema, STR("type"))))
        jw_key_string(&w, "type", STR("object"));
    if (str_is_none(jr_member(schema, STR("properties"))))
        jw_key_raw(&w, "properties", STR("{}"));
    jw_object_end(&w);
}

/* ---- descriptions */

static bool is_shown(str character)
{
    return !utf8_is_control(character) || character.p[0] == '\t' || character.p[0] == '\n';
}

static void append_without_controls(str text, struct buf *out)
{
    while (text.len > 0) {
        size_t n = utf8_char(text);

        if (n > 0 && is_shown(str_from(text.p, n)))
            buf_append(out, str_from(text.p, n));
        text = str_skip(text, n > 0 ? n : 1);
    }
}

void mcp_description_write(const struct mcp_tool *tool, str server_description, struct buf *out)
{
    str own = tool->description.len > 0 ? tool->description : tool->title;
    struct buf text = {0};
    size_t from = out->len, n;

    append_without_controls(server_description, out);
    if (server_description.len > 0 && own.len > 0)
        buf_char(out, '\n');
    json_text_decode(own, &text);
    append_without_controls(buf_str(&text), out);
    if (buf_failed(&text))
        out->failed = true;
    buf_fini(&text);
    if (buf_failed(out))
        return;
    n = utf8_cut(str_skip(buf_str(out), from), MCP_DESCRIPTION_MAX_BYTES);
    out->len = from + n;
}
