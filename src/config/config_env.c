/* config_env.c -- the environment: our own variables and those of open-responses-server.
 *
 * Our names are ANTIPHON_ and the key in capitals. The names of
 * open-responses-server come first, so that ours win where both are set; their
 * values mean what they meant there, which is what the conversions are for. */
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

static str first_address(const struct config *c)
{
    return c->listen.n == 0 ? STR("") : str_from_c(c->listen.items[0]);
}

/* Host and port are two variables there; each replaces its part of the address. */
static str host(struct config *c, str value)
{
    str old_host, port;

    if (!config_split_address(first_address(c), &old_host, &port))
        return value;
    if (str_find_char(value, ':') == value.len || str_starts_with(value, STR("[")))
        return joined(c, value, ":", port);
    value = joined(c, STR("["), "", value);
    return str_is_none(value) ? value : joined(c, value, "]:", port);
}

static str port(struct config *c, str value)
{
    str old_host, old_port;

    if (!config_split_address(first_address(c), &old_host, &old_port))
        return value;
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
    for (size_t i = 0; i < sizeof(levels) / sizeof(*levels); i++) {
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

static int out_of_memory(struct err *reterr)
{
    err_set(reterr, ERR_INTERNAL, "out of memory while reading the configuration");
    return -1;
}

static int load_aliases(struct config *c, const char *const *env, struct err *reterr)
{
    for (const struct config_alias *a = config_aliases; a->key != NULL; a++) {
        str value = config_env_get(env, a->variable);

        if (str_is_none(value))
            continue;
        value = a->convert(c, value);
        if (str_is_none(value))
            return out_of_memory(reterr);
        if (config_key_set(c, config_key_find(str_from_c(a->key)), value, a->variable.p, reterr) ==
            -1)
            return -1;
    }
    return 0;
}

static int note_later(struct config *c, const char *const *env, struct err *reterr)
{
    struct buf names = {0};
    str copy;

    for (size_t i = 0; i < sizeof(later) / sizeof(*later); i++) {
        if (str_is_none(config_env_get(env, later[i])))
            continue;
        buf_c(&names, names.len == 0 ? "these variables have no effect in this version: " : ", ");
        buf_append(&names, later[i]);
    }
    if (names.len == 0)
        return 0;
    copy = arena_dup(&c->memory, buf_str(&names));
    buf_fini(&names);
    c->warning = copy.p;
    return str_is_none(copy) ? out_of_memory(reterr) : 0;
}

static int load_own(struct config *c, const char *const *env, struct err *reterr)
{
    struct buf name = {0};
    int rc = 0;

    for (const struct config_key *k = config_keys; k->name != NULL && rc == 0; k++) {
        str value;

        if (k->kind == CONFIG_GROUP)
            continue;
        buf_reset(&name);
        config_key_variable(k, &name);
        value = config_env_get(env, buf_str(&name));
        if (!str_is_none(value))
            rc = config_key_set(c, k, value, buf_cstr(&name), reterr);
    }
    buf_fini(&name);
    return rc;
}

int config_env_load(struct config *c, const char *const *env, struct err *reterr)
{
    if (load_aliases(c, env, reterr) == -1 || note_later(c, env, reterr) == -1)
        return -1;
    return load_own(c, env, reterr);
}
