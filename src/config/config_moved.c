/* config_moved.c -- variables of programs that this one takes the place of (moving.def).
 *
 * Their values mean what they meant there, which is what the conversions are for. What has no key is
 * told, so that nobody waits for an effect. */
#include <stdio.h>

#include "base/listen_spec.h"
#include "base/num.h"
#include "config/config_key.h"

/* ---- conversions */

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

/* The replaced program adds /v1 to every URL, also to one with a path. */
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
        (void)config_split_address(listen_spec_of(c->listen.items[0]).address, ret_host, ret_port);
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

/* ---- values of open-responses-server */

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

/* ---- values of vllm-responses */

/* sqlite+aiosqlite:///PATH and postgresql+asyncpg://HOST/DB, or the same without what is behind the +.
 * Its file is left alone: ours stands beside it. */
static str database(struct config *c, str value)
{
    str scheme = value, rest;

    scheme.len = str_find(value, STR("://"));
    rest = str_skip(value, scheme.len);
    scheme.len = str_find_char(scheme, '+');
    if (str_eq(scheme, STR("sqlite")) && str_starts_with(rest, STR(":///")))
        return joined(c, STR("sqlite:"), "", joined(c, str_skip(rest, 4), "", STR(".antiphon")));
    if (str_eq(scheme, STR("postgresql")))
        return joined(c, STR("postgres"), "", rest);
    return value;
}

static str interpreter_mode(struct config *c, str value)
{
    (void)c;
    if (str_eq_nocase(value, STR("spawn")) || str_eq_nocase(value, STR("external")))
        return STR("auto");
    return str_eq_nocase(value, STR("disabled")) ? STR("off") : value;
}

static bool read_truth(str value, bool *ret)
{
    static const str yes[] = {STR_INIT("1"),   STR_INIT("true"), STR_INIT("t"),
                              STR_INIT("yes"), STR_INIT("y"),    STR_INIT("on")};
    static const str no[] = {STR_INIT("0"),  STR_INIT("false"), STR_INIT("f"),
                             STR_INIT("no"), STR_INIT("n"),     STR_INIT("off")};

    *ret = str_is_one_of_nocase(str_trim(value), LIST_OF(yes));
    return *ret || str_is_one_of_nocase(str_trim(value), LIST_OF(no));
}

static str remote_enabled(struct config *c, str value)
{
    bool is_on;

    (void)c;
    if (!read_truth(value, &is_on))
        return value;
    return is_on ? STR("public") : STR("off");
}

/* Behind remote_enabled(): without servers of requests there is nothing to check. */
static str remote_checks(struct config *c, str value)
{
    bool is_on;

    if (!read_truth(value, &is_on))
        return value;
    if (c->mcp_remote == CONFIG_MCP_REMOTE_OFF)
        return STR("off");
    return is_on ? STR("public") : STR("any");
}

/* There, everybody may read them. */
static str metrics_enabled(struct config *c, str value)
{
    bool is_on;

    (void)c;
    if (!read_truth(value, &is_on))
        return value;
    return is_on ? STR("open") : STR("off");
}

static str tracing_enabled(struct config *c, str value)
{
    bool is_on;

    (void)c;
    if (!read_truth(value, &is_on))
        return value;
    return is_on ? STR("otlp") : STR("off");
}

/* ---- the tables */

const struct config_alias config_aliases[] = {
#define ALIAS(symbol, variable, key, conversion)                                                   \
    {CONFIG_PRESET_##symbol, STR_INIT(variable), #key, conversion},
#include "config/moving.def"
    {CONFIG_PRESET_NONE, STR_INIT(""), NULL, NULL},
};

const struct config_told config_told[] = {
#define TOLD(symbol, variable, why) {CONFIG_PRESET_##symbol, STR_INIT(variable), why},
#include "config/moving.def"
    {CONFIG_PRESET_NONE, STR_INIT(""), NULL},
};

static const struct {
    enum config_preset program;
    str prefix;
} prefixes[] = {
#define PREFIX(symbol, prefix) {CONFIG_PRESET_##symbol, STR_INIT(prefix)},
#include "config/moving.def"
};

/* Are the variables of a program read? */
static bool is_read(const struct config *c, enum config_preset program)
{
    return c->preset == CONFIG_PRESET_AUTO || c->preset == program;
}

static void load_aliases(struct config *c, const char *const *env, struct config_problems *problems)
{
    for (const struct config_alias *a = config_aliases; a->key != NULL; a++) {
        struct config_place place = {.source = CONFIG_FROM_VARIABLE, .name = a->variable.p};
        str value = is_read(c, a->program) ? config_env_get(env, a->variable) : STR_NONE;

        if (str_is_none(value))
            continue;
        value = a->convert(c, value);
        if (str_is_none(value))
            config_error(problems, "%s: out of memory", a->variable.p);
        else
            config_key_set(c, config_key_find(str_from_c(a->key)), value, &place, problems);
    }
}

/* ---- what is told */

static void tell_without_effect(const struct config *c, const char *const *env,
                                struct config_problems *problems)
{
    for (const struct config_told *t = config_told; t->why != NULL; t++) {
        if (is_read(c, t->program) && !str_is_none(config_env_get(env, t->variable)))
            config_warning(problems, "%s has no effect: %s", t->variable.p, t->why);
    }
}

static bool is_known(enum config_preset program, str variable)
{
    for (const struct config_alias *a = config_aliases; a->key != NULL; a++) {
        if (a->program == program && str_eq(a->variable, variable))
            return true;
    }
    for (const struct config_told *t = config_told; t->why != NULL; t++) {
        if (t->program == program && str_eq(t->variable, variable))
            return true;
    }
    return false;
}

static bool has_prefix(enum config_preset program, str variable)
{
    for (size_t i = 0; i < COUNT_OF(prefixes); i++) {
        if (prefixes[i].program == program && str_starts_with(variable, prefixes[i].prefix))
            return true;
    }
    return false;
}

bool config_moved_is_of(enum config_preset program, str variable)
{
    return is_known(program, variable) || has_prefix(program, variable);
}

static void tell_unknown(enum config_preset program, str variable, struct config_problems *problems)
{
    struct spelling s = spelling_of(variable, 2);

    for (const struct config_alias *a = config_aliases; a->key != NULL; a++) {
        if (a->program == program)
            (void)spelling_try(&s, a->variable.p);
    }
    if (s.best != NULL)
        config_warning(problems, "%s has no effect: it is not known; did you mean %s?",
                       config_quote(variable).text, s.best);
    else
        config_warning(problems, "%s has no effect: it is not known", config_quote(variable).text);
}

/* Of the program that is replaced alone: others may use the prefix as well. */
static void tell_unknown_ones(enum config_preset program, const char *const *env,
                              struct config_problems *problems)
{
    for (; env != NULL && *env != NULL; env++) {
        const str variable = str_from(*env, strcspn(*env, "="));

        if (has_prefix(program, variable) && !is_known(program, variable))
            tell_unknown(program, variable, problems);
    }
}

void config_moved_load(struct config *c, enum config_preset program, const char *const *env,
                       struct config_problems *problems)
{
    load_aliases(c, env, problems);
    tell_without_effect(c, env, problems);
    tell_unknown_ones(program, env, problems);
}
