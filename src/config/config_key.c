/* config_key.c -- the table of keys, and how a text becomes a field. */
#include "config/config_key.h"

#include <limits.h>
#include <stdlib.h>

#include "base/num.h"

#define FIELD_TEXT(name)     name
#define FIELD_SECRET(name)   name
#define FIELD_LIST(name)     name
#define FIELD_DURATION(name) name##_ms
#define FIELD_SIZE(name)     name##_bytes
#define FIELD_COUNT(name)    name
#define FIELD_FLAG(name)     name
#define FIELD_CHOICE(name)   name

const struct config_key config_keys[] = {
#define GROUP(title) {title, CONFIG_GROUP, 0, NULL, NULL, NULL},
#define KEY(name, kind, initial, valid, help)                                                      \
    {#name, CONFIG_##kind, offsetof(struct config, FIELD_##kind(name)), initial, valid, help},
#include "config/config.def"
    {NULL, CONFIG_GROUP, 0, NULL, NULL, NULL},
};

str config_next_word(str *rest, char separator)
{
    str word = *rest;

    if (str_is_none(*rest))
        return STR_NONE;
    word.len = str_find_char(*rest, separator);
    *rest = word.len == rest->len ? STR_NONE : str_skip(*rest, word.len + 1);
    return word;
}

static char as_written(char c)
{
    return c == '-' ? '_' : c;
}

static bool is_named(const struct config_key *k, str name)
{
    if (k->kind == CONFIG_GROUP || strlen(k->name) != name.len)
        return false;
    for (size_t i = 0; i < name.len; i++) {
        if (k->name[i] != as_written(name.p[i]))
            return false;
    }
    return true;
}

const struct config_key *config_key_find(str name)
{
    for (const struct config_key *k = config_keys; k->name != NULL; k++) {
        if (is_named(k, name))
            return k;
    }
    return NULL;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Number of letters to insert, drop or replace; one row of the classic table. */
static size_t edit_distance(str a, const char *b)
{
    size_t row[64], n = strlen(b);

    for (size_t j = 0; j <= n; j++)
        row[j] = j;
    for (size_t i = 1; i <= a.len; i++) {
        size_t corner = row[0];

        row[0] = i;
        for (size_t j = 1; j <= n; j++) {
            size_t swap = corner + (as_written(a.p[i - 1]) != b[j - 1]);

            corner = row[j];
            row[j] = least(swap, least(row[j], row[j - 1]) + 1);
        }
    }
    return row[n];
}

const struct config_key *config_key_nearest(str name)
{
    const struct config_key *best = NULL;
    size_t best_distance = name.len / 2 + 1;

    if (name.len > 63)
        return NULL;
    for (const struct config_key *k = config_keys; k->name != NULL; k++) {
        size_t d = k->kind == CONFIG_GROUP ? SIZE_MAX : edit_distance(name, k->name);

        if (d < best_distance) {
            best_distance = d;
            best = k;
        }
    }
    return best;
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

static void describe_range(const struct config_key *k, const char *what, struct buf *out)
{
    str rest = str_from_c(k->valid);
    size_t dots = str_find(rest, STR(".."));

    buf_c(out, what);
    buf_c(out, " from ");
    buf_append(out, str_from(rest.p, dots));
    buf_c(out, " to ");
    buf_append(out, str_skip(rest, dots + 2));
}

static void describe_choice(const struct config_key *k, struct buf *out)
{
    str rest = str_from_c(k->valid), word;

    while (!str_is_none(word = config_next_word(&rest, '|'))) {
        buf_append(out, word);
        buf_c(out, str_is_none(rest) ? "" : str_find_char(rest, '|') < rest.len ? ", " : " or ");
    }
}

void config_key_describe(const struct config_key *k, struct buf *out)
{
    switch (k->kind) {
    case CONFIG_GROUP:
        return;
    case CONFIG_TEXT:
    case CONFIG_SECRET:
    case CONFIG_LIST:
        buf_c(out, config_form_find(k->valid)->describe);
        return;
    case CONFIG_DURATION:
        describe_range(k, "a duration", out);
        buf_c(out, ", such as 500ms, 15s, 2m or 1h");
        return;
    case CONFIG_SIZE:
        describe_range(k, "a size", out);
        return;
    case CONFIG_COUNT:
        describe_range(k, "a whole number", out);
        return;
    case CONFIG_FLAG:
        buf_c(out, "true or false");
        return;
    case CONFIG_CHOICE:
        describe_choice(k, out);
        return;
    }
}

/* A number inside the range that valid states, both read by the same parser. */
static bool number_in_range(str value, const char *valid, bool (*parse)(str, uint64_t *),
                            uint64_t *ret)
{
    str range = str_from_c(valid);
    size_t dots = str_find(range, STR(".."));
    uint64_t n, low, high;

    if (!parse(value, &n) || !parse(str_from(range.p, dots), &low) ||
        !parse(str_skip(range, dots + 2), &high))
        return false;
    *ret = n;
    return n >= low && n <= high;
}

/* A copy of a value that has the key's form; NULL when it has not. */
static const char *copy_text(struct config *c, const struct config_key *k, str value)
{
    if (memchr(value.p, '\0', value.len) != NULL || !config_form_find(k->valid)->fits(value))
        return NULL;
    return arena_dup(&c->memory, value).p;
}

static bool set_text(struct config *c, const struct config_key *k, str value, void *field)
{
    const char **text = field;

    *text = NULL;
    if (value.len == 0)
        return true;
    *text = copy_text(c, k, value);
    return *text != NULL;
}

static bool set_list(struct config *c, const struct config_key *k, str value, void *field)
{
    struct config_list *list = field;
    size_t n = 1;
    str word;

    *list = (struct config_list){NULL, 0};
    if (value.len == 0)
        return true;
    for (size_t i = 0; i < value.len; i++)
        n += value.p[i] == ',';
    list->items = arena_array(&c->memory, n, sizeof(*list->items));
    while (list->items != NULL && !str_is_none(word = config_next_word(&value, ','))) {
        word = str_trim(word);
        list->items[list->n] = word.len == 0 ? NULL : copy_text(c, k, word);
        if (list->items[list->n++] == NULL)
            return false;
    }
    return list->items != NULL;
}

static bool set_flag(str value, void *field)
{
    static const struct {
        str word;
        bool is;
    } words[] = {
        {STR_INIT("true"), true},   {STR_INIT("yes"), true}, {STR_INIT("on"), true},
        {STR_INIT("1"), true},      {STR_INIT("no"), false}, {STR_INIT("off"), false},
        {STR_INIT("false"), false}, {STR_INIT("0"), false},
    };

    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
        if (str_eq_nocase(value, words[i].word)) {
            *(bool *)field = words[i].is;
            return true;
        }
    }
    return false;
}

static bool set_choice(const struct config_key *k, str value, void *field)
{
    str rest = str_from_c(k->valid), word;

    for (unsigned i = 0; !str_is_none(word = config_next_word(&rest, '|')); i++) {
        if (str_eq_nocase(value, word)) {
            memcpy(field, &i, sizeof(i));
            return true;
        }
    }
    return false;
}

_Static_assert(sizeof(enum config_reasoning) == sizeof(unsigned),
               "set_choice() copies an unsigned");

static bool set_field(struct config *c, const struct config_key *k, str value)
{
    void *field = (char *)c + k->offset;
    uint64_t n;

    switch (k->kind) {
    case CONFIG_GROUP:
        return false;
    case CONFIG_TEXT:
    case CONFIG_SECRET:
        return set_text(c, k, value, field);
    case CONFIG_LIST:
        return set_list(c, k, value, field);
    case CONFIG_DURATION:
        return number_in_range(value, k->valid, num_duration_ms, field);
    case CONFIG_SIZE:
        if (!number_in_range(value, k->valid, num_size_bytes, &n) || n > SIZE_MAX)
            return false;
        *(size_t *)field = (size_t)n;
        return true;
    case CONFIG_COUNT:
        if (!number_in_range(value, k->valid, num_uint, &n) || n > UINT_MAX)
            return false;
        *(unsigned *)field = (unsigned)n;
        return true;
    case CONFIG_FLAG:
        return set_flag(value, field);
    case CONFIG_CHOICE:
        return set_choice(k, value, field);
    }
    return false;
}

int config_key_set(struct config *c, const struct config_key *k, str value, const char *source,
                   struct err *reterr)
{
    struct buf form = {0};
    /* A URL with an @ holds a password. */
    bool is_private = k->kind == CONFIG_SECRET || str_find_char(value, '@') < value.len;

    if (set_field(c, k, value))
        return 0;
    config_key_describe(k, &form);
    if (is_private)
        err_set(reterr, ERR_INVALID_VALUE, "%s: the value is not valid; give %s", source,
                buf_cstr(&form));
    else
        err_set(reterr, ERR_INVALID_VALUE, "%s: \"%.*s\" is not valid; give %s", source,
                STR_ARG(value), buf_cstr(&form));
    buf_fini(&form);
    return -1;
}
