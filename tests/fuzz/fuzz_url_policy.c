/* fuzz_url_policy.c -- any URL and headers of a stranger: what is taken means the
 * same to us, to libcurl and to the resolver, and can be sent.
 *
 * The input is a URL, a line end, then lines "name:value" and, where a line has
 * no colon, the token for Authorization. */
#include "fuzz/fuzz.h"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <string.h>

#include "http/header_policy.h"
#include "http/url_policy.h"
#include "lib/fixture.h"

enum { MAX_LINES = 40 };

static const struct url_policy public_only = {.mode = URL_PUBLIC}, web = {.mode = URL_WEB},
                               any = {.mode = URL_ANY};

/* Cuts the next line off rest. */
static str next_line(str *rest)
{
    size_t n = str_find_char(*rest, '\n');
    str line = str_from(rest->p, n);

    *rest = str_skip(*rest, n + 1);
    return line;
}

static bool is_plain(str s)
{
    for (size_t i = 0; i < s.len; i++) {
        if (s.p[i] <= ' ' || s.p[i] > '~')
            return false;
    }
    return true;
}

/* --- URLs -------------------------------------------------------------------------- */

static void check_part(CURLU *url, CURLUPart part, str expected)
{
    char *got = NULL;

    fuzz_promise(curl_url_get(url, part, &got, 0) == CURLUE_OK && str_eq(str_from_c(got), expected),
                 "libcurl reads the URL as we do");
    curl_free(got);
}

static void check_as_libcurl(const struct allowed_url *url)
{
    CURLU *parsed = curl_url();

    fuzz_promise(parsed != NULL &&
                     curl_url_set(parsed, CURLUPART_URL, url->text,
                                  CURLU_PATH_AS_IS | CURLU_DISALLOW_USER) == CURLUE_OK,
                 "libcurl takes the URL");
    check_part(parsed, CURLUPART_HOST, url->host);
    check_part(parsed, CURLUPART_SCHEME,
               str_from(url->text, str_find_char(str_from_c(url->text), ':')));
    curl_url_cleanup(parsed);
}

static void check_host(str host)
{
    char text[URL_MAX_BYTES];
    struct in_addr address;

    (void)snprintf(text, sizeof(text), "%.*s", STR_ARG(host));
    fuzz_promise(inet_aton(text, &address) == 0, "a public host is no address in any spelling");
    fuzz_promise(str_find_char(host, '.') < host.len && !str_ends_with(host, STR(".")),
                 "a public host has a domain");
}

static void check_url(const struct url_policy *policy, str text)
{
    struct arena arena = {0};
    struct allowed_url url, again;
    struct err e = {.code = ERR_NONE};

    if (url_policy_check(policy, text, "x", &arena, &url, &e) == -1) {
        fuzz_promise(err_http_status(&e) == 400, "a refusal is the client's fault");
        arena_fini(&arena);
        return;
    }
    fuzz_promise(is_plain(str_from_c(url.text)), "a URL can be sent");
    fuzz_promise(url_policy_check(policy, str_from_c(url.text), "x", &arena, &again, &e) == 0 &&
                     strcmp(url.text, again.text) == 0,
                 "what was written is written the same again");
    fuzz_promise(str_starts_with(str_from_c(url.text), url.shown) &&
                     str_starts_with(url.shown, url.origin) &&
                     str_find_char(url.shown, '?') == url.shown.len,
                 "what is shown has no query");
    fuzz_promise(policy != &public_only || str_starts_with(str_from_c(url.text), STR("https:")),
                 "a public URL is https");
    if (policy != &any) {
        check_host(url.host);
        check_as_libcurl(&url);
    }
    arena_fini(&arena);
}

/* --- headers ------------------------------------------------------------------------ */

static void check_list(const struct header_list *list)
{
    unsigned n_authorizations = 0;

    for (size_t i = 0; i < list->n; i++) {
        const struct http_header *h = &list->fields[i];

        fuzz_promise(h->name.len > 0 && is_plain(h->name), "a name can be sent");
        fuzz_promise(str_find_char(h->name, ':') == h->name.len, "a name ends where it should");
        fuzz_promise(str_is_one_line(h->value), "a value is one line");
        fuzz_promise(!str_eq_nocase(h->name, STR("host")) &&
                         !str_eq_nocase(h->name, STR("content-length")) &&
                         !str_eq_nocase(h->name, STR("mcp-session-id")),
                     "our own fields stay ours");
        n_authorizations += str_eq_nocase(h->name, STR("authorization"));
    }
    fuzz_promise(n_authorizations <= 1, "there is one Authorization at most");
}

static void check_headers(str rest)
{
    struct http_header headers[MAX_LINES];
    struct header_list list;
    struct arena arena = {0};
    str authorization = STR_NONE;
    struct err e = {.code = ERR_NONE};
    size_t n = 0;

    while (rest.len > 0 && n < MAX_LINES) {
        str line = next_line(&rest);
        size_t colon = str_find_char(line, ':');

        if (colon == line.len)
            authorization = line;
        else
            headers[n++] = (struct http_header){str_from(line.p, colon), str_skip(line, colon + 1)};
    }
    if (header_policy_check(headers, n, authorization, "tools[0]", &arena, &list, &e) == 0)
        check_list(&list);
    else
        fuzz_promise(err_http_status(&e) == 400, "a refusal is the client's fault");
    arena_fini(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    str rest = fuzz_input(bytes, n), url = next_line(&rest);
    char *copy = exact_copy(url);

    check_url(&public_only, str_from(copy, url.len));
    check_url(&web, str_from(copy, url.len));
    check_url(&any, str_from(copy, url.len));
    check_headers(rest);
    free(copy);
    return 0;
}
