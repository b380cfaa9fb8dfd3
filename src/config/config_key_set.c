/* config_key_set.c -- how a text becomes a field. */
#include "config/config_key.h"

#include "base/num.h"

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
        return *k->initial == '\0'; /* what has a default is never NULL */
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

    for (size_t i = 0; i < COUNT_OF(words); i++) {
        if (str_eq_nocase(value, words[i].word)) {
            *(bool *)field = words[i].is;
            return true;
        }
    }
    return false;
}

_Static_assert(sizeof(enum config_reasoning) == sizeof(unsigned),
               "set_choice() copies an unsigned");

static bool set_choice(const struct config_key *k, str value, void *field)
{
    unsigned chosen;

    if (!config_has_word(k->valid, value, &chosen))
        return false;
    memcpy(field, &chosen, sizeof(chosen));
    return true;
}

static bool set_word(struct config *c, const struct config_key *k, str value, const char **field)
{
    unsigned chosen;

    if (!config_has_word(k->valid, value, &chosen))
        return false;
    *field = arena_dup(&c->memory, config_word_at(k->valid, chosen)).p;
    return *field != NULL;
}

/* A flag says true or false, a setting on or off; all of them are taken. */
static bool set_switch(struct config *c, const struct config_key *k, str value, const char **field)
{
    bool is_on;

    if (set_flag(value, &is_on))
        value = is_on ? STR("on") : STR("off");
    return set_word(c, k, value, field);
}

static bool set_size(const struct config_key *k, str value, void *field)
{
    uint64_t n;

    if (config_key_may_be_auto(k) && str_eq_nocase(value, STR("auto"))) {
        *(size_t *)field = CONFIG_SIZE_AUTO;
        return true;
    }
    if (!number_in_range(value, config_key_range(k), num_size_bytes, &n) || n >= CONFIG_SIZE_AUTO)
        return false;
    *(size_t *)field = (size_t)n;
    return true;
}

static bool set_count(const struct config_key *k, str value, unsigned *field)
{
    uint64_t n = CONFIG_COUNT_AUTO;

    if (!config_key_may_be_auto(k) || !str_eq_nocase(value, STR("auto"))) {
        if (!number_in_range(value, config_key_range(k), num_uint, &n) || n >= CONFIG_COUNT_AUTO)
            return false;
    }
    *field = (unsigned)n;
    return true;
}

static bool set_field(struct config *c, const struct config_key *k, str value)
{
    void *field = (char *)c + k->offset;

    switch (k->kind) {
    case CONFIG_GROUP:
    case CONFIG_LIST:
    case CONFIG_SECRETS:
        return false;
    case CONFIG_TEXT:
    case CONFIG_SECRET:
        return set_text(c, k, value, field);
    case CONFIG_DURATION:
        return number_in_range(value, config_key_range(k), num_duration_ms, field);
    case CONFIG_SIZE:
        return set_size(k, value, field);
    case CONFIG_COUNT:
        return set_count(k, value, field);
    case CONFIG_FLAG:
        return set_flag(value, field);
    case CONFIG_SWITCH:
        return set_switch(c, k, value, field);
    case CONFIG_CHOICE:
        return set_choice(k, value, field);
    case CONFIG_WORD:
        return set_word(c, k, value, field);
    }
    return false;
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
