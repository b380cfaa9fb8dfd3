/* config.c -- gathers the configuration from all its sources, in order.
 *
 * Each source is applied on top of the one before, so that the last one wins
 * and every value is checked, also one that is overruled later. */
#include "config/config.h"

#include "config/config_key.h"

/* One word of the command line, taken apart: --name, --name=value, --no-name. */
struct flag {
    const char *word;
    str name, value; /* value is STR_NONE when there was no '=' */
    const struct config_key *key;
    bool is_off; /* --no-name */
};

static int set_defaults(struct config *c, struct err *reterr)
{
    *c = (struct config){.warning = NULL};
    for (const struct config_key *k = config_keys; k->name != NULL; k++) {
        if (k->kind != CONFIG_GROUP &&
            config_key_set(c, k, str_from_c(k->initial), k->name, reterr) == -1)
            return -1;
    }
    return 0;
}

static int unknown_flag(const struct flag *f, struct err *reterr)
{
    const struct config_key *near = config_key_nearest(f->name);
    struct buf meant = {0};

    if (near == NULL) {
        err_set(reterr, ERR_INVALID_VALUE, "unknown flag --%.*s; see antiphon serve --help",
                STR_ARG(f->name));
        return -1;
    }
    config_key_flag(near, &meant);
    err_set(reterr, ERR_INVALID_VALUE, "unknown flag --%.*s; did you mean %s?", STR_ARG(f->name),
            buf_cstr(&meant));
    buf_fini(&meant);
    return -1;
}

static bool is_config(const struct flag *f)
{
    return str_eq(f->name, STR("config"));
}

static int flag_parse(const char *word, struct flag *f, struct err *reterr)
{
    str text = str_from_c(word);
    size_t equals = str_find_char(text, '=');

    *f = (struct flag){.word = word, .value = STR_NONE};
    if (!str_starts_with(text, STR("--")) || text.len == 2) {
        err_set(reterr, ERR_INVALID_VALUE,
                "unexpected word \"%s\"; flags look like --name VALUE, see antiphon serve --help",
                word);
        return -1;
    }
    if (equals < text.len)
        f->value = str_skip(text, equals + 1);
    f->name = str_skip(str_from(word, equals), 2);
    f->key = config_key_find(f->name);
    if (f->key == NULL && str_starts_with(f->name, STR("no-"))) {
        f->key = config_key_find(str_skip(f->name, 3));
        f->is_off = f->key != NULL;
    }
    if (is_config(f) || (f->key != NULL && (!f->is_off || f->key->kind == CONFIG_FLAG)))
        return 0;
    return unknown_flag(f, reterr);
}

/* Completes f->value, from the next word where the flag takes one. Returns the
 * number of words used, or -1. */
static int flag_value(struct flag *f, const char *next, struct err *reterr)
{
    if (f->is_off && !str_is_none(f->value)) {
        err_set(reterr, ERR_INVALID_VALUE, "--%.*s takes no value", STR_ARG(f->name));
        return -1;
    }
    if (!str_is_none(f->value))
        return 1;
    if (!is_config(f) && f->key->kind == CONFIG_FLAG) {
        f->value = f->is_off ? STR("false") : STR("true");
        return 1;
    }
    /* A value that does start with dashes can be given behind '='. */
    if (next == NULL || str_starts_with(str_from_c(next), STR("--"))) {
        err_set(reterr, ERR_INVALID_VALUE, "--%.*s needs a value", STR_ARG(f->name));
        return -1;
    }
    f->value = str_from_c(next);
    return 2;
}

static int flag_apply(struct config *c, const struct flag *f, struct err *reterr)
{
    struct buf source = {0};
    int rc;

    config_key_flag(f->key, &source);
    rc = config_key_set(c, f->key, f->value, buf_cstr(&source), reterr);
    buf_fini(&source);
    return rc;
}

/* Walks the command line. With ret_file, only looks for --config, which has to
 * be known before the other sources are read; without, sets the keys. */
static int walk_flags(struct config *c, int n_args, const char *const *args, const char **ret_file,
                      struct err *reterr)
{
    int used;

    for (int i = 0; i < n_args; i += used) {
        struct flag f;

        if (flag_parse(args[i], &f, reterr) == -1)
            return -1;
        used = flag_value(&f, i + 1 < n_args ? args[i + 1] : NULL, reterr);
        if (used == -1)
            return -1;
        if (is_config(&f) && ret_file != NULL)
            *ret_file = f.value.p;
        else if (!is_config(&f) && ret_file == NULL && flag_apply(c, &f, reterr) == -1)
            return -1;
    }
    return 0;
}

int config_load(struct config *c, int n_args, const char *const *args, const char *const *env,
                struct err *reterr)
{
    const char *file = config_env_get(env, STR("ANTIPHON_CONFIG")).p;

    if (set_defaults(c, reterr) == -1 || walk_flags(c, n_args, args, &file, reterr) == -1)
        return -1;
    if (file != NULL && config_file_load(c, file, reterr) == -1)
        return -1;
    if (config_env_load(c, env, reterr) == -1)
        return -1;
    return walk_flags(c, n_args, args, NULL, reterr);
}

void config_fini(struct config *c)
{
    arena_fini(&c->memory);
    *c = (struct config){.warning = NULL};
}
