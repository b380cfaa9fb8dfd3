/* origin_check.c -- whose page it is, and by which name it has found us.
 *
 * Browsers send Sec-Fetch-Site only where the way is safe: to https, and to this
 * machine. So "same-origin" is believed, whatever a proxy has made of Host, and the
 * page behind it has no name that leads elsewhere; without it, Origin and Host are all
 * there is. For a GET within one site there is no Origin either.
 *
 * WebSockets know no CORS: no preflight asks before, so there only Origin counts. */
#include "http/origin_check.h"

#include "base/url.h"

/* Headers by which a request is judged. */
struct sent {
    str origin, host, site; /* or STR_NONE */
    bool is_upgrade;
};

/* ---- texts */

/* The place that Host names. What is malformed, or has a user, is one long name. */
static struct url place_of(str host)
{
    struct url u = url_split_authority(host);

    if (!url_host_is_clear(&u) || !str_is_none(u.userinfo))
        u = (struct url){.authority = host, .host = host};
    return u;
}

static str port_of(const struct url *place, const struct url *origin)
{
    if (place->port.len > 0)
        return place->port;
    return url_is_https(origin) ? STR("443") : STR("80");
}

/* True when the origin of a page is the one that Host names. */
static bool is_same_origin(str origin, str host)
{
    struct url page = url_split(origin), ours = place_of(host);

    return url_is_http(&page) && url_host_is_clear(&page) && str_is_none(page.userinfo) &&
           str_eq_nocase(page.host, ours.host) &&
           str_eq(port_of(&page, &page), port_of(&ours, &page));
}

/* ---- names */

/* True below domains for private use: RFC 6761, RFC 8375, RFC 6762 appendix G, and ICANN's
 * .internal. */
static bool is_private(str host)
{
    static const str domains[] = {STR_INIT("localhost"),  STR_INIT("internal"), STR_INIT("local"),
                                  STR_INIT("home.arpa"),  STR_INIT("lan"),      STR_INIT("home"),
                                  STR_INIT("corp"),       STR_INIT("intranet"), STR_INIT("private"),
                                  STR_INIT("localdomain")};

    return host_is_of_any(host, LIST_OF(domains));
}

static str last_label(str host)
{
    str label = host;

    for (size_t dot; (dot = str_find_char(label, '.')) < label.len;)
        label = str_skip(label, dot + 1);
    return label;
}

/* True for a name that the public DNS can hold. No domain at its top begins with a digit; what ends
 * like that is an IPv4 address, in whatever spelling. */
static bool is_public_name(str host)
{
    str label;

    if (str_starts_with(host, STR("[")) && str_ends_with(host, STR("]")))
        return false;
    if (str_ends_with(host, STR(".")))
        host.len--;
    label = last_label(host);
    if (label.len == host.len || is_private(host))
        return false;
    return label.len == 0 || label.p[0] < '0' || label.p[0] > '9';
}

/* ---- what is refused */

/* Programs with windows of web technology have schemes of their own (vscode-webview,
 * tauri, chrome-extension), which no page can have. "null" is any page's. */
static bool is_program_origin(str origin)
{
    struct url u = url_split(origin);

    return !str_is_none(u.scheme) && !str_is_none(u.authority) && !url_is_http(&u);
}

/* True for a page of another origin. Another port is the same site, but another origin, which
 * Origin tells where it is sent. */
static bool is_foreign(const struct sent *s)
{
    bool is_cross_site = str_eq(s->site, STR("cross-site"));

    if (str_is_none(s->origin))
        return is_cross_site || str_eq(s->site, STR("same-site"));
    if (is_program_origin(s->origin))
        return s->is_upgrade;
    if (str_eq(s->site, STR("same-origin")) && !s->is_upgrade)
        return false;
    return is_cross_site || !is_same_origin(s->origin, s->host);
}

/* True for a name that a page may have made to lead here. Without a key, on a socket for this
 * machine alone, no other name leads to us. Elsewhere one may be right (of a service, of a proxy),
 * unless a page says that it is its own and the way is not safe. */
static bool is_misled(const struct origin_policy *policy, const struct http_request *r,
                      const struct sent *s)
{
    const struct url place = place_of(s->host), page = url_split(s->origin);
    bool says_own =
        !str_is_none(s->origin) && !url_is_https(&page) && !is_program_origin(s->origin);

    if (!is_public_name(place.host) || host_list_has(&policy->names, place.host))
        return false;
    if (s->is_upgrade && says_own)
        return true;
    if (policy->asks_for_key || (r->listener != NULL && r->listener->is_unix))
        return false;
    return r->on_loopback || policy->is_only_names || (says_own && str_is_none(s->site));
}

/* Images and the like come without Origin; Referer names the page that shows them. */
static bool is_listed_page(const struct cors *cors, const struct http_request *r, str origin)
{
    str url = http_request_header(r, STR("referer"));
    struct url u = url_split(url);

    if (str_is_none(origin) && u.host.len > 0)
        origin = str_from(url.p, (size_t)(u.path.p - url.p));
    return !str_is_none(cors_allowed_origin(cors, origin));
}

/* True when somebody opens a link. The page that holds it does not see what comes. */
static bool is_opened_link(const struct http_request *r, const struct sent *s)
{
    return str_is_none(s->origin) &&
           (str_eq(r->method, STR("GET")) || str_eq(r->method, STR("HEAD"))) &&
           str_eq(http_request_header(r, STR("sec-fetch-mode")), STR("navigate")) &&
           str_eq(http_request_header(r, STR("sec-fetch-dest")), STR("document"));
}

/* ---- */

enum { SHOWN_BYTES = 256 };

static str shown_part(str value)
{
    return str_from(value.p, value.len < SHOWN_BYTES ? value.len : SHOWN_BYTES);
}

static void refuse_page(str origin, struct err *reterr)
{
    if (str_is_none(origin))
        err_set(reterr, ERR_ORIGIN_NOT_ALLOWED,
                "Pages of other sites may not use this gateway. To let them, add the origin of "
                "theirs to its configuration key cors_origins.");
    else
        err_set(reterr, ERR_ORIGIN_NOT_ALLOWED,
                "Pages of the origin '%.*s' may not use this gateway. To let them, add %.*s to its "
                "configuration key cors_origins.",
                STR_ARG(shown_part(origin)), STR_ARG(shown_part(origin)));
}

static void refuse_name(str host, struct err *reterr)
{
    host = shown_part(place_of(host).host);
    err_set(reterr, ERR_ORIGIN_NOT_ALLOWED,
            "This gateway does not know '%.*s' as a name of its own, and without API keys a web "
            "page could have made it lead here. If the name is right, add %.*s to the "
            "configuration key host_names, or configure API keys.",
            STR_ARG(host), STR_ARG(host));
}

int origin_check(const struct origin_policy *policy, const struct http_request *r, bool is_harmless,
                 struct err *reterr)
{
    const struct sent s = {.origin = http_request_header(r, STR("origin")),
                           .host = http_request_header(r, STR("host")),
                           .site = http_request_header(r, STR("sec-fetch-site")),
                           .is_upgrade = r->wants_upgrade};

    if (str_eq(r->method, STR("OPTIONS")) ||
        !str_is_none(cors_allowed_origin(&policy->cors, s.origin)))
        return 0;
    if (is_foreign(&s) && !(is_harmless && is_opened_link(r, &s)) &&
        !is_listed_page(&policy->cors, r, s.origin)) {
        refuse_page(s.origin, reterr);
        return -1;
    }
    if (s.host.len > 0 && is_misled(policy, r, &s)) {
        refuse_name(s.host, reterr);
        return -1;
    }
    return 0;
}
