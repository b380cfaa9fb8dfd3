/* model_setting.c -- the table of settings, and texts that say some of them. */
#include "wire/dialect/model_setting.h"

#include "base/num.h"
#include "wire/dialect/model_profile.h"

enum { AUTO = -1, MAX_WORDS = 10 };

static const struct row {
    str name;
    const char *words;
    int values[MAX_WORDS]; /* in the order of the words */
} rows[] = {
#define VALUES(...)                                                                                \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }
#define MODEL_SETTING(symbol, name, kind, words, values, help)                                     \
    [MODEL_##symbol] = {STR_INIT(#name), words, values},
#define MODEL_CHOICE(symbol, name, words, values, help) /* the same; VALUES has commas */          \
    [MODEL_##symbol] = {STR_INIT(#name), words, values},
#include "wire/dialect/model_setting.def"
};

static const struct number_row {
    str name;
    const char *range;
    uint64_t smallest, largest;
} number_rows[] = {
#define MODEL_NUMBER(symbol, name, smallest, largest, help)                                        \
    {STR_INIT(#name), #smallest ".." #largest, smallest, largest},
#include "wire/dialect/model_setting.def"
};

static const struct number_row *number_row_of(enum model_number n)
{
    return &number_rows[(int)n - (int)MODEL_SETTINGS];
}

const char *model_setting_name(enum model_setting s)
{
    return rows[s].name.p;
}

const char *model_setting_words(enum model_setting s)
{
    return rows[s].words;
}

bool model_setting_find(str name, enum model_setting *ret)
{
    for (int s = 0; s < MODEL_SETTINGS; s++) {
        if (!str_eq(name, rows[s].name))
            continue;
        *ret = (enum model_setting)s;
        return true;
    }
    return false;
}

/* The configuration takes words in any case, so we do. */
bool model_setting_value(enum model_setting s, str word, int *ret)
{
    str rest = str_from_c(rows[s].words);

    for (size_t i = 0; rest.len > 0 && !str_is_none(word); i++) {
        if (!str_eq_nocase(str_cut(&rest, '|'), word))
            continue;
        *ret = rows[s].values[i];
        return *ret != AUTO;
    }
    return false;
}

bool model_setting_is_open(enum model_setting s, int *ret)
{
    const int *values = rows[s].values;

    *ret = values[0] == AUTO ? values[1] : values[0];
    return values[0] == AUTO;
}

bool model_number_find(str name, enum model_number *ret)
{
    for (int n = MODEL_SETTINGS; n < (int)MODEL_SETTINGS_AND_NUMBERS; n++) {
        if (!str_eq(name, number_row_of((enum model_number)n)->name))
            continue;
        *ret = (enum model_number)n;
        return true;
    }
    return false;
}

const char *model_number_name(enum model_number n)
{
    return number_row_of(n)->name.p;
}

const char *model_number_range(enum model_number n)
{
    return number_row_of(n)->range;
}

bool model_number_value(enum model_number n, str text, int64_t *ret)
{
    const struct number_row *row = number_row_of(n);
    uint64_t value;

    if (!num_uint(text, &value) || value < row->smallest || value > row->largest)
        return false;
    *ret = (int64_t)value;
    return true;
}

/* The place of a setting among all words; false when it has none. */
static bool find_place(str name, size_t *ret)
{
    enum model_setting s;
    enum model_number n;

    if (model_setting_find(name, &s))
        *ret = (size_t)s;
    else if (model_number_find(name, &n))
        *ret = (size_t)n;
    else
        return false;
    return true;
}

void model_words_add(str text, struct model_words *words)
{
    while (text.len > 0) {
        str word = str_cut(&text, ' '), name = str_cut(&word, '=');
        size_t i;

        if (find_place(name, &i) && str_is_none(words->of[i]))
            words->of[i] = word;
    }
}

void model_words_add_all(const struct model_words *more, struct model_words *words)
{
    for (int i = 0; i < (int)MODEL_SETTINGS_AND_NUMBERS; i++) {
        if (str_is_none(words->of[i]))
            words->of[i] = more->of[i];
    }
}
