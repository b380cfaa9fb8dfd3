/* content.c -- parts of messages and tool outputs.
 *
 * Each part type names the member that holds what matters; what is odd about
 * images and files is in their two functions. */
#include "conv/content.h"

#include "conv/fields.h"
#include "conv/text_file.h"
#include "json/json_copy.h"
#include "json/json_read.h"
#include "json/json_text.h"

struct part_fields {
    str type, text, refusal, image_url, detail, file_id, file_url, file_data, filename;
};

static const struct field part_table[] = {
    FIELD(struct part_fields, type, FIELD_TEXT),
    FIELD(struct part_fields, text, FIELD_TEXT),
    FIELD(struct part_fields, refusal, FIELD_TEXT),
    FIELD(struct part_fields, image_url, FIELD_TEXT_OR_OBJECT),
    FIELD(struct part_fields, detail, FIELD_TEXT),
    FIELD(struct part_fields, file_id, FIELD_TEXT),
    FIELD(struct part_fields, file_url, FIELD_TEXT),
    FIELD(struct part_fields, file_data, FIELD_TEXT),
    FIELD(struct part_fields, filename, FIELD_TEXT),
};

/* What a part reader needs: the part's members, its text, its place. */
struct part_source {
    const struct part_fields *fields;
    str raw;
    const struct path *at;
    const struct input_options *options;
    struct arena *arena;
};

typedef int part_reader(const struct part_source *from, struct part *ret, struct err *reterr);

static int need(const struct part_source *from, str value, str member, str *ret, struct err *reterr)
{
    struct path at = path_member(from->at, member);

    if (str_is_none(value))
        return reject_missing(&at, reterr);
    *ret = value;
    return 0;
}

static int refuse_part(const struct part_source *from, str member, struct err *reterr)
{
    struct path at = path_member(from->at, member);

    return reject_unsupported(&at, reterr);
}

static int read_text(const struct part_source *from, struct part *ret, struct err *reterr)
{
    return need(from, from->fields->text, STR("text"), &ret->text, reterr);
}

static int read_refusal(const struct part_source *from, struct part *ret, struct err *reterr)
{
    return need(from, from->fields->refusal, STR("refusal"), &ret->text, reterr);
}

/* Chat clients write image_url as {url, detail}. */
static int read_image_object(const struct part_source *from, struct part *ret, struct err *reterr)
{
    struct image {
        str url, detail;
    } image = {0};
    static const struct field table[] = {
        FIELD(struct image, url, FIELD_TEXT),
        FIELD(struct image, detail, FIELD_TEXT),
    };
    struct path at = path_member(from->at, STR("image_url"));
    struct part_source inner = {.at = &at};

    if (fields_read_raw(from->fields->image_url, FIELDS(table), &at, &image, reterr) == -1)
        return -1;
    ret->note = image.detail;
    return need(&inner, image.url, STR("url"), &ret->text, reterr);
}

static int read_image_url(const struct part_source *from, struct part *ret, struct err *reterr)
{
    str url = from->fields->image_url;

    if (jr_type_of(url) == JR_OBJECT)
        return read_image_object(from, ret, reterr);
    if (!str_is_none(url))
        url = field_text(url);
    return need(from, url, STR("image_url"), &ret->text, reterr);
}

static int read_image(const struct part_source *from, struct part *ret, struct err *reterr)
{
    if (str_is_none(from->fields->image_url) && !str_is_none(from->fields->file_id))
        return refuse_part(from, STR("file_id"), reterr);
    if (read_image_url(from, ret, reterr) == -1)
        return -1;
    if (!str_is_none(from->fields->detail))
        ret->note = from->fields->detail;
    if (!str_is_none(ret->note) && json_text_eq(ret->note, STR("auto")))
        ret->note = STR_NONE;
    return 0;
}

