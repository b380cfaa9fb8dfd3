/* url_policy.c -- a URL is split, its host is made plain, then both are judged.
 *
 * Each step returns the reason why the URL is refused, which ends the sentence
 * that the client reads, or NULL.
 *
 * Names in other alphabets are refused, not converted: the tables of IDNA are a
 * library of their own, who needs such a name can write it as xn--, and the
 * digits and dots of other alphabets, which some converters turn into those of
 * an IP address, never come into it. */
#include "http/url_policy.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include "base/buf.h"
#include "base/url.h"

enum { MAX_HOST_BYTES = 253, MAX_LABEL_BYTES = 63 /* RFC 1035, 2.3.4 */ };

struct parts {
    bool is_https, is_ipv6;
    str host; /* with brackets; without the dot at its end */
    uint16_t port;
    str target;
};

/* --- splitting -------------------------------------------------------------------- */

static const char *check_bytes(str url)
{
    if (url.len > URL_MAX_BYTES)
        return "it is longer than 2048 bytes";
    for (size_t i = 0; i < url.len; i++) {
        unsigned char c = (unsigned char)url.p[i];

        if (c >= 0x80)
            return "it is not ASCII: write the host in its xn-- form, and the rest as %XX";
        if (c <= ' ' || c == 0x7f)
            return "it has spaces or control characters";
        if (c == '\\')
            return "it has a backslash";
        if (c == '#')
            return "it has a fragment";
    }
    return NULL;
}

static const char *split_url(str text, struct parts *ret)
{
    const char *reason = check_bytes(text);
    struct url u = url_split(text);

    if (reason != NULL)
        return reason;
    if (!url_is_http(&u))
        return "it does not begin with https://";
    if (!str_is_none(u.userinfo))
        return "it has a user or a password";
    *ret = (struct parts){.is_https = url_is_https(&u),
                          .is_ipv6 = str_starts_with(u.host, STR("[")),
                          .host = u.host,
                          .target = u.target};
    if (!ret->is_ipv6 && str_ends_with(u.host, STR(".")))
        ret->host.len--;
    if (!url_port(&u, ret->is_https ? 443 : 80, &ret->port))
        return "its port is not a number from 1 to 65535";
    return NULL;
}

/* --- the host --------------------------------------------------------------------- */

