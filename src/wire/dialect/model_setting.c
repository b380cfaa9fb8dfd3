/* model_setting.c -- the table of settings, and texts that say some of them. */
#include "wire/dialect/model_setting.h"

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
#include "wire/dialect/model_setting.def"
};

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

void model_words_add(str text, struct model_words *words)
{
    while (text.len > 0) {
        str word = str_cut(&text, ' '), name = str_cut(&word, '=');
        enum model_setting s;

        if (model_setting_find(name, &s) && str_is_none(words->of[s]))
            words->of[s] = word;
    }
}

void model_words_add_all(const struct model_words *more, struct model_words *words)
{
    for (int s = 0; s < MODEL_SETTINGS; s++) {
        if (str_is_none(words->of[s]))
            words->of[s] = more->of[s];
    }
}
