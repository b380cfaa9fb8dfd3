/* config_flags.c -- the command line: --name VALUE, --name=VALUE, --name, --no-name. */
#include "config/config_key.h"

/* --config, --check-config and --probe are flags only: they say what to do with the keys. */
enum flag_meaning { FLAG_WRONG, FLAG_OF_KEY, FLAG_CONFIG, FLAG_CHECK };

/* One flag, taken apart. */
struct flag {
    enum flag_meaning meaning;
    str name, value; /* value is STR_NONE when there was no '=' */
    const struct config_key *key;
    bool is_off; /* --no-name */
};

static void unknown_flag(str name, struct config_problems *problems)
{
    struct spelling s = spelling_of(name, name.len / 2);
    struct buf meant = {0};

    config_key_spell(&s);
    (void)spelling_try(&s, "config");
    (void)spelling_try(&s, "check-config");
    (void)spelling_try(&s, "probe");
    (void)spelling_try(&s, "help");
    if (s.best == NULL) {
        config_error(problems, "unknown flag --%.*s; see antiphon serve --help", STR_ARG(name));
        return;
    }
    for (const char *p = s.best; *p != '\0'; p++)
        buf_char(&meant, *p == '_' ? '-' : *p);
    config_error(problems, "unknown flag --%.*s; did you mean --%s?", STR_ARG(name),
                 buf_cstr(&meant));
    buf_fini(&meant);
}

/* A word behind the value of a secret may be the rest of it. */
static void unexpected_word(str word, const struct config_key *before,
                            struct config_problems *problems)
{
    bool is_private = before != NULL && config_key_is_private(before, word);

    config_error(problems,
                 "unexpected word %s; flags look like --name VALUE, see antiphon serve --help",
                 is_private ? "behind a secret" : config_quote(word).text);
}

static enum flag_meaning meaning_of(struct flag *f)
{
    if (str_eq(f->name, STR("config")))
        return FLAG_CONFIG;
    if (str_eq(f->name, STR("check-config")) || str_eq(f->name, STR("probe")))
        return FLAG_CHECK;
    f->key = config_key_find(f->name);
    if (f->key != NULL)
        return FLAG_OF_KEY;
    if (str_starts_with(f->name, STR("no-"))) {
        f->key = config_key_find(str_skip(f->name, 3));
        f->is_off = f->key != NULL && config_key_is_flag(f->key);
    }
    return f->is_off ? FLAG_OF_KEY : FLAG_WRONG;
}

static bool is_flag(str word)
{
    return str_starts_with(word, STR("--")) && word.len > 2;
}

static struct flag flag_of(const char *word)
{
    size_t equals = strcspn(word, "=");
    struct flag f = {.value = STR_NONE};

    if (word[equals] == '=')
        f.value = str_from_c(word + equals + 1);
    f.name = str_skip(str_from(word, equals), 2);
    f.meaning = meaning_of(&f);
    return f;
}

/* True when the flag is complete without a value. */
static bool stands_alone(struct flag *f, struct config_problems *problems)
{
    bool is_switch = f->meaning == FLAG_OF_KEY && config_key_is_flag(f->key);

    if (!str_is_none(f->value)) {
        if (!f->is_off && f->meaning != FLAG_CHECK)
            return true;
        config_error(problems,
                     "--%.*s takes no value; remove what is behind the =", STR_ARG(f->name));
        f->meaning = FLAG_WRONG;
        return true;
    }
    if (is_switch)
        f->value = f->is_off ? STR("false") : STR("true");
    return is_switch || f->meaning == FLAG_CHECK;
}

/* Reads the flag at words[0] and its value. Returns the number of words used. */
static int flag_read(int n_words, const char *const *words, struct flag *f,
                     struct config_problems *problems)
{
    bool has_next = n_words > 1 && !str_starts_with(str_from_c(words[1]), STR("--"));

    *f = flag_of(words[0]);
    if (f->meaning == FLAG_WRONG) {
        unknown_flag(f->name, problems);
        return has_next && str_is_none(f->value) ? 2 : 1; /* the next is probably its value */
    }
    if (stands_alone(f, problems))
        return 1;
    if (has_next) {
        f->value = str_from_c(words[1]);
        return 2;
    }
    config_error(problems, "--%.*s needs a value; one that starts with -- is written behind =",
                 STR_ARG(f->name));
    f->meaning = FLAG_WRONG;
    return 1;
}

void config_flags_load(struct config *c, int n_args, const char *const *args,
                       struct config_problems *problems)
{
    static const struct config_place place = {.source = CONFIG_FROM_FLAG};
    struct flag f = {.key = NULL};
    int used;

    for (int i = 0; i < n_args; i += used) {
        used = 1;
        if (!is_flag(str_from_c(args[i]))) {
            unexpected_word(str_from_c(args[i]), f.key, problems);
            continue;
        }
        used = flag_read(n_args - i, args + i, &f, problems);
        if (f.meaning == FLAG_OF_KEY)
            config_key_set(c, f.key, f.value, &place, problems);
    }
}

/* The value of the last flag of this meaning and key; STR_NONE when there is none. */
static str last_value(int n_args, const char *const *args, enum flag_meaning meaning,
                      const struct config_key *k)
{
    str value = STR_NONE;
    struct flag f;
    int used;

    for (int i = 0; i < n_args; i += used) {
        used = 1;
        if (!is_flag(str_from_c(args[i])))
            continue;
        used = flag_read(n_args - i, args + i, &f, NULL);
        if (f.meaning == meaning && (k == NULL || f.key == k))
            value = f.value;
    }
    return value;
}

const char *config_flags_file(int n_args, const char *const *args)
{
    return last_value(n_args, args, FLAG_CONFIG, NULL).p;
}

str config_flags_value(int n_args, const char *const *args, const struct config_key *k)
{
    return last_value(n_args, args, FLAG_OF_KEY, k);
}
