/* item_list.c -- the items of a request, one after the other. */
#include "conv/item.h"

struct item *item_list_add(struct item_list *list, struct arena *a)
{
    struct item *it = arena_alloc(a, sizeof(*it));

    if (it == NULL)
        return NULL;
    if (list->last == NULL)
        list->first = it;
    else
        list->last->next = it;
    list->last = it;
    it->index = list->n++;
    return it;
}

str item_list_container(const struct item_list *list)
{
    str last = STR_NONE;

    for (const struct item *it = list->first; it != NULL; it = it->next) {
        if (it->container_id.len > 0)
            last = it->container_id;
    }
    return last;
}

size_t item_list_searches(const struct item_list *list)
{
    size_t n = 0;

    for (const struct item *it = list->first; it != NULL; it = it->next)
        n += it->kind == ITEM_HOSTED_CALL && it->hosted_kind == HOSTED_WEB_SEARCH;
    return n;
}

void item_list_prepend(struct item_list *list, const struct item_list *before)
{
    if (before->last == NULL)
        return;
    before->last->next = list->first;
    list->first = before->first;
    if (list->last == NULL)
        list->last = before->last;
    list->n += before->n;
}

int item_list_parse(str input, const struct path *at, const struct input_options *o,
                    const struct id_source *ids, struct arena *a, struct item_list *ret,
                    struct err *reterr)
{
    const bool is_array = jr_type_of(input) == JR_ARRAY;
    struct item_list list = {0};
    struct item *it;
    struct json_walk w = json_walk_of(input);

    if (is_array)
        (void)json_walk_enter(&w, JR_ARRAY);
    while (is_array ? json_walk_element(&w) : list.n == 0) {
        const struct path element = path_index(at, list.n);

        it = item_list_add(&list, a);
        if (it == NULL)
            return err_set_no_memory(reterr);
        if (item_read(&w, is_array ? &element : at, o, ids, a, it, reterr) == -1)
            return -1;
    }
    *ret = list;
    return 0;
}
