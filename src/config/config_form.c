/* config_form.c -- what texts must look like: addresses, URLs, names.
 *
 * The checks catch what a person types wrong. Whether a host exists is found
 * out by whoever uses it, with a better message. */
#include <arpa/inet.h>
#include <assert.h>
#include <ctype.h>
#include <sys/un.h>

#include "base/listen_spec.h"
#include "base/num.h"
#include "base/url.h"
#include "base/utf8.h"
#include "config/config_key.h"
#include "trace/trace_sample.h"

/* Short ones can be guessed by whoever has something that was made with them. */
static bool is_long_secret(str s)
{
    return str_is_visible(s) && s.len >= 16;
}

static bool has_no_control(str s)
{
    for (size_t i = 0; i < s.len; i++) {
        if ((unsigned char)s.p[i] < ' ' || s.p[i] == 127)
            return false;
    }
    return true;
}

/* Names go into JSON, which is UTF-8. So do paths: the configuration that is
 * shown is a file that can be loaded, and a file cannot hold other bytes. */
static bool is_name(str s)
{
    return has_no_control(s) && utf8_is_valid(s);
}

static bool is_share(str s)
{
    uint64_t n;

    return str_eq(s, STR("auto")) || (num_uint(s, &n) && n <= 1000000);
}

static bool is_fraction(str s)
{
    double share;

    return trace_share_read(s, &share);
}

static bool is_port(str s)
{
    uint64_t port;

    return s.len <= 5 && num_uint(s, &port) && port <= 65535;
}

bool config_split_address(str address, str *ret_host, str *ret_port)
{
    size_t bracket = str_find_char(address, ']'), colon;
    str host, port;

    if (str_starts_with(address, STR("[")))
        colon = bracket < address.len ? bracket + 1 : address.len;
    else
        colon = str_find_char(address, ':');
    host = str_from(address.p, colon);
    if (!str_starts_with(str_skip(address, colon), STR(":")))
        return false;
    port = str_skip(address, colon + 1);
    if (!str_is_visible(host) || !is_port(port))
        return false;
    *ret_host = host;
    *ret_port = port;
    return true;
}

/* "[::1]", "[fe80::1%eth0]" */
static bool is_ipv6(str host)
{
    str inside = str_from(host.p + 1, host.len - 2);
    char text[INET6_ADDRSTRLEN];
    struct in6_addr address;
    size_t n = str_find_char(inside, '%');

    if (!str_ends_with(host, STR("]")) || n >= sizeof(text))
        return false;
    memcpy(text, inside.p, n);
    text[n] = '\0';
    return inet_pton(AF_INET6, text, &address) == 1;
}

/* A name or an IPv4 address. */
static bool is_host(str s)
{
    for (size_t i = 0; i < s.len; i++) {
        if (strchr("-._", s.p[i]) == NULL && !isalnum((unsigned char)s.p[i]))
            return false;
    }
    return true;
}

static bool is_socket_path(str s)
{
    return str_starts_with(s, STR("/")) && s.len > 1 && is_name(s) &&
           s.len < sizeof(((struct sockaddr_un *)NULL)->sun_path);
}

/* What systemd calls a descriptor that it passes. */
static bool is_descriptor_name(str s)
{
    return s.len > 0 && s.len <= 255 && is_host(s);
}

/* A path, or a name in the directory for that. */
static bool is_socket(str s)
{
    return is_socket_path(s) || is_descriptor_name(s);
}

static bool is_address(str s)
{
    struct listen_spec spec;
    str host, port, wrong;

    if (!listen_spec_read(s, &spec, &wrong))
        return false;
    if (listen_spec_is_unix(&spec))
        return is_socket(str_skip(spec.address, strlen("unix:")));
    if (listen_spec_is_descriptor(&spec))
        return is_descriptor_name(str_skip(spec.address, strlen("fd:")));
    if (!config_split_address(spec.address, &host, &port))
        return false;
    return str_starts_with(host, STR("[")) ? is_ipv6(host) : is_host(host);
}

/* Says which mark is wrong. */
static bool explain_address(str s, struct buf *out)
{
    struct listen_spec spec;
    str wrong;

    if (listen_spec_read(s, &spec, &wrong))
        return false;
    buf_c(out, ": the mark +");
    buf_append(out, wrong);
    buf_c(out, " is unknown or there twice; marks are ");
    for (unsigned i = 0; i < LISTEN_MARKS; i++) {
        buf_c(out, i == 0 ? "+" : i + 1 < LISTEN_MARKS ? ", +" : " and +");
        buf_c(out, listen_spec_word(i));
    }
    return true;
}

/* Is a scheme one of schemes ("http|https")? */
static bool is_scheme(str scheme, const char *schemes)
{
    str rest = str_from_c(schemes), word;

    while (!str_is_none(word = config_next_word(&rest, '|'))) {
        if (str_eq_nocase(scheme, word))
            return true;
    }
    return false;
}

