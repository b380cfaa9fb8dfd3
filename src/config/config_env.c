/* config_env.c -- the environment: ANTIPHON_ and the key in capitals. */
#include <ctype.h>
#include <stdlib.h>

#include "config/config_key.h"

const char **config_env_list(char *const *env)
{
    size_t n = 0;
    const char **list;

    while (env[n] != NULL)
        n++;
    list = calloc(n + 1, sizeof(*list));
    for (size_t i = 0; list != NULL && i < n; i++)
        list[i] = env[i];
    return list;
}

str config_env_get(const char *const *env, str variable)
{
    for (; env != NULL && *env != NULL; env++) {
        str line = str_from_c(*env);

        if (str_starts_with(line, variable) &&
            str_starts_with(str_skip(line, variable.len), STR("="))) {
            str value = str_skip(line, variable.len + 1);

            return value.len == 0 ? STR_NONE : value;
        }
    }
    return STR_NONE;
}

static void load_own(struct config *c, const struct config_key *k, const char *const *env,
                     struct config_problems *problems)
{
    static const struct config_place place = {.source = CONFIG_FROM_VARIABLE};
    struct buf name = {0};

    for (; k->name != NULL; k++) {
        str value;

        if (k->kind == CONFIG_GROUP)
            continue;
        buf_reset(&name);
        config_key_variable(k, &name);
        value = config_env_get(env, buf_str(&name));
        if (!str_is_none(value))
            config_key_set(c, k, value, &place, problems);
    }
    buf_fini(&name);
}

static void append_in_case(str s, int (*to_case)(int), struct buf *out)
{
    for (size_t i = 0; i < s.len; i++)
        buf_char(out, (char)to_case((unsigned char)s.p[i]));
}

/* Others may use the prefix as well (Kubernetes names variables after a
 * service), so only what is nearly one of ours is worth a word. */
static void note_misspelled(str variable, struct config_problems *problems)
{
    struct buf key = {0}, meant = {0};
    struct spelling s;

    append_in_case(str_skip(variable, strlen("ANTIPHON_")), tolower, &key);
    s = spelling_of(buf_str(&key), 2);
    (void)spelling_try(&s, "config");
    config_key_spell(&s);
    buf_c(&meant, "ANTIPHON_");
    append_in_case(str_from_c(s.best), toupper, &meant);
    if (s.best != NULL && !str_eq(variable, buf_str(&meant)))
        config_warning(problems, "%.*s is not known; did you mean %s?", STR_ARG(variable),
                       buf_cstr(&meant));
    buf_fini(&key);
    buf_fini(&meant);
}

void config_env_load(struct config *c, const char *const *env, struct config_problems *problems)
{
    load_own(c, config_keys, env, problems);
    load_own(c, config_old_keys, env, problems);
    for (; env != NULL && *env != NULL; env++) {
        if (str_starts_with(str_from_c(*env), STR("ANTIPHON_")) && strchr(*env, '=') != NULL)
            note_misspelled(str_from(*env, strcspn(*env, "=")), problems);
    }
}
