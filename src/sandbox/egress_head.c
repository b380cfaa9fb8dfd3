/* egress_head.c -- a request line, then fields: taken apart, and written anew. */
#include "sandbox/egress_head.h"

#include "base/header.h"
#include "base/num.h"
#include "base/url.h"

static const char malformed[] = "The request is not well-formed HTTP.";

size_t egress_head_length(str bytes)
{
    size_t end = str_find(bytes, STR("\r\n\r\n"));

    return end == bytes.len ? 0 : end + 4;
}

/* Cuts a line with its CRLF off rest, which ends in one. */
static str cut_line(str *rest)
{
    str line = str_from(rest->p, str_find(*rest, STR("\r\n")));

    *rest = str_skip(*rest, line.len + 2);
    return line;
}

/* --- where to --------------------------------------------------------------------- */

/* Credentials for a server belong in a field, so the URL has none. */
static const char *read_place(const struct url *u, struct egress_head *ret)
{
    if (!url_host_is_clear(u) || !str_is_none(u->userinfo))
        return malformed;
    if (ret->is_connect && u->port.len == 0)
        return "The request names no port.";
    ret->port = 80; /* also behind "host:", RFC 3986, 3.2.3 */
    if (u->port.len > 0 && !url_port(u, 80, &ret->port))
        return malformed;
    ret->authority = u->authority;
    ret->host = url_bare_host(u);
    if (str_ends_with(ret->host, STR(".")))
        ret->host.len--;
    return ret->host.len > 0 ? NULL : malformed;
}

/* "http://host/path"; who asks for https sends CONNECT with "host:port". */
static const char *read_target(str target, struct egress_head *ret)
{
    struct url u = ret->is_connect ? url_split_authority(target) : url_split(target);

    if (!ret->is_connect && (!url_is_http(&u) || url_is_https(&u)))
        return "This is a proxy for http:// URLs, and for https by CONNECT.";
    if (!str_is_none(u.fragment))
        return malformed;
    ret->target = u.target;
    return read_place(&u, ret);
}

static const char *read_request_line(str line, struct egress_head *ret)
{
    str target;

    ret->method = str_cut(&line, ' ');
    target = str_cut(&line, ' ');
    ret->version = line;
    if (!header_is_name(ret->method) || !str_is_visible(target) ||
        (!str_eq(line, STR("HTTP/1.1")) && !str_eq(line, STR("HTTP/1.0"))))
        return malformed;
    ret->is_connect = str_eq(ret->method, STR("CONNECT"));
    return read_target(target, ret);
}

/* --- fields ------------------------------------------------------------------------ */

/* How the length of the body is told. */
struct framing {
    unsigned n_lengths, n_codings;
    uint64_t length;
};

static const char *check_field(str line, struct framing *framing)
{
    str value = line, name = str_cut(&value, ':');

    if (name.len == line.len || !header_is_name(name))
        return malformed;
    value = str_trim(value);
    for (size_t i = 0; i < value.len; i++) {
        if ((unsigned char)value.p[i] < ' ' && value.p[i] != '\t')
            return malformed;
    }
    if (str_eq_nocase(name, STR("content-length"))) {
        framing->n_lengths++;
        return num_uint(value, &framing->length) ? NULL : malformed;
    }
    if (str_eq_nocase(name, STR("transfer-encoding"))) {
        framing->n_codings++;
        return str_eq_nocase(value, STR("chunked")) ? NULL : malformed;
    }
    return NULL;
}

const char *egress_head_read(str head, struct egress_head *ret)
{
    struct framing framing = {.length = 0};
    str rest = str_from(head.p, head.len - 2); /* without the empty line */
    const char *wrong;

    *ret = (struct egress_head){.port = 0};
    wrong = read_request_line(cut_line(&rest), ret);
    ret->fields = rest;
    while (wrong == NULL && rest.len > 0)
        wrong = check_field(cut_line(&rest), &framing);
    if (wrong != NULL)
        return wrong;
    if (framing.n_lengths + framing.n_codings > 1)
        return "The request says more than once where its body ends.";
    ret->body_bytes = ret->is_connect || framing.n_codings > 0 ? UINT64_MAX : framing.length;
    return NULL;
}

/* --- writing ------------------------------------------------------------------------ */

/* Fields between the client and us (RFC 9110, 7.6.1), or written by us. */
static bool is_hop_by_hop(str name)
{
    static const str names[] = {
        STR_INIT("host"),       STR_INIT("connection"),          STR_INIT("proxy-connection"),
        STR_INIT("keep-alive"), STR_INIT("proxy-authorization"), STR_INIT("te"),
        STR_INIT("upgrade"),
    };

    return str_is_one_of_nocase(name, LIST_OF(names));
}

static void write_request_line(const struct egress_head *head, struct buf *out)
{
    buf_append(out, head->method);
    buf_char(out, ' ');
    if (!str_starts_with(head->target, STR("/")))
        buf_char(out, '/');
    buf_append(out, head->target);
    buf_char(out, ' ');
    buf_append(out, head->version);
    buf_c(out, "\r\n");
}

void egress_head_write(const struct egress_head *head, struct buf *out)
{
    str rest = head->fields;

    write_request_line(head, out);
    buf_c(out, "Host: ");
    buf_append(out, head->authority);
    buf_c(out, "\r\n");
    while (rest.len > 0) {
        str line = cut_line(&rest), value = line;

        if (is_hop_by_hop(str_cut(&value, ':')))
            continue;
        buf_append(out, line);
        buf_c(out, "\r\n");
    }
    buf_c(out, "Connection: close\r\n\r\n");
}
