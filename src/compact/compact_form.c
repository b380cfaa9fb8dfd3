/* compact_form.c -- items are written again from what they were read from. */
#include "compact/compact_form.h"

#include "compact/compact_text.h"
#include "conv/kept_form.h"
#include "conv/reject.h"
#include "json/json_copy.h"
#include "json/json_read.h"
#include "json/json_text.h"

/* The bytes in the arena; the buf is finished. */
static int take_text(struct buf *text, struct arena *a, str *ret, struct err *reterr)
{
    *ret = buf_failed(text) ? STR_NONE : arena_dup(a, buf_str(text));
    buf_fini(text);
    return str_is_none(*ret) ? err_set_no_memory(reterr) : 0;
}

/* ---- the whole item */

/* A bare string is what the user says. */
static int wrap_string(str raw, struct arena *a, str *ret, struct err *reterr)
{
    struct buf message = {.limit = 0};

    *ret = raw;
    if (jr_type_of(raw) != JR_STRING)
        return 0;
    buf_append(&message, STR("{\"role\":\"user\",\"content\":"));
    buf_append(&message, raw);
    buf_char(&message, '}');
    return take_text(&message, a, ret, reterr);
}

static int name_form(str raw, const struct id_source *ids, struct arena *a, struct kept_head *ret,
                     struct err *reterr)
{
    str type = jr_member_string(raw, STR("type"));
    struct id made;

    ret->role = jr_member_string(raw, STR("role"));
    ret->given_id = jr_member_string(raw, STR("id"));
    ret->type = item_type_name(type, ret->role, ret->given_id);
    made = id_make(ids, kept_form_prefix(ret->type), ID_RANDOM_CHARS);
    ret->id =
        ret->given_id.len > 0 ? json_text_copy(a, ret->given_id) : arena_dup(a, id_str(&made));
    return str_is_none(ret->id) ? err_set_no_memory(reterr) : 0;
}

int compact_form_make(str raw, const struct id_source *ids, struct arena *a, struct kept_item *ret,
                      struct err *reterr)
{
    struct kept_head head = {.type = STR_NONE};
    struct kept_item item = {.id = STR_NONE};
    struct buf body = {.limit = 0};

    if (wrap_string(raw, a, &raw, reterr) == -1 || name_form(raw, ids, a, &head, reterr) == -1)
        return -1;
    kept_form_write(raw, &head, ids, &body);
    item.id = head.id;
    if (take_text(&body, a, &item.body, reterr) == -1)
        return -1;
    *ret = item;
    return 0;
}

/* ---- less of its output */

enum { MEDIA_BYTES = COMPACT_IMAGE_TOKENS * COMPACT_BYTES_A_TOKEN };

size_t compact_content_bytes(const struct content *c)
{
    size_t n = 0;

    for (const struct part *p = c->first; p != NULL; p = p->next)
        n += p->kind == PART_TEXT ? p->text.len : MEDIA_BYTES;
    return n;
}

void compact_write_placeholder(str type, str name, struct buf *out)
{
    if (!str_is_none(type) && json_text_eq(type, STR("input_file"))) {
        buf_c(out, "[file: ");
        if (str_is_none(name))
            buf_c(out, "unnamed");
        else
            json_text_decode(name, out);
        buf_c(out, "]");
    } else {
        const bool is_audio = !str_is_none(type) && json_text_eq(type, STR("input_audio"));

        buf_c(out, is_audio ? "[audio]" : "[image]");
    }
}

static str type_of(const struct part *p)
{
    switch (p->kind) {
    case PART_FILE:
        return STR("input_file");
    case PART_AUDIO:
        return STR("input_audio");
    case PART_TEXT:
    case PART_IMAGE:
        break;
    }
    return STR("input_image");
}

/* What of the content is text, with words for what is not. */
static void write_words(const struct content *c, size_t n_bytes, struct buf *out)
{
    struct buf words = {.limit = 0};

    for (const struct part *p = c->first; p != NULL; p = p->next) {
        if (words.len > 0)
            buf_char(&words, '\n');
        if (p->kind == PART_TEXT)
            json_text_decode(p->text, &words);
        else
            compact_write_placeholder(type_of(p), p->note, &words);
    }
    if (buf_failed(&words))
        out->failed = true;
    else
        compact_cut_bytes(buf_str(&words), n_bytes, out);
    buf_fini(&words);
}

/* Members of the object, of which one gets another value, or none. */
static void copy_members(str object, str changed, str value, struct jw *w)
{
    struct jr j;
    str name;

    jr_init(&j, object);
    (void)jr_enter(&j, JR_OBJECT);
    while (jr_next_member(&j, &name)) {
        const bool is_changed = str_eq(name, changed);
        const str key = j.raw_key, raw = jr_raw(&j);

        if (is_changed && str_is_none(value))
            continue;
        json_copy_key(w, key);
        json_copy_element(w, is_changed ? value : raw);
    }
}

static int change_member(const struct kept_item *item, str changed, str value, struct arena *a,
                         struct kept_item *ret, struct err *reterr)
{
    struct buf body = {.limit = 0};
    struct jw w = jw_to(&body);
    str text;

    jw_object(&w);
    copy_members(item->body, changed, value, &w);
    jw_object_end(&w);
    if (take_text(&body, a, &text, reterr) == -1)
        return -1;
    *ret = (struct kept_item){.id = item->id, .body = text};
    return 0;
}

static bool has_member(str body, str name)
{
    str raw = jr_member(body, name);

    return !str_is_none(raw) && jr_type_of(raw) != JR_NULL;
}

/* Calls of code have a list of what was printed. */
static int write_value(bool is_code, str words, struct arena *a, str *ret, struct err *reterr)
{
    struct buf value = {.limit = 0};
    struct jw w = jw_to(&value);

    if (is_code) {
        jw_array(&w);
        jw_object(&w);
        jw_key_string(&w, "type", STR("logs"));
        jw_key_string(&w, "logs", words);
        jw_object_end(&w);
        jw_array_end(&w);
    } else {
        jw_string(&w, words);
    }
    return take_text(&value, a, ret, reterr);
}

int compact_form_cut(const struct kept_item *item, const struct content *content, size_t n_bytes,
                     struct arena *a, struct kept_item *ret, struct err *reterr)
{
    const bool is_code = has_member(item->body, STR("outputs"));
    const str member = is_code ? STR("outputs") : STR("output");
    struct buf words = {.limit = 0};
    str value;
    int rc;

    *ret = *item;
    if (!has_member(item->body, member))
        return 0;
    write_words(content, n_bytes, &words);
    rc = buf_failed(&words) ? err_set_no_memory(reterr)
                            : write_value(is_code, buf_str(&words), a, &value, reterr);
    buf_fini(&words);
    return rc == -1 ? -1 : change_member(item, member, value, a, ret, reterr);
}

int compact_form_bare(const struct kept_item *item, struct arena *a, struct kept_item *ret,
                      struct err *reterr)
{
    *ret = *item;
    if (!has_member(item->body, STR("outputs")))
        return 0;
    return change_member(item, STR("outputs"), STR_NONE, a, ret, reterr);
}
