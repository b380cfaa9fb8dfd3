/* fuzz_forwarded.c -- any headers behind any list of trusted proxies: the client is an address, is not
 * trusted unless all are, and nothing that stands left of it changes it. The first line of the input is the
 * list, the others are lines of X-Forwarded-For. */
#include "fuzz/fuzz.h"

#include "http/trusted_proxies.h"
#include "lib/fixture.h"

enum { MAX_LINES = 16 };

static size_t cut_lines(str text, char separator, str lines[MAX_LINES])
{
    size_t n = 0;

    while (text.len > 0 && n < MAX_LINES)
        lines[n++] = str_cut(&text, separator);
    return n;
}

static void check_client(const struct trusted_proxies *t, const struct http_request *r)
{
    struct http_header more[MAX_LINES + 1] = {
        {STR("x-forwarded-for"), STR("203.0.113.1, 10.0.0.1")}};
    struct http_request longer = {.headers = more, .n_headers = r->n_headers + 1};
    char client[PEER_TEXT_BYTES], again[PEER_TEXT_BYTES];
    bool is_known = trusted_proxies_client(t, r, client);

    for (size_t i = 0; i < r->n_headers; i++)
        more[i + 1] = r->headers[i];
    if (!is_known || trusted_proxies_have(t, str_from_c(client)))
        return;
    fuzz_promise(trusted_proxies_client(t, &longer, again) && strcmp(client, again) == 0,
                 "what a client says does not count");
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    char *copy = exact_copy(fuzz_input(bytes, n));
    str rest = str_from(copy, n), lines[MAX_LINES], list = str_cut(&rest, '\n');
    struct arena memory = {.limit = 0};
    struct http_header headers[MAX_LINES];
    struct http_request r = {.headers = headers};
    const char *texts[MAX_LINES];
    struct trusted_proxies trusted;
    size_t n_texts = cut_lines(list, ',', lines);

    for (size_t i = 0; i < n_texts; i++)
        texts[i] = arena_dup(&memory, lines[i]).p;
    fuzz_promise(trusted_proxies_make(texts, n_texts, &memory, &trusted) == 0, "there is memory");
    r.n_headers = cut_lines(rest, '\n', lines);
    for (size_t i = 0; i < r.n_headers; i++)
        headers[i] = (struct http_header){STR("x-forwarded-for"), lines[i]};
    check_client(&trusted, &r);
    (void)trusted_proxies_say_https(&r);
    arena_fini(&memory);
    free(copy);
    return 0;
}
