/* page_url.c -- libcurl joins URLs; it is also what will open them. */
#include "search/page_url.h"

#include <curl/curl.h>

#include "http/url_policy.h"

/* Copies href as browsers read it: white space at the ends does not count, tabs and line ends
 * nowhere. */
static bool copy_href(str href, char *to, size_t size)
{
    size_t n = 0;

    href = str_trim(href);
    href.len = str_find_char(href, '#');
    for (size_t i = 0; i < href.len; i++) {
        if (href.p[i] == '\t' || href.p[i] == '\r' || href.p[i] == '\n')
            continue;
        if (href.p[i] == '\0' || n + 1 >= size)
            return false;
        to[n++] = href.p[i];
    }
    to[n] = '\0';
    return n > 0;
}

static bool is_web(CURLU *url)
{
    char *scheme = NULL;
    bool is;

    if (curl_url_get(url, CURLUPART_SCHEME, &scheme, 0) != CURLUE_OK)
        return false;
    is = str_eq(str_from_c(scheme), STR("http")) || str_eq(str_from_c(scheme), STR("https"));
    curl_free(scheme);
    return is;
}

static str join_url(CURLU *url, const char *base, const char *href, struct arena *a)
{
    char *text = NULL;
    str joined;

    if (curl_url_set(url, CURLUPART_URL, base, CURLU_URLENCODE) != CURLUE_OK ||
        curl_url_set(url, CURLUPART_URL, href, CURLU_URLENCODE) != CURLUE_OK || !is_web(url) ||
        curl_url_get(url, CURLUPART_URL, &text, 0) != CURLUE_OK)
        return STR_NONE;
    joined = str_from_c(text);
    joined = joined.len <= URL_MAX_BYTES ? arena_dup(a, joined) : STR_NONE;
    curl_free(text);
    return joined;
}

str page_url_resolve(str base, str href, struct arena *a)
{
    char base_text[URL_MAX_BYTES + 1], href_text[URL_MAX_BYTES + 1];
    CURLU *url;
    str joined = STR_NONE;

    if (!copy_href(base, base_text, sizeof(base_text)) ||
        !copy_href(href, href_text, sizeof(href_text)))
        return STR_NONE;
    url = curl_url();
    if (url != NULL)
        joined = join_url(url, base_text, href_text, a);
    curl_url_cleanup(url);
    return joined;
}