/* "https://host", "http://[::1]:80/path" */
static bool is_http(const struct url *u)
{
    return url_is_http(u) && url_host_is_clear(u) && (str_is_none(u->port) || is_port(u->port));
}

/* Credentials in the URL would end up in logs and error messages; the query
 * and fragment would stand in the way of the path that is added. */
static bool is_upstream(str s)
{
    struct url u = url_split(s);

    if (!str_is_visible(s) || str_find_char(s, '?') < s.len || str_find_char(s, '#') < s.len)
        return false;
    if (str_starts_with(s, STR("unix:")))
        return str_starts_with(s, STR("unix:/")) && s.len > strlen("unix:/");
    return is_http(&u) && str_find_char(s, '@') == s.len;
}

static bool is_proxy(str s)
{
    struct url u = url_split(s);

    return str_is_visible(s) && is_scheme(u.scheme, "http|https|socks4|socks4a|socks5|socks5h") &&
           url_host_is_clear(&u);
}

static bool is_trimmed(str s)
{
    return s.len > 0 && str_trim(s).len == s.len;
}

/* A name and a model: both sides of the first "=" are there. */
static bool is_alias(str s)
{
    size_t equals = str_find_char(s, '=');

    return is_name(s) && is_trimmed(str_from(s.p, equals)) && is_trimmed(str_skip(s, equals + 1));
}

/* A field's name: only the last letter may be a star. */
static bool is_field(str s)
{
    return is_name(s) && str_find_char(s, '*') + 1 >= s.len;
}

/* Also "vscode-webview://x": programs with windows of web technology have schemes of
 * their own. */
static bool is_origin(str s)
{
    struct url u = url_split(s);

    if (str_eq(s, STR("*")) || str_eq(s, STR("null")))
        return true;
    return str_is_visible(s) && !str_is_none(u.scheme) && !str_is_none(u.authority) &&
           str_is_none(u.userinfo) && u.target.len == 0 && str_is_none(u.fragment) &&
           (!url_is_http(&u) || is_http(&u));
}

static bool is_host_pattern(str s)
{
    str name = str_starts_with(s, STR("*.")) ? str_skip(s, 2) : s;

    return str_is_visible(name) && name.len > 0 && str_find_char(name, '*') == name.len &&
           str_find_char(name, '/') == name.len && str_find_char(name, ':') == name.len;
}

/* "192.0.2.0/24", "2001:db8::/32" */
static bool is_network(str s)
{
    size_t slash = str_find_char(s, '/');
    bool is_v6 = str_find_char(s, ':') < s.len;
    char text[INET6_ADDRSTRLEN];
    unsigned char address[sizeof(struct in6_addr)];
    uint64_t bits;

    if (slash >= sizeof(text) || !num_uint(str_skip(s, slash + 1), &bits))
        return false;
    memcpy(text, s.p, slash);
    text[slash] = '\0';
    return inet_pton(is_v6 ? AF_INET6 : AF_INET, text, address) == 1 && bits <= (is_v6 ? 128 : 32);
}

/* A network, an address, or "unix". */
static bool is_peer(str s)
{
    char text[INET6_ADDRSTRLEN];
    struct in6_addr address; /* has room for either */

    if (str_eq(s, STR("unix")) || is_network(s))
        return true;
    if (s.len >= sizeof(text))
        return false;
    memcpy(text, s.p, s.len);
    text[s.len] = '\0';
    return inet_pton(AF_INET, text, &address) == 1 || inet_pton(AF_INET6, text, &address) == 1;
}

static bool is_egress(str s)
{
    return is_host_pattern(s) || is_network(s);
}

/* A server and a tool: both sides of the first "/" are there; a tool's name may hold more of them. */
static bool is_tool_of_server(str s)
{
    size_t slash = str_find_char(s, '/');

    return is_name(s) && slash > 0 && slash + 1 < s.len;
}

static bool is_store(str s)
{
    const str sqlite = STR("sqlite:");
    struct url u = url_split(s);

    if (str_starts_with(s, sqlite))
        return s.len > sqlite.len && is_name(s);
    return str_eq(s, STR("memory")) ||
           (str_is_visible(s) && is_scheme(u.scheme, "postgres|postgresql") &&
            !str_is_none(u.authority));
}

static bool is_model_settings(str s)
{
    return is_name(s) && config_model_fits(s);
}

static bool has_form_of_date(str s)
{
    static const char form[] = "dddd-dd-dd";

    for (size_t i = 0; i < s.len && s.len == strlen(form); i++) {
        if (form[i] == 'd' ? !isdigit((unsigned char)s.p[i]) : s.p[i] != form[i])
            return false;
    }
    return s.len == strlen(form);
}

/* Day and month are soon exchanged; nobody counts the days of a month. */
static bool is_day(str s)
{
    unsigned month, day;

    if (!has_form_of_date(s))
        return false;
    month = (unsigned)(s.p[5] - '0') * 10 + (unsigned)(s.p[6] - '0');
    day = (unsigned)(s.p[8] - '0') * 10 + (unsigned)(s.p[9] - '0');
    return month >= 1 && month <= 12 && day >= 1 && day <= 31;
}

