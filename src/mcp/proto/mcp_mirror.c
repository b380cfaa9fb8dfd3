/* mcp_mirror.c -- find the annotations of a schema, write the headers of a call. */
#include "mcp/proto/mcp_mirror.h"

#include "base/base64.h"
#include "base/header.h"
#include "json/json_read.h"
#include "json/json_text.h"
#include "mcp/proto/mcp_place.h"

#define PREFIX "Mcp-Param-"

enum { MAX_HEADERS = 64 }; /* of one tool; more than that no server means */

/* ---- reading a schema */

struct mcp_step {
    const struct mcp_step *from; /* the step before, NULL at the root */
    str name;                    /* plain */
};

struct search {
    struct arena *arena;
    struct mcp_mirror *first, **last;
    size_t n;
    struct err *reterr;
};

static int refuse_annotation(struct search *s, const char *why)
{
    err_set(s->reterr, ERR_UPSTREAM_ERROR, "an x-mcp-header of its inputSchema %s", why);
    return -1;
}

static bool header_is_taken(const struct search *s, str header)
{
    for (const struct mcp_mirror *m = s->first; m != NULL; m = m->next) {
        if (str_eq_nocase(m->header, header))
            return true;
    }
    return false;
}

/* "Mcp-Param-" and the name in the arena. */
static str header_dup(struct arena *a, str name)
{
    struct buf header = {0};
    str copy;

    buf_append(&header, STR(PREFIX));
    buf_append(&header, name);
    copy = buf_failed(&header) ? STR_NONE : arena_dup(a, buf_str(&header));
    buf_fini(&header);
    return copy;
}

static int add_mirror(struct search *s, str name, const struct mcp_step *path)
{
    struct mcp_mirror *m = arena_alloc(s->arena, sizeof(*m));

    if (m == NULL)
        return err_set_no_memory(s->reterr);
    m->path = path;
    m->header = header_dup(s->arena, name);
    if (str_is_none(m->header))
        return err_set_no_memory(s->reterr);
    if (header_is_taken(s, m->header))
        return refuse_annotation(s, "occurs twice");
    if (++s->n > MAX_HEADERS)
        return refuse_annotation(s, "is one too many");
    *s->last = m;
    s->last = &m->next;
    return 0;
}

/* schema has the annotation; path is NULL when names of properties alone do not lead to it. */
static int read_annotation(struct search *s, str schema, const struct mcp_step *path)
{
    static const str types[] = {STR_INIT("string"), STR_INIT("integer"), STR_INIT("boolean")};
    str raw = jr_member(schema, MCP_HEADER_KEYWORD);
    str type = jr_member_string(schema, STR("type"));
    str name;
    size_t i = 0;

    if (path == NULL)
        return refuse_annotation(s, "is not on a property");
    while (i < 3 && !json_text_eq(type, types[i]))
        i++;
    if (i == 3)
        return refuse_annotation(s, "is on a type that has no place in a header");
    if (jr_type_of(raw) != JR_STRING)
        return refuse_annotation(s, "is not a string");
    name = json_text_dup(s->arena, str_from(raw.p + 1, raw.len - 2));
    if (str_is_none(name))
        return err_set_no_memory(s->reterr);
    if (!header_is_name(name))
        return refuse_annotation(s, "is not the name of a header");
    return add_mirror(s, name, path);
}

static int search_value(struct search *s, str raw, enum mcp_place place,
                        const struct mcp_step *path);

static int search_member(struct search *s, str raw_key, str key, str value, enum mcp_place place,
                         const struct mcp_step *path)
{
    enum mcp_place inner = mcp_place_of_member(place, key);
    struct mcp_step *step;

    if (place != MCP_PLACE_PROPERTIES)
        return search_value(s, value, inner, inner == MCP_PLACE_PROPERTIES ? path : NULL);
    step = arena_alloc(s->arena, sizeof(*step));
    if (step == NULL)
        return err_set_no_memory(s->reterr);
    step->from = path;
    step->name = json_text_dup(s->arena, raw_key);
    if (str_is_none(step->name))
        return err_set_no_memory(s->reterr);
    return search_value(s, value, inner, step);
}

