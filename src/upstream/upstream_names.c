/* upstream_names.c -- all names that clients can ask for, for lists of models.
 *
 * Several upstreams have the same names, so they are gathered as they come, sorted to find the repeated ones,
 * and put back in the order in which they came. */
#include <stdlib.h>

#include "base/name_glob.h"
#include "upstream/upstream_table.h"
#include "wire/dialect/upstream_models.h"

struct found {
    str name;
    size_t place;
};

struct names {
    struct found *items; /* room for all that count_names() counts */
    size_t n;
    size_t next_place;
};

static void add_name(struct names *names, str name)
{
    names->items[names->n++] = (struct found){name, names->next_place++};
}

static size_t count_names(const struct upstream_table *t, const struct upstream_listing *listed)
{
    size_t n = t->config->model_alias.n;

    for (size_t i = 0; i < t->n; i++) {
        n += t->entries[i].n_models;
        if (listed != NULL)
            n += listed[i].n;
    }
    return n;
}

static bool has_glob_for(const struct upstream_entry *e, str name)
{
    bool has = false;

    for (size_t k = 0; k < e->n_models && !has; k++)
        has = e->models[k].is_glob && name_glob_fits(e->models[k].name, name);
    return has;
}

static void add_entry(struct names *names, const struct upstream_entry *e,
                      const struct upstream_listing *listing)
{
    for (size_t k = 0; k < e->n_models; k++) {
        if (!e->models[k].is_glob)
            add_name(names, e->models[k].name);
    }
    for (size_t i = 0; listing != NULL && i < listing->n; i++) {
        if (e->serves_listed || has_glob_for(e, listing->names[i]))
            add_name(names, listing->names[i]);
    }
}

/* ---- each once */

static int by_name(const void *a, const void *b)
{
    const struct found *x = a, *y = b;
    const int order = str_order(x->name, y->name);

    return order != 0 ? order : x->place < y->place ? -1 : x->place > y->place;
}

static int by_place(const void *a, const void *b)
{
    const struct found *x = a, *y = b;

    return x->place < y->place ? -1 : x->place > y->place;
}

/* Leaves the first of each name, in the order of the names. */
static void drop_repeated(struct names *names)
{
    size_t n = 0;

    qsort(names->items, names->n, sizeof(*names->items), by_name);
    for (size_t i = 0; i < names->n; i++) {
        if (n == 0 || !str_eq(names->items[n - 1].name, names->items[i].name))
            names->items[n++] = names->items[i];
    }
    names->n = n;
}

static int by_name_alone(const void *name, const void *found)
{
    return str_order(*(const str *)name, ((const struct found *)found)->name);
}

static bool has_sorted(const struct names *sorted, size_t n, str name)
{
    return n > 0 && bsearch(&name, sorted->items, n, sizeof(*sorted->items), by_name_alone) != NULL;
}

/* ---- aliases */

static bool has_latest(const struct names *names, size_t n, str model)
{
    for (size_t i = 0; i < n; i++) {
        if (upstream_models_is_latest(names->items[i].name, model))
            return true;
    }
    return false;
}

/* True when a request for the model would reach somebody. Of the single upstream, which is asked for anything,
 * its list decides. */
static bool is_reached(const struct upstream_table *t, const struct names *sorted, size_t n_sorted,
                       str model)
{
    bool is = has_sorted(sorted, n_sorted, model) || has_latest(sorted, n_sorted, model);

    if (!t->is_from_file || is)
        return is;
    for (size_t i = 0; i < t->n && !is; i++)
        is = has_glob_for(&t->entries[i], model);
    return is || t->n_defaults > 0;
}

static void add_aliases(struct names *names, const struct upstream_table *t)
{
    const struct config_list *aliases = &t->config->model_alias;
    const size_t n_sorted = names->n;

    for (size_t i = 0; i < aliases->n; i++) {
        str model = str_from_c(aliases->items[i]);
        const str name = str_cut(&model, '=');

        if (!str_eq(name, STR("*")) && !has_sorted(names, n_sorted, name) &&
            is_reached(t, names, n_sorted, model))
            add_name(names, name);
    }
}

int upstream_table_names(const struct upstream_table *t, const struct upstream_listing *listed,
                         struct arena *a, const str **ret, size_t *ret_n)
{
    const size_t room = count_names(t, listed) + 1;
    struct names names = {.items = arena_array(a, room, sizeof(struct found))};
    str *list = arena_array(a, room, sizeof(*list));

    if (names.items == NULL || list == NULL)
        return -1;
    for (size_t i = 0; i < t->n; i++)
        add_entry(&names, &t->entries[i], listed == NULL ? NULL : &listed[i]);
    drop_repeated(&names);
    add_aliases(&names, t);
    qsort(names.items, names.n, sizeof(*names.items), by_place);
    for (size_t i = 0; i < names.n; i++)
        list[i] = names.items[i].name;
    *ret = list;
    *ret_n = names.n;
    return 0;
}
