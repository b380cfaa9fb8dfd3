/* mcp_env.c -- gathers "NAME=value" in an array that is searched from its start.
 *
 * Environments have tens of variables, so there is no index. */
#include "mcp/conf/mcp_env.h"

#include "mcp/conf/mcp_env_file.h"

/* What a program needs to run at all, and nothing that could be a secret. */
static const str always[] = {
    STR_INIT("HOME"), STR_INIT("LOGNAME"), STR_INIT("PATH"), STR_INIT("SHELL"),
    STR_INIT("TERM"), STR_INIT("USER"),    STR_INIT("LANG"), STR_INIT("LC_ALL"),
    STR_INIT("TZ"),   STR_INIT("TMPDIR"),
};

struct env {
    struct arena *arena;
    const char **at; /* n of them, NULL behind */
    size_t n, cap;
};

static bool name_matches(str name, str pattern)
{
    if (str_ends_with(pattern, STR("*")))
        return str_starts_with(name, str_from(pattern.p, pattern.len - 1));
    return str_eq(name, pattern);
}

bool mcp_env_is_always(str name)
{
    return str_is_one_of(name, LIST_OF(always));
}

static bool is_withheld(const struct mcp_env_source *source, str name)
{
    for (size_t i = 0; i < source->n_withheld; i++) {
        if (name_matches(name, source->withheld[i]))
            return true;
    }
    return false;
}

/* Values that start with () are functions of a shell, which shells would run. */
static bool is_inherited(const struct mcp_env_source *source, str name, str value)
{
    if (str_starts_with(value, STR("()")) || is_withheld(source, name))
        return false;
    return source->inherits_all || mcp_env_is_always(name) ||
           str_is_one_of(name, source->inherit, source->n_inherit);
}

/* The index of the variable, or n. */
static size_t find_variable(const struct env *e, str name)
{
    size_t i = 0;

    while (i < e->n && !(strncmp(e->at[i], name.p, name.len) == 0 && e->at[i][name.len] == '='))
        i++;
    return i;
}

static bool grow_env(struct env *e)
{
    size_t cap = 2 * e->cap + 16;
    const char **at = arena_array(e->arena, cap, sizeof(*at));

    if (at == NULL)
        return false;
    for (size_t i = 0; i < e->n; i++)
        at[i] = e->at[i];
    e->at = at;
    e->cap = cap;
    return true;
}

static bool set_variable(void *arg, str name, str value)
{
    struct env *e = arg;
    size_t i = find_variable(e, name);
    char *text;

    if (i == e->n && e->n + 1 >= e->cap && !grow_env(e))
        return false;
    text = arena_alloc(e->arena, name.len + 1 + value.len + 1);
    if (text == NULL)
        return false;
    memcpy(text, name.p, name.len);
    text[name.len] = '=';
    memcpy(text + name.len + 1, value.p, value.len);
    e->at[i] = text;
    if (i == e->n)
        e->n++;
    return true;
}

/* Of two variables with one name the first counts, as for getenv(). */
static bool inherit_variables(const struct mcp_env_source *source, struct env *e)
{
    for (const char *const *p = source->parent; p != NULL && *p != NULL; p++) {
        str var = str_from_c(*p);
        size_t equals = str_find_char(var, '=');
        str name = str_from(var.p, equals);
        str value = str_skip(var, equals + 1);

        if (equals == 0 || equals == var.len || !is_inherited(source, name, value))
            continue;
        if (find_variable(e, name) == e->n && !set_variable(e, name, value))
            return false;
    }
    return true;
}

static bool is_c_string(str s)
{
    return s.len == 0 || memchr(s.p, '\0', s.len) == NULL;
}

static int add_vars(const struct mcp_env_source *source, struct env *e, struct err *reterr)
{
    for (size_t i = 0; i < source->n_vars; i++) {
        const struct mcp_env_var *v = &source->vars[i];

        if (v->name.len == 0 || str_find_char(v->name, '=') < v->name.len ||
            !is_c_string(v->name)) {
            err_set(reterr, ERR_INTERNAL, "env: a name may not be empty or hold \"=\" or NUL");
            return -1;
        }
        if (!is_c_string(v->value)) {
            err_set(reterr, ERR_INTERNAL, "env: there is a NUL in the value of %.*s",
                    STR_ARG(v->name));
            return -1;
        }
        if (!set_variable(e, v->name, v->value))
            return err_set_no_memory(reterr);
    }
    return 0;
}

const char *const *mcp_env_build(const struct mcp_env_source *source, struct arena *a,
                                 struct err *reterr)
{
    struct env e = {.arena = a};

    if (!grow_env(&e) || !inherit_variables(source, &e)) {
        err_set_no_memory(reterr);
        return NULL;
    }
    if (!str_is_none(source->file) &&
        mcp_env_file_read(source->file, set_variable, &e, reterr) == -1)
        return NULL;
    if (add_vars(source, &e, reterr) == -1)
        return NULL;
    return e.at;
}
