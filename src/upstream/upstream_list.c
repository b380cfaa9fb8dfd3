/* upstream_list.c -- names in their order, and the same sorted, to find their elements. */
#include "upstream/upstream_list.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "json/json_read.h"
#include "json/json_text.h"
#include "wire/dialect/upstream_models.h"

/* What a list may take: names that are written with escapes need room beside the body. */
enum { MAX_MEMORY_BYTES = 8 * 1024 * 1024 };

struct element {
    str name, raw; /* STR_NONE: it was not kept */
    size_t place;
};

struct upstream_list {
    atomic_uint n_references;
    struct arena memory;
    str *names;
    struct element *sorted; /* by name */
    size_t n;
};

/* ---- made */

static int by_name_and_place(const void *a, const void *b)
{
    const struct element *x = a, *y = b;
    const int order = str_order(x->name, y->name);

    return order != 0 ? order : x->place < y->place ? -1 : x->place > y->place;
}

/* False when out of memory. */
static bool read_elements(struct upstream_list *l, str data, bool keeps_raw)
{
    struct jr j;

    jr_init(&j, data);
    (void)jr_enter(&j, JR_ARRAY);
    while (l->n < UPSTREAM_MAX_MODELS && jr_next_element(&j)) {
        const str raw = jr_raw(&j), id = jr_member_string(raw, STR("id"));
        struct element *e = &l->sorted[l->n];

        if (str_is_none(id))
            continue;
        *e = (struct element){.name = json_text_copy(&l->memory, id),
                              .raw = keeps_raw ? raw : STR_NONE,
                              .place = l->n};
        if (str_is_none(e->name))
            return false;
        l->n++;
    }
    return true;
}

/* Leaves the first element of each name, and lists the names. */
static void settle_names(struct upstream_list *l)
{
    size_t n = 0, n_names = 0;

    for (size_t i = 0; i < l->n; i++)
        l->names[i] = STR_NONE;
    qsort(l->sorted, l->n, sizeof(*l->sorted), by_name_and_place);
    for (size_t i = 0; i < l->n; i++) {
        if (n > 0 && str_eq(l->sorted[n - 1].name, l->sorted[i].name))
            continue;
        l->sorted[n++] = l->sorted[i];
        l->names[l->sorted[i].place] = l->sorted[i].name;
    }
    for (size_t i = 0; i < l->n; i++) {
        if (!str_is_none(l->names[i]))
            l->names[n_names++] = l->names[i];
    }
    l->n = n;
}

static bool fill_list(struct upstream_list *l, str data)
{
    const bool keeps_raw = data.len <= UPSTREAM_LIST_MOST_BYTES;
    const size_t n = jr_count(data), room = n < UPSTREAM_MAX_MODELS ? n : UPSTREAM_MAX_MODELS;

    if (keeps_raw)
        data = arena_dup(&l->memory, data);
    l->names = arena_array(&l->memory, room + 1, sizeof(*l->names));
    l->sorted = arena_array(&l->memory, room + 1, sizeof(*l->sorted));
    if (str_is_none(data) || l->names == NULL || l->sorted == NULL ||
        !read_elements(l, data, keeps_raw))
        return false;
    settle_names(l);
    return true;
}

struct upstream_list *upstream_list_new(str body)
{
    const str trimmed = str_trim(body);
    const str data = jr_is_valid(trimmed) ? jr_member(trimmed, STR("data")) : STR_NONE;
    struct upstream_list *l;

    if (jr_type_of(data) != JR_ARRAY)
        return NULL;
    l = calloc(1, sizeof(*l));
    if (l == NULL)
        return NULL;
    atomic_init(&l->n_references, 1);
    arena_init(&l->memory, MAX_MEMORY_BYTES);
    if (fill_list(l, data))
        return l;
    upstream_list_unref(l);
    return NULL;
}

struct upstream_list *upstream_list_ref(struct upstream_list *l)
{
    if (l != NULL)
        atomic_fetch_add(&l->n_references, 1);
    return l;
}

void upstream_list_unref(struct upstream_list *l)
{
    if (l == NULL || atomic_fetch_sub(&l->n_references, 1) != 1)
        return;
    arena_fini(&l->memory);
    free(l);
}

/* ---- looked at */

const str *upstream_list_names(const struct upstream_list *l, size_t *ret_n)
{
    *ret_n = l == NULL ? 0 : l->n;
    return l == NULL ? NULL : l->names;
}

static int by_name(const void *key, const void *element)
{
    return str_order(*(const str *)key, ((const struct element *)element)->name);
}

static const struct element *find_element(const struct upstream_list *l, str name)
{
    if (l == NULL || l->n == 0)
        return NULL;
    return bsearch(&name, l->sorted, l->n, sizeof(*l->sorted), by_name);
}

bool upstream_list_has(const struct upstream_list *l, str name)
{
    return find_element(l, name) != NULL;
}

str upstream_list_element(const struct upstream_list *l, str name)
{
    const struct element *e = find_element(l, name);

    for (size_t i = 0; l != NULL && e == NULL && i < l->n; i++) {
        if (upstream_models_is_latest(l->sorted[i].name, name))
            e = &l->sorted[i];
    }
    return e == NULL ? STR_NONE : e->raw;
}
