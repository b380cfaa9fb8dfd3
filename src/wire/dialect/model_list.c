/* model_list.c -- look a model up in a list; give it the name that was asked for; show what is known. */
#include "wire/dialect/model_list.h"

#include "json/json_copy.h"
#include "json/json_read.h"
#include "json/json_text.h"
#include "json/json_write.h"
#include "wire/dialect/codex_model.h"

/* An entry of a list. */
struct found {
    str entry;
    str raw_id;    /* in it; STR_NONE: it has none */
    str id;        /* plain: its own, or an alias */
    bool is_alias; /* of its own */
};

/* ---- one of them */

/* The element whose id is model, and the raw id in it. Of two the first counts. */
static bool find_in(str data, str model, struct found *ret)
{
    struct jr j;

    jr_init(&j, data);
    (void)jr_enter(&j, JR_ARRAY);
    while (jr_next_element(&j)) {
        str entry = jr_raw(&j), id = jr_member(entry, STR("id"));

        if (jr_type_of(id) == JR_STRING && json_text_eq(jr_string_of(id), model)) {
            *ret = (struct found){.entry = entry, .raw_id = id, .id = model};
            return true;
        }
    }
    return false;
}

/* The array of a list, or STR_NONE. */
static str data_of(str list)
{
    const str data = jr_is_valid(list) ? jr_member(list, STR("data")) : STR_NONE;

    return jr_type_of(data) == JR_ARRAY ? data : STR_NONE;
}

/* The bytes of an entry with the id that is shown, but for the brace at its end. */
static void append_open(const struct found *f, struct buf *out)
{
    const size_t before = (size_t)(f->raw_id.p - f->entry.p), behind = before + f->raw_id.len;

    buf_append(out, str_from(f->entry.p, before));
    if (f->is_alias) {
        buf_char(out, '"');
        json_text_escape(f->id, out);
        buf_char(out, '"');
    } else {
        buf_append(out, f->raw_id);
    }
    buf_append(out, str_from(f->entry.p + behind, f->entry.len - behind - 1));
}

bool model_list_find(str list, str model, str shown, struct buf *out)
{
    const str data = data_of(str_trim(list));
    struct found f;

    if (str_is_none(data) || !find_in(data, model, &f))
        return false;
    f.is_alias = !str_eq(model, shown);
    f.id = shown;
    append_open(&f, out);
    buf_char(out, '}');
    return true;
}

/* ---- what is known beside it */

/* The entry, and the names by which clients look for its window. */
static void write_entry(const struct found *f, int64_t window, struct jw *w)
{
    static const char *const names[] = {"context_length", "context_window", "max_model_len"};

    jw_raw(w, STR(""));
    append_open(f, w->out);
    w->comma = true;
    for (size_t i = 0; window > 0 && i < COUNT_OF(names); i++) {
        if (str_is_none(jr_member(f->entry, str_from_c(names[i]))))
            jw_key_int(w, names[i], window);
    }
    jw_object_end(w);
}

/* Its plain id stands in the buffer. */
static struct found read_entry(str entry, struct buf *plain)
{
    struct found f = {.entry = entry, .raw_id = jr_member(entry, STR("id")), .id = STR_NONE};

    buf_reset(plain);
    if (jr_type_of(f.raw_id) == JR_STRING)
        json_text_decode(jr_string_of(f.raw_id), plain);
    else
        f.raw_id = STR_NONE;
    f.id = buf_str(plain);
    return f;
}

bool model_list_write_entry(str entry, const struct model_list_view *v, struct buf *out)
{
    struct buf id = {.limit = 0};
    struct jw w = jw_to(out);
    struct found f = {.raw_id = STR_NONE};

    entry = str_trim(entry);
    if (jr_is_valid(entry))
        f = read_entry(entry, &id);
    if (!str_is_none(f.raw_id))
        write_entry(&f, v->look(v->arg, f.id, entry).window, &w);
    buf_fini(&id);
    return !str_is_none(f.raw_id);
}

/* ---- all of them */

/* Where they are written. */
struct writer {
    const struct model_list_view *view;
    struct jw w;
    size_t n; /* of the catalogue */
};

typedef void visit_entry(struct writer *to, const struct found *f);

/* Is there an entry of this name, or an alias in a row before? */
static bool is_listed(str data, const struct model_list_view *v, size_t row, str name)
{
    struct found f;

    for (size_t i = 0; i < row; i++) {
        str before = str_from_c(v->aliases.names[i]);

        if (str_eq(str_cut(&before, '='), name))
            return true;
    }
    return find_in(data, name, &f);
}

static void visit_aliases(struct writer *to, str data, visit_entry *visit)
{
    const struct model_list_view *v = to->view;

    for (size_t i = 0; i < v->aliases.n; i++) {
        str model = str_from_c(v->aliases.names[i]), name = str_cut(&model, '=');
        struct found f;

        if (str_eq(name, STR("*")) || is_listed(data, v, i, name) || !find_in(data, model, &f))
            continue;
        f.id = name;
        f.is_alias = true;
        visit(to, &f);
    }
}

