/* config_override.c -- copies field by field, as the table of keys has them. */
#include "config/config_override.h"

#include "config/config_key.h"

/* ---- copies */

static const char *dup_text(struct arena *a, const char *text, bool *failed)
{
    const char *copy = arena_dup(a, str_from_c(text)).p;

    *failed |= text != NULL && copy == NULL;
    return copy;
}

static void dup_list(struct arena *a, struct config_list *list, bool *failed)
{
    const char **items;

    if (list->n == 0)
        return;
    /* Whoever appends finds room up to the next power of two (config_list.c). */
    items = arena_array(a, 2 * list->n, sizeof(*items));
    for (size_t i = 0; items != NULL && i < list->n; i++)
        items[i] = dup_text(a, list->items[i], failed);
    *failed |= items == NULL;
    *list = (struct config_list){items, items == NULL ? 0 : list->n};
}

/* Gives the field, which still points into the configuration it is from, texts of its own. */
static void dup_field(struct config *c, const struct config_key *k, bool *failed)
{
    void *field = (char *)c + k->offset;

    switch (k->kind) {
    case CONFIG_TEXT:
    case CONFIG_SECRET:
    case CONFIG_WORD:
    case CONFIG_SWITCH:
        *(const char **)field = dup_text(&c->memory, *(const char *const *)field, failed);
        return;
    case CONFIG_LIST:
    case CONFIG_SECRETS:
        dup_list(&c->memory, field, failed);
        return;
    case CONFIG_GROUP:
    case CONFIG_DURATION:
    case CONFIG_SIZE:
    case CONFIG_COUNT:
    case CONFIG_FLAG:
    case CONFIG_CHOICE:
        return;
    }
}

/* Many values come from one file: its name is copied once for a run of them. */
static void dup_places(struct config *c, bool *failed)
{
    const char *name = NULL, *copy = NULL;

    for (size_t i = 0; i < COUNT_OF(c->places); i++) {
        struct config_place *place = &c->places[i];

        if (place->name != name) {
            name = place->name;
            copy = dup_text(&c->memory, name, failed);
        }
        place->name = copy;
        place->member = dup_text(&c->memory, place->member, failed);
    }
}

int config_dup(const struct config *from, struct config *ret)
{
    bool failed = false;

    *ret = *from;
    ret->memory = (struct arena){.limit = 0};
    for (const struct config_key *k = config_keys; k->name != NULL; k++)
        dup_field(ret, k, &failed);
    for (const struct config_key *k = config_old_keys; k->name != NULL; k++)
        dup_field(ret, k, &failed);
    dup_places(ret, &failed);
    return failed ? -1 : 0;
}

/* ---- keys in other files */

static const struct config_key *find_among(const struct config_key *k, enum config_id id)
{
    while (k->name != NULL && (k->kind == CONFIG_GROUP || k->id != id))
        k++;
    return k->name == NULL ? NULL : k;
}

static const struct config_key *key_of(enum config_id id)
{
    const struct config_key *k = find_among(config_keys, id);

    return k == NULL ? find_among(config_old_keys, id) : k;
}

void config_override(struct config *c, const struct config_override *o,
                     struct config_problems *problems)
{
    const struct config_place place = {
        .source = CONFIG_FROM_FILE, .name = o->file, .line = o->line, .member = o->member};

    config_key_set_json(c, key_of(o->key), o->raw, &place, problems);
}

void config_override_check(struct config *c, const char *const *env,
                           struct config_problems *problems)
{
    config_directories_resolve(c, env, problems);
    config_rules_check_members(c, problems);
}
