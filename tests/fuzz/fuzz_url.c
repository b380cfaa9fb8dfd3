/* fuzz_url.c -- any text is taken apart into views that give it back when they are put
 * together; and where a host is clear, libcurl knows no other one. */
#include "fuzz/fuzz.h"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <string.h>

#include "base/url.h"
#include "lib/fixture.h"

/* ---- putting together */

static void append_part(const char *before, str part, const char *behind, struct buf *out)
{
    if (str_is_none(part))
        return;
    buf_c(out, before);
    buf_append(out, part);
    buf_c(out, behind);
}

static void check_whole(str text, const struct url *u)
{
    struct buf whole = {.limit = 0};

    append_part("", u->scheme, ":", &whole);
    if (!str_is_none(u->authority)) {
        buf_c(&whole, "//");
        append_part("", u->userinfo, "@", &whole);
        buf_append(&whole, u->host);
        append_part(":", u->port, "", &whole);
        fuzz_promise(str_ends_with(buf_str(&whole), u->authority), "an authority is its parts");
    }
    fuzz_promise(str_eq(str_skip(text, whole.len),
                        str_from(u->target.p, (size_t)(text.p + text.len - u->target.p))),
                 "a target stands behind the authority");
    buf_append(&whole, u->path);
    append_part("?", u->query, "", &whole);
    append_part("#", u->fragment, "", &whole);
    fuzz_promise(str_eq(buf_str(&whole), text), "the parts are the whole");
    buf_fini(&whole);
}

static bool has_any(str s, const char *set)
{
    for (size_t i = 0; i < s.len; i++) {
        if (s.p[i] != '\0' && strchr(set, s.p[i]) != NULL)
            return true;
    }
    return false;
}

static void check_delimiters(const struct url *u)
{
    fuzz_promise(!has_any(u->scheme, ":/?#@[]\\ "), "a scheme is a word");
    fuzz_promise(!has_any(u->authority, "/?#") && !has_any(u->host, "@"), "an authority ends");
    fuzz_promise(!has_any(u->path, "?#") && !has_any(u->query, "#"), "path and query end");
    fuzz_promise(str_is_none(u->authority) || u->path.len == 0 || u->path.p[0] == '/',
                 "a path begins with a slash behind an authority");
}

/* ---- what libcurl reads */

/* libcurl writes addresses anew. A name whose last part begins with a digit may be one. */
static bool is_same_host(str ours, str theirs)
{
    struct in6_addr a, b;
    char text[2][INET6_ADDRSTRLEN] = {"", ""};
    size_t dot = ours.len - (str_ends_with(ours, STR(".")) ? 1 : 0),
           zone = str_find_char(ours, '%');

    while (dot > 0 && ours.p[dot - 1] != '.')
        dot--;
    if (!str_starts_with(ours, STR("[")))
        return str_eq_nocase(ours, theirs) || (ours.p[dot] >= '0' && ours.p[dot] <= '9');
    if (zone == ours.len)
        zone--;
    if (zone > sizeof(text[0]) || theirs.len - 1 > sizeof(text[1]))
        return true;
    memcpy(text[0], ours.p + 1, zone - 1);
    memcpy(text[1], theirs.p + 1, theirs.len - 2);
    return inet_pton(AF_INET6, text[0], &a) == 1 && inet_pton(AF_INET6, text[1], &b) == 1 &&
           memcmp(&a, &b, sizeof(a)) == 0;
}

static void check_host(CURLU *parsed, const struct url *u)
{
    char *host = NULL;

    fuzz_promise(curl_url_get(parsed, CURLUPART_HOST, &host, 0) == CURLUE_OK &&
                     is_same_host(u->host, str_from_c(host)),
                 "libcurl reads the same host");
    curl_free(host);
}

static void check_port(CURLU *parsed, const struct url *u)
{
    uint16_t port = 0;
    char *text = NULL;

    if (url_port(u, 1, &port)) {
        (void)curl_url_get(parsed, CURLUPART_PORT, &text, 0);
        fuzz_promise(port == (text == NULL ? 1 : strtoul(text, NULL, 10)),
                     "libcurl reads the same port");
    }
    curl_free(text);
}

static void check_libcurl(str text, const struct url *u)
{
    struct buf copy = {.limit = 0};
    CURLU *parsed = curl_url();

    buf_append(&copy, text);
    fuzz_promise(parsed != NULL && !buf_failed(&copy), "there is memory");
    if (curl_url_set(parsed, CURLUPART_URL, buf_cstr(&copy), CURLU_PATH_AS_IS) == CURLUE_OK) {
        check_host(parsed, u);
        check_port(parsed, u);
    }
    curl_url_cleanup(parsed);
    buf_fini(&copy);
}

/* ---- */

static void check_shown(str text, const struct url *u)
{
    struct buf shown = {.limit = 0};

    url_write_shown(text, &shown);
    fuzz_promise(!has_any(buf_str(&shown), "?#"), "neither query nor fragment is shown");
    fuzz_promise(str_find_char(buf_str(&shown), '@') == shown.len || has_any(u->path, "@"),
                 "no user is shown");
    buf_fini(&shown);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    str text = fuzz_input(bytes, n);
    char *copy = exact_copy(text);
    struct url u = url_split(str_from(copy, n)), alone;

    check_whole(str_from(copy, n), &u);
    check_delimiters(&u);
    check_shown(str_from(copy, n), &u);
    if (!str_is_none(u.authority)) {
        alone = url_split_authority(u.authority);
        fuzz_promise(str_eq(alone.host, u.host) && str_eq(alone.port, u.port) &&
                         str_eq(alone.userinfo, u.userinfo),
                     "an authority is read alike alone");
    }
    if (url_is_http(&u) && url_host_is_clear(&u) && str_find_char(text, '\0') == n)
        check_libcurl(text, &u);
    free(copy);
    return 0;
}