static int read_text_file(const struct part_source *from, struct part *ret, struct err *reterr)
{
    const struct path at = path_member(from->at, STR("file_data"));

    ret->kind = PART_TEXT;
    return text_file_decode(from->fields->file_data, &at, from->arena, &ret->text, reterr);
}

static int read_file(const struct part_source *from, struct part *ret, struct err *reterr)
{
    const struct part_fields *f = from->fields;

    if (str_is_none(f->file_data) && !str_is_none(f->file_url))
        return refuse_part(from, STR("file_url"), reterr);
    if (str_is_none(f->file_data) && !str_is_none(f->file_id))
        return refuse_part(from, STR("file_id"), reterr);
    if (from->options->text_files && text_file_is_text(f->filename, f->file_data))
        return read_text_file(from, ret, reterr);
    ret->note = f->filename;
    return need(from, f->file_data, STR("file_data"), &ret->text, reterr);
}

static int read_audio(const struct part_source *from, struct part *ret, struct err *reterr)
{
    (void)reterr;
    ret->text = from->raw;
    return 0;
}

static const struct part_type {
    str name;
    enum part_kind kind;
    part_reader *read;
} part_types[] = {
    {STR_INIT("input_text"), PART_TEXT, read_text},
    {STR_INIT("output_text"), PART_TEXT, read_text},
    {STR_INIT("text"), PART_TEXT, read_text},
    {STR_INIT("summary_text"), PART_TEXT, read_text},
    {STR_INIT("reasoning_text"), PART_TEXT, read_text},
    {STR_INIT("refusal"), PART_TEXT, read_refusal},
    {STR_INIT("input_image"), PART_IMAGE, read_image},
    {STR_INIT("input_file"), PART_FILE, read_file},
    {STR_INIT("input_audio"), PART_AUDIO, read_audio},
};

enum { N_PART_TYPES = COUNT_OF(part_types) };

static const struct part_type *find_type(str name)
{
    for (size_t i = 0; i < N_PART_TYPES; i++) {
        if (json_text_eq(name, part_types[i].name))
            return &part_types[i];
    }
    return NULL;
}

static int reject_part_type(const struct path *at, str name, struct err *reterr)
{
    str names[N_PART_TYPES];

    for (size_t i = 0; i < N_PART_TYPES; i++)
        names[i] = part_types[i].name;
    return reject_value(at, name, names, N_PART_TYPES, reterr);
}

static struct part *add_part(struct content *c, enum part_kind kind, struct arena *a)
{
    struct part *p = arena_alloc(a, sizeof(*p));

    if (p == NULL)
        return NULL;
    p->kind = kind;
    if (c->last == NULL)
        c->first = p;
    else
        c->last->next = p;
    c->last = p;
    return p;
}

static int add_text(struct content *c, str text, struct arena *a, struct err *reterr)
{
    struct part *p = add_part(c, PART_TEXT, a);

    if (p == NULL)
        return err_set_no_memory(reterr);
    p->text = text;
    return 0;
}

/* Reads the next element of a content array, in place: long texts are passed once. */
static int parse_part(struct json_walk *w, const struct path *at, const struct input_options *o,
                      struct arena *a, struct content *c, struct err *reterr)
{
    struct path type_at = path_member(at, STR("type"));
    struct part_fields f = {0};
    struct part_source from = {.fields = &f, .at = at, .options = o, .arena = a};
    const struct part_type *type;
    struct part *p;

    if (json_walk_peek(w) == JR_STRING) /* some clients write bare strings */
        return add_text(c, json_walk_string(w), a, reterr);
    from.raw.p = w->p;
    if (fields_walk(w, FIELDS(part_table), at, &f, reterr) == -1)
        return -1;
    from.raw.len = (size_t)(w->p - from.raw.p);
    if (str_is_none(f.type))
        return reject_missing(&type_at, reterr);
    type = find_type(f.type);
    if (type == NULL)
        return reject_part_type(&type_at, f.type, reterr);
    p = add_part(c, type->kind, a);
    if (p == NULL)
        return err_set_no_memory(reterr);
    if (type->read(&from, p, reterr) == -1)
        return -1;
    c->has_media = c->has_media || p->kind != PART_TEXT;
    return 0;
}

