/* config_model.c -- a line of model_settings: the name of a model, then NAME=WORD ... of
 * wire/dialect/model_setting.def. */
#include "config/config_key.h"

enum fault_kind {
    FAULT_NONE,
    FAULT_NO_PAIR,
    FAULT_NAME,
    FAULT_WORD,
    FAULT_NUMBER,
    FAULT_REPEATED,
};

struct fault {
    enum fault_kind kind;
    str text;                 /* of the line: the pair, the name or the word that is wrong */
    enum model_setting of;    /* FAULT_WORD: the setting that has no such word */
    enum model_number number; /* FAULT_NUMBER: the setting that does not take that */
};

static void list_settings(struct buf *out)
{
    for (int s = 0; s < MODEL_SETTINGS; s++) {
        buf_c(out, s == 0 ? "" : ", ");
        buf_c(out, model_setting_name((enum model_setting)s));
    }
    for (int n = MODEL_SETTINGS; n < (int)MODEL_SETTINGS_AND_NUMBERS; n++) {
        buf_c(out, ", ");
        buf_c(out, model_number_name((enum model_number)n));
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
    struct fault fault = {.kind = FAULT_NONE, .text = word};
    int64_t value;

    if (equals == pair.len)
        return (struct fault){.kind = FAULT_NO_PAIR, .text = pair};
    if (model_setting_find(name, &fault.of))
        fault.kind =
            config_has_word(model_setting_words(fault.of), word, NULL) ? FAULT_NONE : FAULT_WORD;
    else if (model_number_find(name, &fault.number))
        fault.kind = model_number_value(fault.number, word, &value) ? FAULT_NONE : FAULT_NUMBER;
    else
        return (struct fault){.kind = FAULT_NAME, .text = name};
    if (fault.kind == FAULT_NONE && is_repeated(settings, name))
        return (struct fault){.kind = FAULT_REPEATED, .text = name};
    return fault;
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

static void explain_fault(const struct fault *fault, struct buf *out)
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
        buf_c(out, model_setting_name(fault->of));
        buf_c(out, "; give ");
        config_write_words(model_setting_words(fault->of), out);
        break;
    case FAULT_NUMBER:
        buf_c(out, " is not valid for ");
        buf_c(out, model_number_name(fault->number));
        buf_c(out, "; give a number, ");
        buf_c(out, model_number_range(fault->number));
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
        explain_fault(&fault, out);
    return fault.kind != FAULT_NONE;
}

/* ---- old keys */

void config_model_note_old(const struct config *c, struct config_problems *problems)
{
    struct buf names = {0}, line = {0};

    buf_char(&line, '*');
    for (const struct config_key *k = config_old_keys; k->name != NULL; k++) {
        str word = config_key_chosen(c, k);

        if (str_is_none(word))
            continue;
        buf_c(&names, names.len == 0 ? "" : ", ");
        config_key_where(c, k, &names);
        buf_char(&line, ' ');
        buf_c(&line, k->name);
        buf_char(&line, '=');
        buf_append(&line, word);
    }
    if (names.len > 0)
        config_warning(
            problems,
            "%s: settings of models are keys in this version only; say \"%s\" in model_settings",
            buf_cstr(&names), buf_cstr(&line));
    buf_fini(&names);
    buf_fini(&line);
}
