/* config_env.c -- the environment: our own variables and those of open-responses-server.
 *
 * Our names are ANTIPHON_ and the key in capitals. The names of
 * open-responses-server come first, so that ours win where both are set; their
 * values mean what they meant there, which is what the conversions are for. */
#include <ctype.h>
#include <stdio.h>

#include "base/num.h"
#include "config/config_key.h"

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

static str unchanged(struct config *c, str value)
{
    (void)c;
    return value;
}

static str joined(struct config *c, str a, const char *between, str b)
{
    size_t n = a.len + strlen(between) + b.len;
    char *text = arena_alloc(&c->memory, n + 1);

    if (text == NULL)
        return STR_NONE;
    (void)snprintf(text, n + 1, "%.*s%s%.*s", STR_ARG(a), between, STR_ARG(b));
    return str_from(text, n);
}

/* There, /v1 is added to every URL, also to one with a path. */
static str base_url(struct config *c, str value)
{
    while (str_ends_with(value, STR("/")))
        value.len--;
    if (str_ends_with(value, STR("/v1")))
        return value;
    return joined(c, value, "/v1", STR(""));
}

/* The two parts of the address so far; a socket or a wrong one has the default's. */
static void address_parts(const struct config *c, str *ret_host, str *ret_port)
{
    *ret_host = STR("127.0.0.1");
    *ret_port = STR("8080");
    if (c->listen.n > 0)
        (void)config_split_address(str_from_c(c->listen.items[0]), ret_host, ret_port);
}

/* Host and port are two variables there; each replaces its part of the address. */
static str host(struct config *c, str value)
{
    str old_host, port;

    address_parts(c, &old_host, &port);
    if (str_find_char(value, ':') == value.len || str_starts_with(value, STR("[")))
        return joined(c, value, ":", port);
    value = joined(c, STR("["), "", value);
    return str_is_none(value) ? value : joined(c, value, "]:", port);
}

static str port(struct config *c, str value)
{
    str old_host, old_port;

    address_parts(c, &old_host, &old_port);
    return joined(c, old_host, ":", value);
}

/* A number of seconds, which may be negative there for "off". */
static str seconds(struct config *c, str value)
{
    uint64_t ms;

    (void)c;
    if (str_starts_with(value, STR("-")) && num_duration_ms(str_skip(value, 1), &ms))
        return STR("0");
    return value;
}

/* The names of Python's logging, in either case. */
static str python_level(struct config *c, str value)
{
    static const struct {
        str theirs, ours;
    } levels[] = {
        {STR_INIT("warning"), STR_INIT("warn")},
        {STR_INIT("critical"), STR_INIT("error")},
        {STR_INIT("fatal"), STR_INIT("error")},
        {STR_INIT("notset"), STR_INIT("debug")},
    };

    (void)c;
    for (size_t i = 0; i < COUNT_OF(levels); i++) {
        if (str_eq_nocase(value, levels[i].theirs))
            return levels[i].ours;
    }
    return value;
}

const struct config_alias config_aliases[] = {
#define ALIAS(variable, key, conversion) {STR_INIT(variable), #key, conversion},
#include "config/config.def"
    {STR_INIT(""), NULL, NULL},
};

static const str later[] = {
#define LATER(variable) STR_INIT(variable),
#include "config/config.def"
};

static void load_aliases(struct config *c, const char *const *env, struct config_problems *problems)
{
    for (const struct config_alias *a = config_aliases; a->key != NULL; a++) {
        struct config_place place = {.source = CONFIG_FROM_VARIABLE, .name = a->variable.p};
        str value = config_env_get(env, a->variable);

        if (str_is_none(value))
            continue;
        value = a->convert(c, value);
        if (str_is_none(value))
            config_error(problems, "%s: out of memory", a->variable.p);
        else
            config_key_set(c, config_key_find(str_from_c(a->key)), value, &place, problems);
    }
}

static void note_later(const char *const *env, struct config_problems *problems)
{
    struct buf names = {0};

    for (size_t i = 0; i < COUNT_OF(later); i++) {
        if (str_is_none(config_env_get(env, later[i])))
            continue;
        if (names.len > 0)
            buf_c(&names, ", ");
        buf_append(&names, later[i]);
    }
    if (names.len > 0)
        config_warning(problems, "these variables have no effect in this version: %s",
                       buf_cstr(&names));
    buf_fini(&names);
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
    load_aliases(c, env, problems);
    note_later(env, problems);
    load_own(c, config_keys, env, problems);
    load_own(c, config_old_keys, env, problems);
    for (; env != NULL && *env != NULL; env++) {
        if (str_starts_with(str_from_c(*env), STR("ANTIPHON_")) && strchr(*env, '=') != NULL)
            note_misspelled(str_from(*env, strcspn(*env, "=")), problems);
    }
}