/* today, none, 2026-01-31 */
static bool is_date(str s)
{
    return str_eq(s, STR("today")) || str_eq(s, STR("none")) || is_day(s);
}

static bool is_need(str s)
{
    return str_eq(s, STR("store")) || str_eq(s, STR("upstream")) || str_eq(s, STR("none"));
}

/* A word that is meant otherwise is no path. */
static bool is_audit(str s)
{
    return str_eq(s, STR("off")) || str_eq(s, STR("on")) ||
           (str_find_char(s, '/') < s.len && is_name(s));
}

static const str retry_words[] = {
#define RETRY_WORD(symbol, word, help) STR_INIT(word),
#include "config/retry_word.def"
#undef RETRY_WORD
};

static bool is_retry(str s)
{
    return str_is_one_of(s, LIST_OF(retry_words));
}

unsigned config_retry_set(const struct config *c)
{
    unsigned set = 0;

    for (size_t i = 0; i < c->retry_on.n; i++) {
        for (size_t word = 0; word < COUNT_OF(retry_words); word++)
            set |= str_eq(str_from_c(c->retry_on.items[i]), retry_words[word]) ? 1U << word : 0;
    }
    return set;
}

static const struct config_form forms[] = {
    {.name = "ADDRESS",
     .fits = is_address,
     .explain = explain_address,
     .describe =
         "HOST:PORT, [IPV6]:PORT, :PORT for all addresses, unix:/PATH or fd:NAME, each with "
         "marks such as +admin"},
    {.name = "NAME=MODEL",
     .fits = is_alias,
     .describe = "NAME=MODEL, both not empty and without spaces around",
     .is_pair = true},
    {.name = "MODEL NAME=WORD ...",
     .fits = is_model_settings,
     .explain = config_model_explain,
     .describe = "the name of a model, in which * stands for anything, and settings such as "
                 "think_tags=on"},
    {.name = "RETRY",
     .fits = is_retry,
     .describe = "connect, reset, 429, 500, 502, 503, 504, model or timeout"},
    {.name = "NEED", .fits = is_need, .describe = "store, upstream or none"},
    {.name = "AUDIT", .fits = is_audit, .describe = "off, on, or a path with a / in it"},
    {.name = "DATE", .fits = is_date, .describe = "today, none, or a date such as 2026-01-31"},
    {.name = "SHARE", .fits = is_share, .describe = "auto, or a number from 0 to 1000000"},
    {.name = "FRACTION", .fits = is_fraction, .describe = "a number from 0 to 1, such as 0.1"},
    {.name = "ORIGIN",
     .fits = is_origin,
     .describe = "*, or the beginning of a URL such as https://chat.example.org"},
    {.name = "HOST",
     .fits = is_host_pattern,
     .describe = "the name of a host, or *. and the name of a domain"},
    {.name = "EGRESS",
     .fits = is_egress,
     .describe = "the name of a host, *. and the name of a domain, or a network such as "
                 "192.0.2.0/24"},
    {.name = "PEER",
     .fits = is_peer,
     .describe = "a network such as 192.0.2.0/24, an address, or unix"},
    {.name = "LABEL/TOOL",
     .fits = is_tool_of_server,
     .describe = "the label of an MCP server, / and the name of its tool"},
    {.name = "FIELD", .fits = is_field, .describe = "the name of a field; it may end in *"},
    {.name = "URL",
     .fits = is_upstream,
     .describe = "http://HOST[:PORT][/PATH], https://HOST[:PORT][/PATH] or unix:/PATH, without "
                 "credentials, query or fragment",
     .may_hold_password = true},
    {.name = "PROXY",
     .fits = is_proxy,
     .describe = "a proxy such as http://HOST:PORT or socks5h://HOST:PORT; its user and password "
                 "have @ / \\ [ ] as %40 %2F %5C %5B %5D",
     .may_hold_password = true},
    {.name = "STORE",
     .fits = is_store,
     .describe = "memory, sqlite:PATH or postgres://[USER[:PASSWORD]@]HOST[:PORT]/DATABASE",
     .may_hold_password = true},
    {.name = "KEY", .fits = str_is_visible, .describe = "visible ASCII characters without spaces"},
    {.name = "SECRET",
     .fits = is_long_secret,
     .describe = "at least 16 visible ASCII characters without spaces"},
    {.name = "NAME", .fits = is_name, .describe = "a name without control characters"},
    {.name = "LINE", .fits = is_name, .describe = "one line of text"},
    {.name = "FILE", .fits = is_name, .describe = "a path in UTF-8 without control characters"},
};

const struct config_form *config_form_find(const char *name)
{
    const struct config_form *f = forms;

    while (f < forms + COUNT_OF(forms) && strcmp(f->name, name) != 0)
        f++;
    assert(f < forms + COUNT_OF(forms)); /* config.def names a form that forms[] lacks */
    return f;
}
