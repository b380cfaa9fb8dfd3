/* config_reload.c -- which keys follow the configuration while the gateway runs (reload_key.def). */
#include "config/config_key.h"

static const enum config_id reloaded[] = {
#define RELOAD_KEY(name) CONFIG_KEY_##name,
#include "config/reload_key.def"
};

static bool is_reloaded(const struct config_key *k)
{
    for (size_t i = 0; i < COUNT_OF(reloaded); i++) {
        if (reloaded[i] == k->id)
            return true;
    }
    return false;
}

static size_t field_bytes(const struct config_key *k)
{
    switch (k->kind) {
    case CONFIG_LIST:
    case CONFIG_SECRETS:
        return sizeof(struct config_list);
    case CONFIG_DURATION:
        return sizeof(uint64_t);
    case CONFIG_SIZE:
        return sizeof(size_t);
    case CONFIG_COUNT:
        return sizeof(unsigned);
    case CONFIG_FLAG:
        return sizeof(bool);
    case CONFIG_CHOICE:
        return sizeof(enum config_relay);
    case CONFIG_TEXT:
    case CONFIG_SECRET:
    case CONFIG_WORD:
    case CONFIG_SWITCH:
        return sizeof(const char *);
    case CONFIG_GROUP:
        break;
    }
    return 0;
}

static bool is_same_list(const struct config_list *a, const struct config_list *b)
{
    for (size_t i = 0; i < a->n && i < b->n; i++) {
        if (!str_same_c(a->items[i], b->items[i]))
            return false;
    }
    return a->n == b->n;
}

static const void *field_of(const struct config *c, const struct config_key *k)
{
    return (const char *)c + k->offset;
}

static bool is_same_value(const struct config *a, const struct config *b,
                          const struct config_key *k)
{
    const void *x = field_of(a, k), *y = field_of(b, k);

    if (config_key_is_list(k))
        return is_same_list(x, y);
    if (field_bytes(k) == sizeof(const char *) &&
        (k->kind == CONFIG_TEXT || k->kind == CONFIG_SECRET || k->kind == CONFIG_WORD ||
         k->kind == CONFIG_SWITCH))
        return str_same_c(*(const char *const *)x, *(const char *const *)y);
    return memcmp(x, y, field_bytes(k)) == 0;
}

static void keep_keys(struct config *now, const struct config *start, const struct config_key *keys,
                      struct buf *changed)
{
    for (const struct config_key *k = keys; k->name != NULL; k++) {
        if (k->kind == CONFIG_GROUP || is_reloaded(k))
            continue;
        if (!is_same_value(now, start, k)) {
            buf_c(changed, changed->len == 0 ? "" : ", ");
            buf_c(changed, k->name);
        }
        memcpy((char *)now + k->offset, field_of(start, k), field_bytes(k));
        now->places[k->id] = start->places[k->id];
    }
}

void config_keep_rest(struct config *now, const struct config *start, struct buf *changed)
{
    keep_keys(now, start, config_keys, changed);
    keep_keys(now, start, config_old_keys, changed);
}

/* ---- what has changed */

static bool is_same_place(const struct config_place *a, const struct config_place *b)
{
    return a->source == b->source && a->is_refused == b->is_refused && a->line == b->line &&
           str_same_c(a->name, b->name);
}

static bool are_same_keys(const struct config *a, const struct config *b,
                          const struct config_key *keys)
{
    for (const struct config_key *k = keys; k->name != NULL; k++) {
        if (k->kind != CONFIG_GROUP &&
            (!is_same_value(a, b, k) || !is_same_place(&a->places[k->id], &b->places[k->id])))
            return false;
    }
    return true;
}

bool config_is_same(const struct config *a, const struct config *b)
{
    return are_same_keys(a, b, config_keys) && are_same_keys(a, b, config_old_keys);
}
