/* mcp_expand.c -- cut a text at its references and put their values in. */
#include "mcp/conf/mcp_expand.h"

#include "child/child_spawn.h"
#include "mcp/conf/mcp_env.h"

/* A reference, cut into its parts. */
struct reference {
    str whole;    /* with ${ and } */
    str variable; /* or STR_NONE: not a form we know */
    str fallback; /* STR_NONE: none */
};

static bool is_name_char(char c, bool is_first)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
           (!is_first && c >= '0' && c <= '9');
}

static bool is_name(str name)
{
    for (size_t i = 0; i < name.len; i++) {
        if (!is_name_char(name.p[i], i == 0))
            return false;
    }
    return name.len > 0;
}

/* whole is "${...}". */
static struct reference reference_of(str whole)
{
    struct reference r = {.whole = whole};
    str inner = str_from(whole.p + 2, whole.len - 3);
    size_t n;

    if (str_eq(inner, STR("userHome"))) {
        r.variable = STR("HOME");
        return r;
    }
    if (str_starts_with(inner, STR("env:")))
        inner = str_skip(inner, strlen("env:"));
    n = str_find(inner, STR(":-"));
    if (n < inner.len)
        r.fallback = str_skip(inner, n + 2);
    inner.len = n;
    if (is_name(inner))
        r.variable = inner;
    return r;
}

static int refuse_reference(struct buf *why, str reference, const char *what)
{
    buf_append(why, reference);
    buf_c(why, what);
    return -1;
}

static int append_value(const struct mcp_expansion *x, const struct reference *r, struct buf *out,
                        struct buf *why)
{
    str value;

    if (str_starts_with(r->whole, STR("${input:")))
        return refuse_reference(why, r->whole,
                                " asks a person, and a gateway has none; use ${env:NAME}");
    if (str_is_none(r->variable))
        return refuse_reference(
            why, r->whole,
            " is not known; there are ${NAME}, ${env:NAME}, ${NAME:-default} and "
            "${userHome}");
    if (!str_is_none(r->fallback) && str_find(r->fallback, STR("${")) < r->fallback.len)
        return refuse_reference(why, r->variable,
                                ": its default has a reference, which is not replaced");
    value = child_env_get(x->env, r->variable);
    if (str_is_none(value) && str_is_none(r->fallback)) {
        buf_append(why, r->whole);
        buf_c(why, ": the environment variable ");
        buf_append(why, r->variable);
        buf_c(why, " is not set");
        return -1;
    }
    if (value.len == 0 && !str_is_none(r->fallback)) {
        buf_append(out, r->fallback);
        return 0;
    }
    buf_append(out, value);
    if (x->on_value != NULL)
        x->on_value(x->arg, r->variable, value);
    return 0;
}

int mcp_expand(const struct mcp_expansion *x, str text, struct buf *out, struct buf *why)
{
    for (;;) {
        size_t n = str_find(text, STR("${"));
        struct reference r;

        buf_append(out, str_from(text.p, n));
        text = str_skip(text, n);
        if (text.len == 0)
            return 0;
        n = str_find_char(text, '}');
        if (n == text.len)
            return refuse_reference(why, STR("${"), " is not closed by }");
        r = reference_of(str_from(text.p, n + 1));
        if (append_value(x, &r, out, why) == -1)
            return -1;
        text = str_skip(text, n + 1);
    }
}