int content_from_text(str text, struct arena *a, struct content *ret, struct err *reterr)
{
    *ret = (struct content){0};
    return add_text(ret, text, a, reterr);
}

int content_parse(str raw, const struct path *at, const struct input_options *o, struct arena *a,
                  struct content *ret, struct err *reterr)
{
    struct json_walk w = json_walk_of(raw);

    *ret = (struct content){0};
    if (str_is_none(raw))
        return 0;
    if (field_check(raw, FIELD_TEXT_OR_ARRAY, at, reterr) == -1)
        return -1;
    if (jr_type_of(raw) == JR_STRING)
        return add_text(ret, field_text(raw), a, reterr);
    (void)json_walk_enter(&w, JR_ARRAY);
    for (size_t i = 0; json_walk_element(&w); i++) {
        struct path part_at = path_index(at, i);

        if (parse_part(&w, &part_at, o, a, ret, reterr) == -1)
            return -1;
    }
    return 0;
}

bool content_is_parts(str raw)
{
    struct json_walk w = json_walk_of(raw);

    if (!json_walk_enter(&w, JR_ARRAY))
        return false;
    return !json_walk_element(&w) ||
           !str_is_none(jr_member_string(json_walk_value(&w), STR("type")));
}

int content_parse_output(str raw, const struct path *at, const struct input_options *o,
                         struct arena *a, struct content *ret, struct err *reterr)
{
    struct buf json = {0};
    str text;

    if (str_is_none(raw) || jr_type_of(raw) == JR_STRING || content_is_parts(raw))
        return content_parse(raw, at, o, a, ret, reterr);
    json_copy_value(raw, &json);
    text = json_copy_quote_take(a, &json);
    if (str_is_none(text))
        return err_set_no_memory(reterr);
    return content_from_text(text, a, ret, reterr);
}

int content_collect(str raw, str except, str member, struct arena *a, struct content *ret,
                    struct err *reterr)
{
    struct json_walk w = json_walk_of(raw);

    *ret = (struct content){0};
    if (!json_walk_enter(&w, JR_ARRAY))
        return 0;
    while (json_walk_element(&w)) {
        str object = json_walk_value(&w);
        str type = str_is_none(except) ? STR_NONE : jr_member_string(object, STR("type"));
        str text = jr_member_string(object, member);

        if (!str_is_none(type) && json_text_eq(type, except))
            continue;
        if (!str_is_none(text) && add_text(ret, text, a, reterr) == -1)
            return -1;
    }
    return 0;
}

bool content_is_empty(const struct content *c)
{
    const struct part *p = c->first;

    while (p != NULL && p->kind == PART_TEXT && p->text.len == 0)
        p = p->next;
    return p == NULL;
}

void content_write_text(const struct content *c, str separator, struct buf *out)
{
    bool first = true;

    for (const struct part *p = c->first; p != NULL; p = p->next) {
        if (p->kind != PART_TEXT)
            continue;
        if (!first)
            buf_append(out, separator);
        json_copy_text(p->text, out);
        first = false;
    }
}

int content_join(struct content *c, str prefix, str separator, struct arena *a, struct err *reterr)
{
    struct buf text = {0};
    str joined = STR_NONE;

    buf_append(&text, prefix);
    content_write_text(c, separator, &text);
    if (!buf_failed(&text))
        joined = arena_dup(a, buf_str(&text));
    buf_fini(&text);
    return str_is_none(joined) ? err_set_no_memory(reterr)
                               : content_from_text(joined, a, c, reterr);
}

bool content_has_text(const struct content *c)
{
    for (const struct part *p = c->first; p != NULL; p = p->next) {
        if (p->kind == PART_TEXT)
            return true;
    }
    return false;
}
