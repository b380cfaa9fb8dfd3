/* config_model.c -- a line of model_settings: the name of a model, then NAME=WORD ...
 *
 * The names are those of the keys of its own group that have a choice of words, and the words are
 * theirs: a line says of one model what the key says of all. */
#include "config/config_key.h"

enum fault_kind { FAULT_NONE, FAULT_NO_PAIR, FAULT_NAME, FAULT_WORD, FAULT_REPEATED };

struct fault {
    enum fault_kind kind;
    str text;                     /* of the line: the pair, the name or the word that is wrong */
    const struct config_key *key; /* FAULT_WORD: the setting that has no such word */
};

/* ---- the settings there are */

static const struct config_key *first_of_group(void)
{
    const struct config_key *k = config_key_find(STR("model_settings"));

    while (k[-1].kind != CONFIG_GROUP)
        k--;
    return k;
}

static bool is_in_group(const struct config_key *k)
{
    return k->name != NULL && k->kind != CONFIG_GROUP;
}

static const struct config_key *find_setting(str name)
{
    for (const struct config_key *k = first_of_group(); is_in_group(k); k++) {
        if (k->kind == CONFIG_WORD && str_eq(name, str_from_c(k->name)))
            return k;
    }
    return NULL;
}

static void list_settings(struct buf *out)
{
    const char *separator = "";

    for (const struct config_key *k = first_of_group(); is_in_group(k); k++) {
        if (k->kind != CONFIG_WORD)
            continue;
        buf_c(out, separator);
        buf_c(out, k->name);
        separator = ", ";
    }
}

/* ---- lines */

/* Has a setting of this name been made in what comes before its end? */
static bool is_repeated(str settings, str name)
{
    str word;

    while (!str_is_none(word = config_next_word(&settings, ' '))) {
        str known = str_from(word.p, str_find_char(word, '='));

        if (known.p == name.p)
            return false;
        if (str_eq(known, name))
            return true;
    }
    return false;
}

static struct fault check_pair(str settings, str pair)
{
    size_t equals = str_find_char(pair, '=');
    str name = str_from(pair.p, equals), word = str_skip(pair, equals + 1);
    const struct config_key *k = find_setting(name);

    if (equals == pair.len)
        return (struct fault){.kind = FAULT_NO_PAIR, .text = pair};
    if (k == NULL)
        return (struct fault){.kind = FAULT_NAME, .text = name};
    if (!config_has_word(k->valid, word, NULL))
        return (struct fault){.kind = FAULT_WORD, .text = word, .key = k};
    if (is_repeated(settings, name))
        return (struct fault){.kind = FAULT_REPEATED, .text = name};
    return (struct fault){.kind = FAULT_NONE};
}

static struct fault check_settings(str settings)
{
    struct fault fault = {.kind = FAULT_NONE};
    str rest = settings, pair;

    while (fault.kind == FAULT_NONE && !str_is_none(pair = config_next_word(&rest, ' '))) {
        if (pair.len > 0)
            fault = check_pair(settings, pair);
    }
    return fault;
}

/* What stands behind the name of the model, or STR_NONE. */
static str settings_of(str line)
{
    size_t space = str_find_char(line, ' ');
    str settings = str_trim(str_skip(line, space));

    return space == 0 || settings.len == 0 ? STR_NONE : settings;
}

bool config_model_fits(str line)
{
    str settings = settings_of(line);

    return !str_is_none(settings) && check_settings(settings).kind == FAULT_NONE;
}

static void explain(const struct fault *fault, struct buf *out)
{
    buf_c(out, ": ");
    buf_c(out, config_quote(fault->text).text);
    switch (fault->kind) {
    case FAULT_NONE:
        break;
    case FAULT_NO_PAIR:
        buf_c(out, " is no setting; give NAME=WORD");
        break;
    case FAULT_NAME:
        buf_c(out, " is no setting; give one of ");
        list_settings(out);
        break;
    case FAULT_WORD:
        buf_c(out, " is not valid for ");
        buf_c(out, fault->key->name);
        buf_c(out, "; give ");
        config_write_words(fault->key->valid, out);
        break;
    case FAULT_REPEATED:
        buf_c(out, " is there twice; remove one");
        break;
    }
}

bool config_model_explain(str line, struct buf *out)
{
    str settings = settings_of(line);
    struct fault fault = {.kind = FAULT_NONE};

    if (!str_is_none(settings))
        fault = check_settings(settings);
    if (fault.kind != FAULT_NONE)
        explain(&fault, out);
    return fault.kind != FAULT_NONE;
}