static int search_elements(struct search *s, str array, enum mcp_place place)
{
    struct jr j;

    jr_init(&j, array);
    (void)jr_enter(&j, JR_ARRAY);
    while (jr_next_element(&j)) {
        if (search_value(s, jr_raw(&j), mcp_place_of_element(place), NULL) == -1)
            return -1;
    }
    return 0;
}

/* Only what is at the root or below `properties` has a path; what a path does
 * not reach is searched as well, since an annotation there spoils the tool. */
static int search_value(struct search *s, str raw, enum mcp_place place,
                        const struct mcp_step *path)
{
    struct jr j;
    str key;

    if (place == MCP_PLACE_DATA)
        return 0;
    if (jr_type_of(raw) == JR_ARRAY)
        return search_elements(s, raw, place);
    if (jr_type_of(raw) != JR_OBJECT)
        return 0;
    jr_init(&j, raw);
    (void)jr_enter(&j, JR_OBJECT);
    while (jr_next_member(&j, &key)) {
        int rc;

        if (mcp_place_has_keywords(place) && str_eq(key, MCP_HEADER_KEYWORD)) {
            jr_skip(&j);
            rc = read_annotation(s, raw, path);
        } else {
            str raw_key = j.raw_key;

            rc = search_member(s, raw_key, key, jr_raw(&j), place, path);
        }
        if (rc == -1)
            return -1;
    }
    return 0;
}

int mcp_mirrors_read(str schema, struct arena *a, struct mcp_mirror **ret, struct err *reterr)
{
    struct search s = {.arena = a, .reterr = reterr};

    *ret = NULL;
    if (str_find(schema, STR("x-")) == schema.len && str_find_char(schema, '\\') == schema.len)
        return 0;
    s.last = &s.first;
    if (search_value(&s, schema, MCP_PLACE_PROPERTY, NULL) == -1)
        return -1;
    *ret = s.first;
    return 0;
}

/* ---- writing headers */

/* Names are compared as text: schema and arguments may escape differently. */
static str find_member(str object, str name)
{
    struct jr j;
    str key, value = STR_NONE;

    if (jr_type_of(object) != JR_OBJECT)
        return value;
    jr_init(&j, object);
    (void)jr_enter(&j, JR_OBJECT);
    while (jr_next_member(&j, &key)) {
        bool is_it = json_text_eq(j.raw_key, name);
        str raw = jr_raw(&j);

        value = is_it ? raw : value;
    }
    return value;
}

static str follow_path(const struct mcp_step *path, str arguments)
{
    return path == NULL ? arguments : find_member(follow_path(path->from, arguments), path->name);
}

static bool is_header_text(str text)
{
    for (size_t i = 0; i < text.len; i++) {
        if (text.p[i] < ' ' || text.p[i] > '~')
            return false;
    }
    return text.len == 0 || (text.p[0] != ' ' && text.p[text.len - 1] != ' ');
}

static bool is_marked(str text)
{
    return str_starts_with_nocase(text, STR("=?base64?")) && str_ends_with(text, STR("?="));
}

void mcp_header_value(str text, struct buf *out)
{
    if (is_header_text(text) && !is_marked(text)) {
        buf_append(out, text);
        return;
    }
    buf_append(out, STR("=?base64?"));
    base64_write(text, out);
    buf_append(out, STR("?="));
}

/* 3.0 and 3e0 are the integer 3; a number that is no integer goes as it is, for the server to
 * refuse, in the header as in the body. */
static void append_number(str raw, struct buf *value)
{
    struct jr j;
    int64_t n;

    jr_init(&j, raw);
    n = jr_int(&j, INT64_MIN);
    if (n == INT64_MIN)
        buf_append(value, raw);
    else
        buf_int(value, n);
}

bool mcp_mirror_value(const struct mcp_mirror *m, str arguments, struct buf *value)
{
    str raw = follow_path(m->path, arguments);
    struct buf text = {0};

    switch (jr_type_of(raw)) {
    case JR_STRING:
        json_text_decode(str_from(raw.p + 1, raw.len - 2), &text);
        if (buf_failed(&text))
            value->failed = true;
        mcp_header_value(buf_str(&text), value);
        buf_fini(&text);
        return true;
    case JR_NUMBER:
        append_number(raw, value);
        return true;
    case JR_TRUE:
    case JR_FALSE:
        buf_append(value, raw);
        return true;
    default: /* absent, null, or nothing a header could hold */
        return false;
    }
}