static void visit_all(struct writer *to, str data, visit_entry *visit)
{
    struct buf id = {.limit = 0};
    struct jr j;

    jr_init(&j, data);
    (void)jr_enter(&j, JR_ARRAY);
    while (!buf_failed(to->w.out) && jr_next_element(&j)) {
        const struct found f = read_entry(jr_raw(&j), &id);

        visit(to, &f);
    }
    if (buf_failed(&id))
        to->w.out->failed = true;
    buf_fini(&id);
    visit_aliases(to, data, visit);
}

static void visit_for_list(struct writer *to, const struct found *f)
{
    if (str_is_none(f->raw_id))
        jw_raw(&to->w, f->entry); /* nobody's */
    else
        write_entry(f, to->view->look(to->view->arg, f->id, f->entry).window, &to->w);
}

static void visit_for_catalogue(struct writer *to, const struct found *f)
{
    struct model_view known;

    if (str_is_none(f->raw_id))
        return;
    known = to->view->look(to->view->arg, f->id, f->entry);
    codex_model_write(f->id, &known, ++to->n, &to->w);
}

static void write_members(struct writer *to, str list, str data)
{
    str key;
    struct jr j;

    jr_init(&j, list);
    (void)jr_enter(&j, JR_OBJECT);
    while (jr_next_member(&j, &key)) {
        const bool is_replaced = to->view->wants_catalogue && str_eq(key, STR("models"));
        const str raw_key = j.raw_key, value = jr_raw(&j);

        if (is_replaced)
            continue;
        json_copy_key(&to->w, raw_key);
        if (value.p != data.p) {
            jw_raw(&to->w, value);
            continue;
        }
        jw_array(&to->w);
        visit_all(to, data, visit_for_list);
        jw_array_end(&to->w);
    }
}

bool model_list_write(str list, const struct model_list_view *v, struct buf *out)
{
    struct writer to = {.view = v, .w = jw_to(out)};
    const str trimmed = str_trim(list), data = data_of(trimmed);

    if (str_is_none(data))
        return false;
    jw_object(&to.w);
    write_members(&to, trimmed, data);
    if (v->wants_catalogue) {
        jw_key(&to.w, "models");
        jw_array(&to.w);
        visit_all(&to, data, visit_for_catalogue);
        jw_array_end(&to.w);
    }
    jw_object_end(&to.w);
    return true;
}

/* ---- a part of them */

/* A list is being cut down to the models that is_shown() lets through. */
struct filter {
    bool (*is_shown)(void *arg, str id);
    void *arg;
    struct buf plain;
};

static bool is_name_shown(struct filter *f, str name)
{
    buf_reset(&f->plain);
    json_text_decode(jr_string_of(name), &f->plain);
    return !buf_failed(&f->plain) && f->is_shown(f->arg, buf_str(&f->plain));
}

/* An entry has to have a name, by whichever word its list has for that; all of them have to be shown. */
static bool is_entry_shown(struct filter *f, str entry)
{
    static const str words[] = {STR_INIT("id"), STR_INIT("slug"), STR_INIT("model"),
                                STR_INIT("name")};
    size_t n = 0;

    for (size_t i = 0; i < COUNT_OF(words); i++) {
        const str name = jr_member(entry, words[i]);

        if (jr_type_of(name) != JR_STRING)
            continue;
        if (!is_name_shown(f, name))
            return false;
        n++;
    }
    return n > 0;
}

static void filter_entries(struct filter *f, str entries, struct jw *w)
{
    struct jr j;

    jw_array(w);
    jr_init(&j, entries);
    (void)jr_enter(&j, JR_ARRAY);
    while (jr_next_element(&j)) {
        const str entry = jr_raw(&j);

        if (is_entry_shown(f, entry))
            jw_raw(w, entry);
    }
    jw_array_end(w);
}

bool model_list_filter(str list, bool (*is_shown)(void *arg, str id), void *arg, struct buf *out)
{
    struct filter f = {.is_shown = is_shown, .arg = arg};
    const str trimmed = str_trim(list);
    struct jw w = jw_to(out);
    struct jr j;
    str key;

    if (str_is_none(data_of(trimmed)))
        return false;
    jw_object(&w);
    jr_init(&j, trimmed);
    (void)jr_enter(&j, JR_OBJECT);
    while (jr_next_member(&j, &key)) {
        const bool is_list = str_eq(key, STR("data")) || str_eq(key, STR("models"));
        const bool is_kind = str_eq(key, STR("object"));
        const str raw_key = j.raw_key, value = jr_raw(&j);

        if (!is_kind && !(is_list && jr_type_of(value) == JR_ARRAY))
            continue;
        json_copy_key(&w, raw_key);
        if (is_kind)
            jw_raw(&w, value);
        else
            filter_entries(&f, value, &w);
    }
    jw_object_end(&w);
    buf_fini(&f.plain);
    return true;
}
