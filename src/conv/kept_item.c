/* kept_item.c -- which items there are to keep, and under which ids. */
#include "conv/kept_item.h"

#include "base/str_map.h"
#include "conv/fields.h"
#include "conv/kept_form.h"
#include "json/json_read.h"
#include "json/json_text.h"

enum { MAX_ID_BYTES = 128 };

struct maker {
    const struct id_source *ids;
    struct arena *arena;
    struct str_map taken; /* ids; not NULL when an item has it */
    struct buf body;      /* the item being written */
};

/* ---- one item */

static const struct field head_table[] = {
    FIELD(struct kept_head, type, FIELD_TEXT),
    FIELD(struct kept_head, role, FIELD_TEXT),
    {STR_INIT("id"), FIELD_TEXT, offsetof(struct kept_head, given_id)},
};

static bool is_id_char(char c)
{
    char lower = str_lower_char(c);

    return (c >= '0' && c <= '9') || (lower >= 'a' && lower <= 'z') || c == '_' || c == ':' ||
           c == '.' || c == '-';
}

static bool is_good_id(str id)
{
    for (size_t i = 0; i < id.len; i++) {
        if (!is_id_char(id.p[i]))
            return false;
    }
    return id.len > 0 && id.len <= MAX_ID_BYTES;
}

/* Lists are walked by id, so no two items of a request may share one. False when
 * out of memory. */
static bool claim_id(struct maker *m, str id, bool *ret_is_free)
{
    void **slot = str_map_slot(&m->taken, id, m->arena);

    if (slot == NULL)
        return false;
    *ret_is_free = *slot == NULL;
    *slot = m;
    return true;
}

/* The client's id if it can be kept, else a new one. STR_NONE when out of memory. */
static str choose_id(struct maker *m, const struct kept_head *h)
{
    str given = json_text_copy(m->arena, h->given_id);
    bool is_free = false;
    struct id made;

    if (is_good_id(given) && !claim_id(m, given, &is_free))
        return STR_NONE;
    if (is_free)
        return given;
    made = id_make(m->ids, kept_form_prefix(h->type), ID_RANDOM_CHARS);
    return arena_dup(m->arena, id_str(&made));
}

static bool make_object(struct maker *m, str raw, struct kept_item *ret)
{
    struct kept_head h = {.type = STR_NONE};

    (void)fields_read_raw(raw, FIELDS(head_table), NULL, &h, NULL);
    h.type = item_type_name(h.type, h.role, h.given_id);
    if (json_text_eq(h.type, STR("compaction_trigger"))) {
        *ret = (struct kept_item){.id = STR_NONE}; /* says what to do, and is nothing to keep */
        return true;
    }
    if (json_text_eq(h.type, STR("item_reference"))) {
        *ret = (struct kept_item){.id = json_text_copy(m->arena, h.given_id), .is_reference = true};
        return !str_is_none(ret->id);
    }
    h.id = choose_id(m, &h);
    if (str_is_none(h.id))
        return false;
    buf_reset(&m->body);
    kept_form_write(raw, &h, m->ids, &m->body);
    if (buf_failed(&m->body))
        return false;
    *ret = (struct kept_item){.id = h.id, .body = arena_dup(m->arena, buf_str(&m->body))};
    return !str_is_none(ret->body);
}

/* A bare string is what the user says. */
static bool make_item(struct maker *m, str raw, struct kept_item *ret)
{
    struct buf message = {0};
    bool ok;

    if (jr_type_of(raw) != JR_STRING)
        return make_object(m, raw, ret);
    buf_append(&message, STR("{\"role\":\"user\",\"content\":"));
    buf_append(&message, raw);
    buf_char(&message, '}');
    ok = !buf_failed(&message) && make_object(m, buf_str(&message), ret);
    buf_fini(&message);
    return ok;
}

/* ---- all of them */

static bool make_all(struct maker *m, str input, struct kept_items *ret)
{
    struct jr j;

    jr_init(&j, input);
    if (jr_type_of(input) == JR_STRING)
        return make_item(m, input, &ret->v[ret->n++]);
    if (!jr_enter(&j, JR_ARRAY))
        return true;
    while (jr_next_element(&j)) {
        if (!make_item(m, jr_raw(&j), &ret->v[ret->n]))
            return false;
        ret->n += !str_is_none(ret->v[ret->n].id);
    }
    return true;
}

int kept_items_make(str input, const struct id_source *ids, struct arena *a, struct kept_items *ret,
                    struct err *reterr)
{
    struct maker m = {.ids = ids, .arena = a};
    struct kept_items items = {.n = 0};
    bool ok;

    if (str_is_none(input)) {
        *ret = items;
        return 0;
    }
    str_map_init(&m.taken, ids);
    items.v =
        arena_array(a, jr_type_of(input) == JR_STRING ? 1 : jr_count(input), sizeof(*items.v));
    ok = items.v != NULL && make_all(&m, input, &items);
    buf_fini(&m.body);
    if (!ok)
        return err_set_no_memory(reterr);
    *ret = items;
    return 0;
}

static int reject_trigger(const struct item *it, const struct path *items_at, struct err *reterr)
{
    const struct path at = path_index(items_at, it->index);
    const struct path type_at = path_member(&at, STR("type"));

    err_set_param(
        reterr, ERR_INVALID_VALUE, path_name(&type_at).text,
        "Invalid value: 'compaction_trigger'. It asks for a response; send it as the last "
        "item of a request to /v1/responses.");
    return -1;
}

int kept_items_read(str input, const struct path *at, const struct input_options *o,
                    const struct id_source *ids, struct arena *a, struct kept_items *ret,
                    struct err *reterr)
{
    struct item_list list;

    if (item_list_parse(input, at, o, ids, a, &list, reterr) == -1 ||
        kept_items_make(input, ids, a, ret, reterr) == -1)
        return -1;
    for (const struct item *it = list.first; it != NULL; it = it->next) {
        if (it->kind == ITEM_TRIGGER)
            return reject_trigger(it, at, reterr);
        ret->v[it->index].is_partial = it->is_partial;
    }
    return 0;
}
