/* fuzz_origin.c -- any Origin, Host, Referer and Sec-Fetch-Site: a policy that allows more takes
 * all that a stricter one takes, and what is refused is refused with 403.
 *
 * The input is the method, a line end, and then a line for each of the headers, in this order:
 * Origin, Sec-Fetch-Site, Host, Referer, Sec-Fetch-Mode, Sec-Fetch-Dest; "-" leaves it out. */
#include "fuzz/fuzz.h"

#include <string.h>

#include "http/origin_check.h"
#include "lib/fixture.h"

enum { N_FIELDS = 6 };

static const char *const listed[] = {"https://chat.example.org"};
static const char *const all[] = {"*"};
static const char *const names[] = {"ai.example.com", "*.gw.example.com"};

static const struct origin_policy plain = {.asks_for_key = false};
static const struct origin_policy keyed = {.asks_for_key = true};
static const struct origin_policy named = {.names = {names, 2}};
static const struct origin_policy strict = {.names = {names, 2}, .is_only_names = true};
static const struct origin_policy lists = {.cors = {listed, 1}};
static const struct origin_policy open_to_all = {.cors = {all, 1}};

static bool is_taken(const struct origin_policy *policy, const struct http_request *r)
{
    struct err e = {.code = ERR_NONE};

    if (origin_check(policy, r, false, &e) == 0)
        return true;
    fuzz_promise(e.code == ERR_ORIGIN_NOT_ALLOWED && err_http_status(&e) == 403,
                 "a refusal is 403");
    fuzz_promise(strstr(e.msg, "cors_origins") != NULL || strstr(e.msg, "host_names") != NULL,
                 "a refusal names the key");
    return false;
}

static void promise_more(bool less, bool more, const char *what)
{
    fuzz_promise(!less || more, what);
}

static void check_policies(const struct http_request *r)
{
    bool taken = is_taken(&plain, r);

    promise_more(taken, is_taken(&keyed, r), "keys make names harmless");
    promise_more(taken, is_taken(&named, r), "names are added");
    promise_more(taken, is_taken(&lists, r), "origins are added");
    promise_more(is_taken(&strict, r), is_taken(&named, r), "only names is stricter");
    fuzz_promise(is_taken(&open_to_all, r), "* takes all");
}

static const struct http_listener unix_listener = {.text = "unix:/s", .is_unix = true};

/* A request at each place that it may come to. */
static void check_places(struct http_request r)
{
    bool loopback, network, unix_socket;

    r.peer = STR("127.0.0.1");
    r.on_loopback = true;
    check_policies(&r);
    loopback = is_taken(&plain, &r);
    r.on_loopback = false;
    check_policies(&r);
    network = is_taken(&plain, &r);
    r.peer = STR("unix");
    r.listener = &unix_listener;
    check_policies(&r);
    unix_socket = is_taken(&plain, &r);
    promise_more(loopback, network, "the network takes what loopback takes");
    promise_more(network, unix_socket, "a Unix socket takes what the network takes");
}

static bool has(const struct http_request *r, str name)
{
    return !str_is_none(http_request_header(r, name));
}

static str next_line(str *rest)
{
    size_t n = str_find_char(*rest, '\n');
    str line = str_from(rest->p, n);

    *rest = str_skip(*rest, n + 1);
    return line;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    static const str fields[N_FIELDS] = {STR_INIT("origin"),         STR_INIT("sec-fetch-site"),
                                         STR_INIT("host"),           STR_INIT("referer"),
                                         STR_INIT("sec-fetch-mode"), STR_INIT("sec-fetch-dest")};
    struct http_header headers[N_FIELDS];
    char *copies[N_FIELDS] = {NULL};
    str rest = fuzz_input(bytes, n);
    struct http_request r = {.method = next_line(&rest), .headers = headers};

    for (size_t i = 0; i < N_FIELDS && rest.len > 0; i++) {
        str value = next_line(&rest);

        if (str_eq(value, STR("-")))
            continue;
        copies[i] = exact_copy(value);
        headers[r.n_headers++] = (struct http_header){fields[i], str_from(copies[i], value.len)};
    }
    check_places(r);
    if (!has(&r, STR("origin")) && !has(&r, STR("sec-fetch-site")))
        fuzz_promise(is_taken(&keyed, &r), "a program with a key is taken by any name");
    r.wants_upgrade = true;
    check_places(r);
    for (size_t i = 0; i < N_FIELDS; i++)
        free(copies[i]);
    return 0;
}
