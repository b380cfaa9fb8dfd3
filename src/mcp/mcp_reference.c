/* mcp_reference.c -- take URL and reference apart, compare origins, join paths.
 *
 * The result always begins with the bytes of the base up to its path. So whatever a
 * reference is taken for, the connection goes where the base's would. */
#include "mcp/mcp_reference.h"

/* scheme "://" [credentials "@"] host [":" port] path ["?" query] ["#" ...] */
struct parts {
    str scheme;    /* STR_NONE: as the base */
    str authority; /* STR_NONE: as the base */
    str path;      /* "" or begins with "/" behind an authority */
    str query;     /* with its "?"; "" when there is none */
};

struct origin {
    str scheme, host, port;
    bool has_credentials;
};

static str cut_at(str s, char c)
{
    return str_from(s.p, str_find_char(s, c));
}

/* Where the scheme ends, or 0 when the text begins with none. */
static size_t scheme_length(str s)
{
    for (size_t i = 0; i < s.len; i++) {
        char c = str_lower_char(s.p[i]);

        if (c == ':')
            return i;
        if (!(c >= 'a' && c <= 'z') &&
            !(i > 0 && ((c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.')))
            return 0;
    }
    return 0;
}

static struct parts split(str url)
{
    struct parts p = {.scheme = STR_NONE, .authority = STR_NONE};
    str rest = cut_at(url, '#');
    size_t n = scheme_length(rest);

    if (n > 0) {
        p.scheme = str_from(rest.p, n);
        rest = str_skip(rest, n + 1);
    }
    if (str_starts_with(rest, STR("//"))) {
        rest = str_skip(rest, 2);
        p.authority = cut_at(cut_at(rest, '/'), '?');
        rest = str_skip(rest, p.authority.len);
    }
    p.path = cut_at(rest, '?');
    p.query = str_skip(rest, p.path.len);
    return p;
}

static struct origin origin_of(str scheme, str authority)
{
    struct origin o = {.scheme = scheme, .host = authority};
    size_t port = 0;

    for (size_t i = 0; i < o.host.len; i++) {
        if (authority.p[i] == '@') {
            o.has_credentials = true;
            o.host = str_skip(authority, i + 1);
            break;
        }
    }
    if (o.host.len > 0 && o.host.p[0] == '[')
        port = str_find_char(o.host, ']');
    port += str_find_char(str_skip(o.host, port), ':');
    o.port = str_skip(o.host, port + 1);
    o.host = str_from(o.host.p, port);
    if (o.port.len == 0)
        o.port = str_eq_nocase(scheme, STR("https")) ? STR("443") : STR("80");
    return o;
}

/* The base may have credentials; the last "@" ends them. */
static struct origin origin_of_base(const struct parts *base)
{
    str authority = base->authority;

    for (size_t at = str_find_char(authority, '@'); at < authority.len;
         at = str_find_char(authority, '@'))
        authority = str_skip(authority, at + 1);
    return origin_of(base->scheme, authority);
}

static bool is_same_origin(const struct parts *base, const struct parts *to)
{
    struct origin here = origin_of_base(base);
    struct origin there =
        origin_of(str_is_none(to->scheme) ? base->scheme : to->scheme, to->authority);

    return !there.has_credentials && str_eq_nocase(here.scheme, there.scheme) &&
           str_eq_nocase(here.host, there.host) && str_eq(here.port, there.port);
}

/* What is not in a URL, or not read alike by all. */
static bool is_clean(str reference)
{
    for (size_t i = 0; i < reference.len; i++) {
        char c = reference.p[i];

        if (c <= ' ' || c >= 0x7f || c == '\\')
            return false;
    }
    return reference.len > 0 && reference.len <= MCP_REFERENCE_MAX_BYTES;
}

/* Takes the last segment off what stands in out behind `from`. */
static void drop_segment(struct buf *out, size_t from)
{
    while (out->len > from && out->p[out->len - 1] != '/')
        out->len--;
    if (out->len > from)
        out->len--;
}

/* Appends the segments of a path; last of one path, if that is not the end of it, is
 * left out by the caller. Each is written with the slash before it. */
static void append_segments(str path, size_t from, struct buf *out)
{
    while (path.len > 0) {
        str segment;
        bool is_last;

        path = str_skip(path, path.p[0] == '/' ? 1 : 0);
        segment = cut_at(path, '/');
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

/* Without what stands behind its last slash, and without that slash. */
static str folder_of(str path)
{
    size_t n = path.len;

    while (n > 0 && path.p[n - 1] != '/')
        n--;
    return str_from(path.p, n == 0 ? 0 : n - 1);
}

static void append_path(const struct parts *base, const struct parts *to, struct buf *out)
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
    struct parts here = split(base), to;

    reference = str_trim(reference);
    if (!is_clean(reference))
        return MCP_REFERENCE_BAD;
    to = split(reference);
    if (!str_is_none(to.scheme) && str_is_none(to.authority))
        return MCP_REFERENCE_BAD; /* "mailto:", and "http:path", which nobody reads alike */
    if (!str_is_none(to.authority) && !is_same_origin(&here, &to))
        return MCP_REFERENCE_FOREIGN;
    buf_append(out, str_from(base.p, (size_t)(here.authority.p - base.p) + here.authority.len));
    append_path(&here, &to, out);
    buf_append(out, to.query);
    return MCP_REFERENCE_OK;
}
