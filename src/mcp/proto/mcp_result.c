/* mcp_result.c -- content parts to text.
 *
 * Each part becomes a plain piece, and a sink puts the pieces together in the
 * form that is wanted. The sink keeps the limit: after the first byte that has
 * no room it only counts, and its end writes the note. */
#include "mcp/proto/mcp_result.h"

#include "base/utf8.h"
#include "json/json_copy.h"
#include "json/json_text.h"

/* ---- the sink */

struct sink {
    struct buf *out;
    struct jw w;
    enum mcp_result_form form;
    size_t room, dropped; /* bytes of text */
    bool open;            /* a piece is there that the note can be appended to */
};

static void sink_init(struct sink *s, const struct mcp_result_options *o, struct buf *out)
{
    *s = (struct sink){.out = out, .w = jw_to(out), .form = o->form};
    s->room = o->limit_bytes == 0 ? MCP_RESULT_LIMIT_BYTES : o->limit_bytes;
    if (s->form != MCP_RESULT_TEXT)
        jw_array(&s->w);
}

static void append_text(struct sink *s, str text)
{
    if (s->form == MCP_RESULT_TEXT)
        buf_append(s->out, text);
    else
        json_text_escape(text, s->out);
}

static void close_piece(struct sink *s)
{
    if (!s->open || s->form == MCP_RESULT_TEXT)
        return;
    jw_close_string(&s->w);
    if (s->form == MCP_RESULT_PARTS)
        jw_object_end(&s->w);
}

static void open_piece(struct sink *s)
{
    if (s->form == MCP_RESULT_TEXT && s->open)
        buf_char(s->out, '\n');
    close_piece(s);
    if (s->form == MCP_RESULT_PARTS) {
        jw_object(&s->w);
        jw_key_string(&s->w, "type", STR("text"));
        jw_key(&s->w, "text");
    }
    if (s->form != MCP_RESULT_TEXT)
        jw_open_string(&s->w);
    s->open = true;
}

/* What stands between two pieces counts as one byte, so that a flood of empty
 * ones ends as well. */
static void sink_piece(struct sink *s, str text)
{
    size_t between = s->open ? 1 : 0;
    bool has_room = s->dropped == 0 && s->room >= between;
    size_t n = has_room ? utf8_cut(text, s->room - between) : 0;

    if (s->open && n == 0 && (!has_room || text.len > 0)) {
        s->dropped += text.len;
        return;
    }
    open_piece(s);
    append_text(s, str_from(text.p, n));
    s->room -= n + between;
    s->dropped = text.len - n;
}

static void sink_end(struct sink *s)
{
    if (s->dropped > 0) {
        append_text(s, STR("\n["));
        buf_uint(s->out, s->dropped);
        append_text(s, STR(" bytes dropped]"));
    }
    close_piece(s);
    if (s->form != MCP_RESULT_TEXT)
        jw_array_end(&s->w);
}

/* ---- pieces */

static void remove_nul(struct buf *b)
{
    char *to = b->p == NULL ? NULL : memchr(b->p, '\0', b->len);

    if (to == NULL)
        return;
    for (const char *from = to; from < b->p + b->len; from++) {
        if (*from != '\0')
            *to++ = *from;
    }
    b->len = (size_t)(to - b->p);
}

static void append_member(str raw, str name, const char *before, struct buf *piece)
{
    str text = jr_member_string(raw, name);

    if (text.len == 0)
        return;
    buf_c(piece, before);
    json_text_decode(text, piece);
}

static bool is_base64_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '+' ||
           c == '/' || c == '-' || c == '_';
}

/* The number of bytes that base64 stands for; line ends and padding do not count. */
static size_t decoded_size(str base64)
{
    size_t n = 0;

    for (size_t i = 0; i < base64.len; i++)
        n += is_base64_char(base64.p[i]);
    return n / 4 * 3 + n % 4 * 3 / 4;
}

/* "[image image/png, 12 bytes]" and the address, when there is one. */
static void name_media(const char *kind, str raw, str escaped_data, struct buf *piece)
{
    struct buf data = {0};

    json_text_decode(escaped_data, &data);
    buf_char(piece, '[');
    buf_c(piece, kind);
    append_member(raw, STR("mimeType"), " ", piece);
    buf_append(piece, STR(", "));
    buf_uint(piece, decoded_size(buf_str(&data)));
    buf_append(piece, STR(" bytes]"));
    append_member(raw, STR("uri"), " ", piece);
    if (buf_failed(&data))
        piece->failed = true;
    buf_fini(&data);
}

static bool text_piece(str part, struct buf *piece)
{
    json_text_decode(jr_member_string(part, STR("text")), piece);
    return true;
}

static bool image_piece(str part, struct buf *piece)
{
    name_media("image", part, jr_member_string(part, STR("data")), piece);
    return false;
}

static bool audio_piece(str part, struct buf *piece)
{
    name_media("audio", part, jr_member_string(part, STR("data")), piece);
    return false;
}

static bool resource_piece(str part, struct buf *piece)
{
    str resource = jr_member(part, STR("resource"));

    if (!str_is_none(jr_member_string(resource, STR("text"))))
        return text_piece(resource, piece);
    name_media("blob", resource, jr_member_string(resource, STR("blob")), piece);
    return false;
}

static bool link_piece(str part, struct buf *piece)
{
    buf_append(piece, STR("[resource]"));
    append_member(part, STR("name"), " ", piece);
    append_member(part, STR("uri"), " ", piece);
    append_member(part, STR("mimeType"), " ", piece);
    return false;
}

/* How each type of part is written; true when what was written is its text. */
static const struct {
    str type;
    bool (*write)(str part, struct buf *piece);
} part_types[] = {
    {STR_INIT("text"), text_piece},          {STR_INIT("image"), image_piece},
    {STR_INIT("audio"), audio_piece},        {STR_INIT("resource"), resource_piece},
    {STR_INIT("resource_link"), link_piece},
};

static bool write_part(str part, struct buf *piece)
{
    str type = jr_member_string(part, STR("type"));

    for (size_t i = 0; i < COUNT_OF(part_types); i++) {
        if (json_text_eq(type, part_types[i].type))
            return part_types[i].write(part, piece);
    }
    buf_char(piece, '[');
    json_text_decode(type.len > 0 ? type : STR("unknown"), piece);
    buf_char(piece, ']');
    return false;
}

/* ---- all parts */

/* Writes the parts of content; true when one of them was text. */
static bool write_parts(str content, struct sink *s)
{
    struct buf piece = {0};
    bool any_text = false;
    struct jr j;

    jr_init(&j, content);
    if (str_is_none(content) || !jr_enter(&j, JR_ARRAY))
        return false;
    while (jr_next_element(&j)) {
        str part = jr_raw(&j);
        bool is_text;

        buf_reset(&piece);
        is_text = write_part(part, &piece);
        if (!is_text && s->form == MCP_RESULT_JSON_ARRAY)
            continue;
        if (buf_failed(&piece))
            s->out->failed = true;
        remove_nul(&piece);
        sink_piece(s, buf_str(&piece));
        any_text = any_text || is_text;
    }
    buf_fini(&piece);
    return any_text;
}

void mcp_result_write(const struct mcp_call_result *r, const struct mcp_result_options *o,
                      struct buf *out)
{
    struct sink s;

    sink_init(&s, o, out);
    if (!write_parts(r->content, &s) && !str_is_none(r->structured)) {
        struct buf json = {0};

        json_copy_value(r->structured, &json);
        if (buf_failed(&json))
            out->failed = true;
        sink_piece(&s, buf_str(&json));
        buf_fini(&json);
    }
    sink_end(&s);
}
