/* upstream_path.c -- the table of paths. */
#include "wire/dialect/upstream_path.h"

enum { UPSTREAM_ANY = -1 };

static const struct {
    str text;
    const char *method;
    int kind; /* or UPSTREAM_ANY */
} paths[] = {
#define UPSTREAM_PATH(symbol, method, kind, text) {STR_INIT(text), #method, UPSTREAM_##kind},
#include "wire/dialect/upstream_path.def"
};

str upstream_path_text(enum upstream_path path)
{
    return paths[path].text;
}

const char *upstream_path_method(enum upstream_path path)
{
    return paths[path].method;
}

bool upstream_path_is_post(enum upstream_path path)
{
    return strcmp(paths[path].method, "POST") == 0;
}

bool upstream_path_is_of(enum upstream_path path, enum upstream_kind kind)
{
    return paths[path].kind == (int)kind;
}

str upstream_root(str base)
{
    while (str_ends_with(base, STR("/")))
        base.len--;
    if (str_ends_with(base, STR("/v1")))
        base.len -= strlen("/v1");
    return base;
}

str upstream_path_base(enum upstream_path path, str base)
{
    return paths[path].kind == UPSTREAM_ANY ? base : upstream_root(base);
}
