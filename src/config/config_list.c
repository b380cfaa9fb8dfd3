/* config_list.c -- lists: one element at a time, each checked and told from the others. */
#include <stdio.h>

#include "base/listen_spec.h"
#include "config/config_key.h"

/* Each element is compared with all others. */
enum { MAX_ELEMENTS = 1000 };

static struct config_list *list_of(struct config *c, const struct config_key *k)
{
    return (struct config_list *)(void *)((char *)c + k->offset);
}

void config_list_begin(struct config *c, const struct config_key *k,
                       const struct config_place *place)
{
    struct config_place *old = &c->places[k->id];

    if (old->source == CONFIG_FROM_FLAG && place->source == CONFIG_FROM_FLAG)
        return;
    *list_of(c, k) = (struct config_list){NULL, 0};
    *old = *place;
}

/* An address without its marks. Port 0 stands for another port each time it is written. */
static str address_identity(str element)
{
    struct listen_spec spec = {.address = element};
    str wrong;

    (void)listen_spec_read(element, &spec, &wrong);
    return str_ends_with(spec.address, STR(":0")) ? STR_NONE : spec.address;
}

/* What no two elements may share: the name of a pair, an address, or all of it. */
static str identity(const struct config_key *k, str element)
{
    if (config_form_find(k->valid)->is_pair)
        return str_from(element.p, str_find_char(element, '='));
    if (strcmp(k->valid, "ADDRESS") == 0)
        return address_identity(element);
    return element;
}

static bool is_there(const struct config_list *list, const struct config_key *k, str element)
{
    str own = identity(k, element);

    for (size_t i = 0; !str_is_none(own) && i < list->n; i++) {
        const char *item = list->items[i];

        if (str_eq(identity(k, str_from(item, strlen(item))), own))
            return true;
    }
    return false;
}

/* Appends; the array grows whenever it holds a power of two. */
static bool push_element(struct config *c, struct config_list *list, str element)
{
    if ((list->n & (list->n - 1)) == 0) {
        const char **more =
            arena_array(&c->memory, list->n == 0 ? 1 : 2 * list->n, sizeof(*list->items));

        if (more == NULL)
            return false;
        if (list->n > 0)
            memcpy(more, list->items, list->n * sizeof(*more));
        list->items = more;
    }
    list->items[list->n] = arena_dup(&c->memory, element).p;
    if (list->items[list->n] == NULL)
        return false;
    list->n++;
    return true;
}

static void refuse_repeated(struct config *c, const struct config_key *k, str element,
                            struct config_problems *problems)
{
    char message[sizeof(struct config_quote) + sizeof(" is there twice; remove one")];
    bool is_private = config_key_is_private(k, element);

    (void)snprintf(message, sizeof(message), "%s is there twice; remove one",
                   is_private ? "a value" : config_quote(identity(k, element)).text);
    config_key_refuse(c, k, problems, message);
}

bool config_list_add(struct config *c, const struct config_key *k, str element,
                     struct config_problems *problems)
{
    struct config_list *list = list_of(c, k);

    if (list->n == MAX_ELEMENTS) {
        config_key_refuse(c, k, problems, "more than 1000 elements; remove some");
        return false;
    }
    if (element.len == 0 || !config_form_find(k->valid)->fits(element)) {
        config_key_refuse_value(c, k, element, problems);
    } else if (is_there(list, k, element)) {
        refuse_repeated(c, k, element, problems);
    } else if (!push_element(c, list, element)) {
        config_key_refuse(c, k, problems, "out of memory");
        return false;
    }
    return true;
}
