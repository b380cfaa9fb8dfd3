/* mcp_reference.c -- take URL and reference apart, compare origins, join paths.
 *
 * The result always begins with the bytes of the base up to its path. So whatever a
 * reference is taken for, the connection goes where the base's would. */
#include "mcp/proto/mcp_reference.h"

#include "base/url.h"

static str port_of(str scheme, const struct url *u)
{
    if (u->port.len > 0)
        return u->port;
    return str_eq_nocase(scheme, STR("https")) ? STR("443") : STR("80");
}

/* The base may have credentials; a reference that has some of its own leads elsewhere. */
static bool is_same_origin(const struct url *base, const struct url *to)
{
    str scheme = str_is_none(to->scheme) ? base->scheme : to->scheme;

    return url_host_is_clear(base) && url_host_is_clear(to) && str_is_none(to->userinfo) &&
           str_eq_nocase(base->scheme, scheme) && str_eq_nocase(base->host, to->host) &&
           str_eq(port_of(base->scheme, base), port_of(scheme, to));
}

/* A clean reference has only bytes of a URL, and no backslash, which some read as a slash. */
static bool is_clean_reference(str reference)
{
    return reference.len > 0 && reference.len <= MCP_REFERENCE_MAX_BYTES &&
           str_is_visible(reference) && str_find_char(reference, '\\') == reference.len;
}

/* Takes the last segment off what stands in out behind `from`. */
static void drop_segment(struct buf *out, size_t from)
{
    while (out->len > from && out->p[out->len - 1] != '/')
        out->len--;
    if (out->len > from)
        out->len--;
}

/* Appends the segments of a path, each with the slash before it; "." and ".." are resolved. */
static void append_segments(str path, size_t from, struct buf *out)
{
    while (path.len > 0) {
        str segment;
        bool is_last;

        path = str_skip(path, path.p[0] == '/' ? 1 : 0);
        segment = str_from(path.p, str_find_char(path, '/'));
        path = str_skip(path, segment.len);
        is_last = path.len == 0;
        if (str_eq(segment, STR(".."))) {
            drop_segment(out, from);
        } else if (!str_eq(segment, STR("."))) {
            buf_char(out, '/');
            buf_append(out, segment);
            continue;
        }
        if (is_last)
            buf_char(out, '/');
    }
}

/* The path without its last slash and what stands behind it. */
static str folder_of(str path)
{
    size_t n = path.len;

    while (n > 0 && path.p[n - 1] != '/')
        n--;
    return str_from(path.p, n == 0 ? 0 : n - 1);
}

static void append_path(const struct url *base, const struct url *to, struct buf *out)
{
    bool is_absolute = !str_is_none(to->authority) || str_starts_with(to->path, STR("/"));
    size_t from = out->len;

    if (!is_absolute && to->path.len == 0) {
        buf_append(out, base->path);
    } else {
        if (!is_absolute)
            append_segments(folder_of(base->path), from, out);
        append_segments(to->path, from, out);
    }
    if (out->len == from)
        buf_char(out, '/');
}

enum mcp_reference mcp_reference_resolve(str base, str reference, struct buf *out)
{
    struct url here = url_split(base), to;

    reference = str_trim(reference);
    if (!is_clean_reference(reference))
        return MCP_REFERENCE_BAD;
    to = url_split(reference);
    if (!str_is_none(to.scheme) && str_is_none(to.authority))
        return MCP_REFERENCE_BAD; /* "mailto:", and "http:path", which nobody reads alike */
    if (!str_is_none(to.authority) && !is_same_origin(&here, &to))
        return MCP_REFERENCE_FOREIGN;
    buf_append(out, str_from(base.p, (size_t)(here.authority.p - base.p) + here.authority.len));
    append_path(&here, &to, out);
    buf_append(out, str_skip(to.target, to.path.len));
    return MCP_REFERENCE_OK;
}