static bool is_label_char(char c)
{
    char small = str_lower_char(c);

    return (small >= 'a' && small <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
}

/* Cuts the part before the next dot off rest. */
static str next_label(str *rest)
{
    str label = str_from(rest->p, str_find_char(*rest, '.'));

    *rest = str_skip(*rest, label.len + 1);
    return label;
}

static bool is_label(str label)
{
    for (size_t i = 0; i < label.len; i++) {
        if (!is_label_char(label.p[i]))
            return false;
    }
    return label.len > 0 && label.len <= MAX_LABEL_BYTES;
}

static bool is_ipv6_literal(str host)
{
    char text[INET6_ADDRSTRLEN];
    struct in6_addr address;

    if (host.len < 2 || host.len - 2 >= sizeof(text) || !str_ends_with(host, STR("]")))
        return false;
    memcpy(text, host.p + 1, host.len - 2);
    text[host.len - 2] = '\0';
    return inet_pton(AF_INET6, text, &address) == 1;
}

static const char *check_host(const struct parts *parts)
{
    str rest = parts->host;

    if (parts->is_ipv6)
        return is_ipv6_literal(rest) ? NULL : "its host is malformed";
    if (rest.len == 0)
        return "it has no host";
    if (rest.len > MAX_HOST_BYTES || str_ends_with(rest, STR(".")))
        return "its host is malformed";
    while (rest.len > 0) {
        if (!is_label(next_label(&rest)))
            return "its host is malformed";
    }
    return NULL;
}

/* True for digits, or 0x and hexadecimal digits: then system libraries read the whole host as an
 * IPv4 address, of as many parts as they find. No domain ends like that. */
static bool is_number_label(str label)
{
    bool hex = label.len >= 2 && label.p[0] == '0' && str_lower_char(label.p[1]) == 'x';

    for (size_t i = hex ? 2 : 0; i < label.len; i++) {
        char c = str_lower_char(label.p[i]);

        if ((c < '0' || c > '9') && !(hex && c >= 'a' && c <= 'f'))
            return false;
    }
    return true;
}

static const char *check_public(const struct parts *parts)
{
    static const str local[] = {STR_INIT("localhost"), STR_INIT("local"), STR_INIT("internal")};
    str rest = parts->host, label = STR_NONE;
    size_t n_labels = 0;

    while (rest.len > 0) {
        label = next_label(&rest);
        n_labels++;
    }
    if (parts->is_ipv6 || is_number_label(label))
        return "its host is an IP address";
    if (n_labels == 1)
        return "its host has no domain";
    return host_is_of_any(parts->host, LIST_OF(local)) ? "its host is a local name" : NULL;
}

/* Other ports of a public host are other services, which take a request for something else. */
static const char *check_web_port(const struct parts *parts)
{
    static const uint16_t ports[] = {80, 443, 8000, 8080, 8443};

    for (size_t i = 0; i < COUNT_OF(ports); i++) {
        if (parts->port == ports[i])
            return NULL;
    }
    return "its port is none of 80, 443, 8000, 8080 and 8443";
}

static const char *check_lists(const struct url_policy *policy, str host)
{
    if (host_list_has(&policy->denied, host) ||
        (policy->allowed.n > 0 && !host_list_has(&policy->allowed, host)))
        return "the operator of this gateway does not allow its host";
    return NULL;
}

/* --- putting it together ----------------------------------------------------------- */

static const char *judge_url(const struct url_policy *policy, str url, struct parts *ret)
{
    const char *reason = split_url(url, ret);
    enum url_mode mode = policy->mode;

    if (reason == NULL)
        reason = check_host(ret);
    if (reason == NULL && mode == URL_PUBLIC && !ret->is_https)
        reason = "it does not begin with https://";
    if (reason == NULL && (mode == URL_PUBLIC || mode == URL_WEB))
        reason = check_public(ret);
    if (reason == NULL && mode == URL_WEB)
        reason = check_web_port(ret);
    if (reason == NULL)
        reason = check_lists(policy, ret->host);
    return reason;
}

static void write_url(const struct parts *parts, struct buf *out, size_t *ret_origin)
{
    buf_c(out, parts->is_https ? "https://" : "http://");
    buf_append(out, parts->host);
    if (parts->port != (parts->is_https ? 443 : 80)) {
        buf_char(out, ':');
        buf_uint(out, parts->port);
    }
    *ret_origin = out->len;
    if (!buf_failed(out))
        str_lower(out->p, out->len);
    if (!str_starts_with(parts->target, STR("/")))
        buf_char(out, '/');
    buf_append(out, parts->target);
}

static bool url_keep(const struct parts *parts, struct arena *a, struct allowed_url *ret)
{
    struct buf out = {0};
    size_t origin = 0, scheme = parts->is_https ? strlen("https://") : strlen("http://"), query;
    str text;

    write_url(parts, &out, &origin);
    text = buf_failed(&out) ? STR_NONE : arena_dup(a, buf_str(&out));
    buf_fini(&out);
    if (str_is_none(text))
        return false;
    query = str_find_char(text, '?');
    *ret = (struct allowed_url){
        .text = text.p,
        .origin = str_from(text.p, origin),
        .host = str_from(text.p + scheme, parts->host.len),
        .shown = str_from(text.p, query),
        .query = query == text.len ? STR_NONE : str_skip(text, query + 1),
    };
    return true;
}

int url_policy_check(const struct url_policy *policy, str url, const char *param, struct arena *a,
                     struct allowed_url *ret, struct err *reterr)
{
    struct parts parts = {.host = STR_NONE};
    const char *reason;

    if (policy->mode == URL_OFF) {
        err_set_param(reterr, ERR_UNSUPPORTED_PARAMETER, param,
                      "Unsupported parameter: '%s'. This gateway does not connect to servers that "
                      "a request names.",
                      param);
        return -1;
    }
    reason = judge_url(policy, url, &parts);
    if (reason != NULL) {
        err_set_param(reterr, ERR_INVALID_VALUE, param, "Invalid URL in '%s': %s.", param, reason);
        return -1;
    }
    if (!url_keep(&parts, a, ret))
        return err_set_no_memory(reterr);
    return 0;
}
