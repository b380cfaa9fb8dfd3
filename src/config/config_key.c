/* config_key.c -- the table of keys, and how a text becomes a field. */
#include "config/config_key.h"

#include <limits.h>
#include <stdlib.h>

#include "base/num.h"

#define FIELD_TEXT(name)     name
#define FIELD_SECRET(name)   name
#define FIELD_LIST(name)     name
#define FIELD_SECRETS(name)  name
#define FIELD_DURATION(name) name##_ms
#define FIELD_SIZE(name)     name##_bytes
#define FIELD_COUNT(name)    name
#define FIELD_FLAG(name)     name
#define FIELD_SWITCH(name)   name
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
    if (k->kind == CONFIG_GROUP)
        return false;
    for (size_t i = 0; i < name.len; i++) {
        if (k->name[i] == '\0' || k->name[i] != as_written(name.p[i]))
            return false;
    }
    return k->name[name.len] == '\0';
}

const struct config_key *config_key_find(str name)
{
    for (const struct config_key *k = config_keys; k->name != NULL; k++) {
        if (is_named(k, name))
            return k;
    }
    return NULL;
}

bool config_key_is_flag(const struct config_key *k)
{
    return k->kind == CONFIG_FLAG || k->kind == CONFIG_SWITCH;
}

const char *config_switch_word(enum config_switch s)
{
    return s == CONFIG_SWITCH_AUTO ? "auto" : s == CONFIG_SWITCH_ON ? "true" : "false";
}

bool config_key_is_list(const struct config_key *k)
{
    return k->kind == CONFIG_LIST || k->kind == CONFIG_SECRETS;
}

void config_key_spell(struct spelling *s)
{
    for (const struct config_key *k = config_keys; k->name != NULL; k++) {
        if (k->kind != CONFIG_GROUP)
            (void)spelling_try(s, k->name);
    }
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

/* Of a number that the gateway may find out by itself, "auto|" stands before its range. */
static const str auto_mark = STR_INIT("auto|");

static bool may_be_auto(const struct config_key *k)
{
    return str_starts_with(str_from_c(k->valid), auto_mark);
}

static str range_of(const struct config_key *k)
{
    return str_skip(str_from_c(k->valid), may_be_auto(k) ? auto_mark.len : 0);
}

static void describe_range(const struct config_key *k, const char *what, struct buf *out)
{
    const str range = range_of(k);
    size_t low = str_find_char(range, '.');

    buf_c(out, may_be_auto(k) ? "auto, or " : "");
    buf_c(out, what);
    buf_c(out, " from ");
    buf_append(out, str_from(range.p, low));
    buf_c(out, " to ");
    buf_append(out, str_skip(range, low + strlen("..")));
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
    case CONFIG_SECRETS:
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
    case CONFIG_SWITCH:
        buf_c(out, "true, false or auto");
        return;
    case CONFIG_CHOICE:
        describe_choice(k, out);
        return;
    }
}

