/* config_key.c -- the table of keys, and their names. */
#include "config/config_key.h"

#define FIELD_TEXT(name)     name
#define FIELD_SECRET(name)   name
#define FIELD_LIST(name)     name
#define FIELD_SECRETS(name)  name
#define FIELD_DURATION(name) name##_ms
#define FIELD_SIZE(name)     name##_bytes
#define FIELD_COUNT(name)    name
#define FIELD_FLAG(name)     name
#define FIELD_CHOICE(name)   name
#define FIELD_WORD(name)     name

const struct config_key config_keys[] = {
#define GROUP(title) {title, CONFIG_GROUP, 0, 0, NULL, NULL, NULL},
#define KEY(name, kind, initial, valid, help)                                                      \
    {                                                                                              \
        #name,                                                                                     \
        CONFIG_##kind,                                                                             \
        CONFIG_KEY_##name,                                                                         \
        offsetof(struct config, FIELD_##kind(name)),                                               \
        initial,                                                                                   \
        valid,                                                                                     \
        help},
#include "config/config.def"
    {.name = NULL},
};

const struct config_key config_old_keys[] = {
#define MODEL_CHOICE(symbol, name, words, values, help) /* has none */
#define MODEL_SETTING(symbol, name, kind, words, values, help)                                     \
    {#name,                                                                                        \
     CONFIG_##kind,                                                                                \
     CONFIG_KEY_##name,                                                                            \
     offsetof(struct config, of_all_models[MODEL_##symbol]),                                       \
     NULL,                                                                                         \
     words,                                                                                        \
     help},
#include "wire/dialect/model_setting.def"
    {.name = NULL},
};

static char as_written(char c)
{
    return c == '-' ? '_' : c;
}

static bool is_named(const struct config_key *k, str name)
{
    if (k->kind == CONFIG_GROUP)
        return false;
    for (size_t i = 0; i < name.len; i++) {
        if (k->name[i] == '\0' || k->name[i] != as_written(name.p[i]))
            return false;
    }
    return k->name[name.len] == '\0';
}

static const struct config_key *find_among(const struct config_key *k, str name)
{
    while (k->name != NULL && !is_named(k, name))
        k++;
    return k->name == NULL ? NULL : k;
}

const struct config_key *config_key_find(str name)
{
    const struct config_key *k = find_among(config_keys, name);

    return k == NULL ? find_among(config_old_keys, name) : k;
}

bool config_key_is_flag(const struct config_key *k)
{
    return k->kind == CONFIG_FLAG || k->kind == CONFIG_SWITCH;
}

bool config_key_is_list(const struct config_key *k)
{
    return k->kind == CONFIG_LIST || k->kind == CONFIG_SECRETS;
}

static void spell_among(const struct config_key *k, struct spelling *s)
{
    for (; k->name != NULL; k++) {
        if (k->kind != CONFIG_GROUP)
            (void)spelling_try(s, k->name);
    }
}

void config_key_spell(struct spelling *s)
{
    spell_among(config_keys, s);
    spell_among(config_old_keys, s);
}

void config_key_flag(const struct config_key *k, struct buf *out)
{
    buf_c(out, "--");
    for (const char *p = k->name; *p != '\0'; p++)
        buf_char(out, *p == '_' ? '-' : *p);
}

void config_key_variable(const struct config_key *k, struct buf *out)
{
    buf_c(out, "ANTIPHON_");
    for (const char *p = k->name; *p != '\0'; p++)
        buf_char(out, *p >= 'a' && *p <= 'z' ? (char)(*p - 'a' + 'A') : *p);
}

const char *config_key_placeholder(const struct config_key *k)
{
    switch (k->kind) {
    case CONFIG_TEXT:
    case CONFIG_SECRET:
    case CONFIG_LIST:
    case CONFIG_SECRETS:
    case CONFIG_CHOICE:
    case CONFIG_WORD:
        return k->valid;
    case CONFIG_DURATION:
        return "DURATION";
    case CONFIG_SIZE:
        return "SIZE";
    case CONFIG_COUNT:
        return "N";
    case CONFIG_GROUP:
    case CONFIG_FLAG:
    case CONFIG_SWITCH:
        break;
    }
    return "";
}

void config_key_initial(const struct config_key *k, struct buf *out)
{
    if (k->initial[0] == '\0')
        buf_c(out, "none");
    for (const char *p = k->initial; *p != '\0'; p++) {
        buf_char(out, *p);
        if (config_key_is_list(k) && *p == ',')
            buf_char(out, ' ');
    }
}

str config_key_chosen(const struct config *c, const struct config_key *k)
{
    const void *field = (const char *)c + k->offset;
    unsigned chosen;

    if (k->kind != CONFIG_CHOICE)
        return str_from_c(*(const char *const *)field);
    memcpy(&chosen, field, sizeof(chosen));
    return config_word_at(k->valid, chosen);
}

/* Of a number that the gateway may find out by itself, "auto|" stands before its range. */
static const str auto_mark = STR_INIT("auto|");

bool config_key_may_be_auto(const struct config_key *k)
{
    return str_starts_with(str_from_c(k->valid), auto_mark);
}

str config_key_range(const struct config_key *k)
{
    return str_skip(str_from_c(k->valid), config_key_may_be_auto(k) ? auto_mark.len : 0);
}
