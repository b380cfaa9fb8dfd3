/* config_upstream.c -- what the upstream's keys come to: a base for URLs, and a header. */
#include <stdio.h>

#include "base/url.h"
#include "config/config.h"

/* Where the path of an upstream begins: behind the authority, or, for a socket,
 * behind the colon after the socket's own path. */
static size_t path_start(str upstream)
{
    size_t skip = strlen("unix:");

    if (!str_starts_with(upstream, STR("unix:")))
        return (size_t)(url_split(upstream).path.p - upstream.p);
    skip += str_find_char(str_skip(upstream, skip), ':');
    return skip < upstream.len ? skip + 1 : skip;
}

/* Drops all but one of the slashes in a row, from a byte on. */
static void join_slashes(char *text, size_t from)
{
    char *out = text + from;

    for (const char *p = out; *p != '\0'; p++) {
        if (*p != '/' || p[1] != '/')
            *out++ = *p;
    }
    *out = '\0';
}

str config_upstream_base(struct arena *a, str upstream)
{
    size_t start = path_start(upstream), n;
    bool is_bare_socket = false;
    char *base;

    while (upstream.len > start && upstream.p[upstream.len - 1] == '/')
        upstream.len--;
    if (upstream.len > start) {
        base = arena_alloc(a, upstream.len + 1);
        if (base == NULL)
            return STR_NONE;
        memcpy(base, upstream.p, upstream.len);
        base[upstream.len] = '\0';
        join_slashes(base, start);
        return str_from_c(base);
    }
    is_bare_socket = str_starts_with(upstream, STR("unix:")) && !str_ends_with(upstream, STR(":"));
    n = upstream.len + strlen(":/v1");
    base = arena_alloc(a, n + 1);
    if (base == NULL)
        return STR_NONE;
    (void)snprintf(base, n + 1, "%.*s%s/v1", STR_ARG(upstream), is_bare_socket ? ":" : "");
    return str_from_c(base);
}

str config_upstream_authorization(struct arena *a, const struct config *c)
{
    struct buf text = {.limit = 0};
    str copy = STR_NONE;

    if (c->upstream_key == NULL)
        return copy;
    buf_c(&text, "Bearer ");
    buf_c(&text, c->upstream_key);
    if (!buf_failed(&text))
        copy = arena_dup(a, buf_str(&text));
    buf_fini(&text);
    return copy;
}