const char *config_key_placeholder(const struct config_key *k)
{
    switch (k->kind) {
    case CONFIG_TEXT:
    case CONFIG_SECRET:
    case CONFIG_LIST:
    case CONFIG_SECRETS:
    case CONFIG_CHOICE:
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

void config_key_takes(const struct config_key *k, struct buf *out)
{
    buf_c(out, config_key_is_list(k) ? "a list, each element " : "");
    config_key_describe(k, out);
}

/* A number inside a range, both read by the same parser. */
static bool number_in_range(str value, str range, bool (*parse)(str, uint64_t *), uint64_t *ret)
{
    size_t dots = str_find(range, STR(".."));
    uint64_t n, low, high;

    if (!parse(value, &n) || !parse(str_from(range.p, dots), &low) ||
        !parse(str_skip(range, dots + 2), &high))
        return false;
    *ret = n;
    return n >= low && n <= high;
}

static bool set_text(struct config *c, const struct config_key *k, str value, void *field)
{
    const char **text = field;

    *text = NULL;
    if (value.len == 0)
        return true;
    if (!config_form_find(k->valid)->fits(value))
        return false;
    *text = arena_dup(&c->memory, value).p;
    return *text != NULL;
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

static bool set_switch(str value, void *field)
{
    enum config_switch *to = field;
    bool is_on;

    if (str_eq_nocase(value, STR("auto"))) {
        *to = CONFIG_SWITCH_AUTO;
        return true;
    }
    if (!set_flag(value, &is_on))
        return false;
    *to = is_on ? CONFIG_SWITCH_ON : CONFIG_SWITCH_OFF;
    return true;
}

bool config_key_has_word(const struct config_key *k, str word, unsigned *ret_index)
{
    str rest = str_from_c(k->valid), known;

    for (unsigned i = 0; !str_is_none(known = config_next_word(&rest, '|')); i++) {
        if (!str_eq_nocase(word, known))
            continue;
        if (ret_index != NULL)
            *ret_index = i;
        return true;
    }
    return false;
}

static bool set_choice(const struct config_key *k, str value, void *field)
{
    unsigned chosen;

    if (!config_key_has_word(k, value, &chosen))
        return false;
    memcpy(field, &chosen, sizeof(chosen));
    return true;
}

str config_key_chosen(const struct config *c, const struct config_key *k)
{
    str rest = str_from_c(k->valid), word = STR_NONE;
    unsigned chosen;

    memcpy(&chosen, (const char *)c + k->offset, sizeof(chosen));
    for (unsigned i = 0; i <= chosen; i++)
        word = config_next_word(&rest, '|');
    return word;
}

str config_choice(const struct config *c, const char *name)
{
    const struct config_key *k = config_key_find(str_from_c(name));

    return k == NULL || k->kind != CONFIG_CHOICE ? STR_NONE : config_key_chosen(c, k);
}

_Static_assert(sizeof(enum config_reasoning) == sizeof(unsigned),
               "set_choice() copies an unsigned");

static bool set_size(const struct config_key *k, str value, void *field)
{
    uint64_t n;

    if (may_be_auto(k) && str_eq_nocase(value, STR("auto"))) {
        *(size_t *)field = CONFIG_SIZE_AUTO;
        return true;
    }
    if (!number_in_range(value, range_of(k), num_size_bytes, &n) || n >= CONFIG_SIZE_AUTO)
        return false;
    *(size_t *)field = (size_t)n;
    return true;
}

static bool set_field(struct config *c, const struct config_key *k, str value)
{
    void *field = (char *)c + k->offset;
    uint64_t n;

    switch (k->kind) {
    case CONFIG_GROUP:
    case CONFIG_LIST:
    case CONFIG_SECRETS:
        return false;
    case CONFIG_TEXT:
    case CONFIG_SECRET:
        return set_text(c, k, value, field);
    case CONFIG_DURATION:
        return number_in_range(value, range_of(k), num_duration_ms, field);
    case CONFIG_SIZE:
        return set_size(k, value, field);
    case CONFIG_COUNT:
        if (!number_in_range(value, range_of(k), num_uint, &n) || n > UINT_MAX)
            return false;
        *(unsigned *)field = (unsigned)n;
        return true;
    case CONFIG_FLAG:
        return set_flag(value, field);
    case CONFIG_SWITCH:
        return set_switch(value, field);
    case CONFIG_CHOICE:
        return set_choice(k, value, field);
    }
    return false;
}

bool config_key_is_private(const struct config_key *k, str value)
{
    return k->kind == CONFIG_SECRET || k->kind == CONFIG_SECRETS ||
           (k->kind == CONFIG_TEXT && config_form_find(k->valid)->may_hold_password &&
            str_find_char(value, '@') < value.len);
}

void config_key_where(const struct config *c, const struct config_key *k, struct buf *out)
{
    const struct config_place *place = &c->places[k->id];

    if (place->source == CONFIG_FROM_FLAG) {
        config_key_flag(k, out);
    } else if (place->source == CONFIG_FROM_VARIABLE && place->name == NULL) {
        config_key_variable(k, out);
    } else if (place->source == CONFIG_FROM_VARIABLE) {
        buf_c(out, place->name);
    } else if (place->source == CONFIG_FROM_FILE) {
        buf_c(out, place->name);
        buf_c(out, ": line ");
        buf_uint(out, place->line);
        buf_c(out, ": ");
        buf_c(out, k->name);
    } else {
        buf_c(out, k->name);
    }
}

void config_key_refuse(struct config *c, const struct config_key *k,
                       struct config_problems *problems, const char *message)
{
    struct buf where = {0};

    c->places[k->id].is_refused = true;
    config_key_where(c, k, &where);
    config_error(problems, "%s: %s", buf_cstr(&where), message);
    buf_fini(&where);
}

/* Appends what in particular is wrong with a text or an element, if its form can tell. */
static bool explain_form(const struct config_key *k, str value, struct buf *out)
{
    const struct config_form *form;

    if (k->kind != CONFIG_TEXT && k->kind != CONFIG_LIST)
        return false;
    form = config_form_find(k->valid);
    return form->explain != NULL && form->explain(value, out);
}

void config_key_refuse_value(struct config *c, const struct config_key *k, str value,
                             struct config_problems *problems)
{
    struct buf message = {0};

    buf_c(&message, config_key_is_private(k, value) ? "the value" : config_quote(value).text);
    if (!explain_form(k, value, &message)) {
        buf_c(&message, " is not valid; give ");
        config_key_describe(k, &message);
    }
    config_key_refuse(c, k, problems, buf_cstr(&message));
    buf_fini(&message);
}

static void set_list(struct config *c, const struct config_key *k, str value,
                     const struct config_place *place, struct config_problems *problems)
{
    str element;

    config_list_begin(c, k, place);
    if (value.len == 0)
        return;
    while (!str_is_none(element = config_next_word(&value, ','))) {
        if (!config_list_add(c, k, str_trim(element), problems))
            return;
    }
}

void config_key_set(struct config *c, const struct config_key *k, str value,
                    const struct config_place *place, struct config_problems *problems)
{
    if (config_key_is_list(k)) {
        set_list(c, k, value, place, problems);
        return;
    }
    c->places[k->id] = *place;
    if (str_is_none(value))
        config_key_refuse(c, k, problems, "out of memory");
    else if (!set_field(c, k, value))
        config_key_refuse_value(c, k, value, problems);
}
