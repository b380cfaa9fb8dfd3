/* page_fetch_url.c -- libcurl takes URLs apart and puts them together. It reads more than we allow,
 * so what comes out is still to be judged. */
#include "search/page_fetch_url.h"

#include <curl/curl.h>

#include "base/buf.h"

enum { MAX_REFERENCE_BYTES = 8 * 1024 };

static bool set_url(CURLU *url, str text)
{
    struct buf copy = {.limit = MAX_REFERENCE_BYTES};
    bool ok;

    buf_append(&copy, text);
    ok = str_is_one_line(text) &&
         curl_url_set(url, CURLUPART_URL, buf_cstr(&copy), CURLU_URLENCODE) == CURLUE_OK &&
         !buf_failed(&copy);
    buf_fini(&copy);
    return ok;
}

str page_fetch_url(str base, str reference, struct arena *a)
{
    CURLU *url = curl_url();
    char *text = NULL;
    str result = STR_NONE;

    reference = str_trim(reference);
    if (url != NULL && reference.len > 0 && (str_is_none(base) || set_url(url, base)) &&
        set_url(url, reference) && curl_url_set(url, CURLUPART_FRAGMENT, NULL, 0) == CURLUE_OK &&
        curl_url_get(url, CURLUPART_URL, &text, 0) == CURLUE_OK)
        result = arena_dup(a, str_from_c(text));
    curl_free(text);
    curl_url_cleanup(url);
    return result;
}
