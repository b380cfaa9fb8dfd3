/* test_http_client_guard.c -- a guarded client connects to allowed addresses only.
 *
 * The names are answered by a scripted resolver, which stands in the way of
 * libuv's; the server speaks TLS on the loopback interface. 127.0.0.1 plays a
 * public address here, and all others are private. */
#include <dlfcn.h>
#include <netdb.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/reply.h"
#include "lib/send_once.h"
#include "lib/test.h"
#include "lib/tls_server.h"
#include "net/address.h"
#include "net/address_public.h"

#define NAME "mcp.test"

/* --- the scripted resolver ------------------------------------------------------------ */

struct lookup {
    uv_getaddrinfo_t *request;
    uv_getaddrinfo_cb on_done;
    const char *answer;
};

static struct {
    const char *const *answers; /* of a lookup each, addresses with spaces between; "": none */
    unsigned n_lookups;
    bool holds; /* the next lookup waits in held */
    struct lookup *held;
} names;

static atomic_uint n_foreign_lookups;

typedef int getaddrinfo_fn(const char *host, const char *port, const struct addrinfo *hints,
                           struct addrinfo **ret);

/* libcurl's way to the system's resolver, which it must never take for a name. */
int getaddrinfo(const char *host, const char *port, const struct addrinfo *hints,
                struct addrinfo **ret)
{
    struct address_list list;
    void *next = dlsym(RTLD_NEXT, "getaddrinfo");
    getaddrinfo_fn *system_getaddrinfo;

    if (!address_of_literal(host, &list)) {
        atomic_fetch_add(&n_foreign_lookups, 1);
        return EAI_NONAME;
    }
    memcpy(&system_getaddrinfo, &next, sizeof(next));
    return system_getaddrinfo(host, port, hints, ret);
}

static struct addrinfo *result_add(struct addrinfo *before, const char *text)
{
    struct address_list list;
    struct addrinfo *a = calloc(1, sizeof(*a) + sizeof(struct sockaddr_in6));

    assert_non_null(a);
    assert_true(address_of_literal(text, &list));
    a->ai_addr = memcpy(a + 1, &list.at[0].to, list.at[0].len);
    a->ai_next = before;
    return a;
}

/* Keeps the order. */
static struct addrinfo *result_of(const char *answer)
{
    size_t n = strcspn(answer, " ");
    char text[64];

    if (n == 0)
        return NULL;
    (void)snprintf(text, sizeof(text), "%.*s", (int)n, answer);
    return result_add(result_of(answer + n + strspn(answer + n, " ")), text);
}

void uv_freeaddrinfo(struct addrinfo *result)
{
    for (struct addrinfo *next; result != NULL; result = next) {
        next = result->ai_next;
        free(result);
    }
}

static void answer_lookup(void *arg)
{
    struct lookup *l = arg;
    struct addrinfo *result = result_of(l->answer);

    l->on_done(l->request, result == NULL ? UV_EAI_NONAME : 0, result);
    free(l);
}

int uv_getaddrinfo(uv_loop_t *loop, uv_getaddrinfo_t *request, uv_getaddrinfo_cb on_done,
                   const char *host, const char *service, const struct addrinfo *hints)
{
    struct lookup *l = malloc(sizeof(*l));

    (void)loop;
    (void)service;
    (void)hints;
    assert_non_null(l);
    assert_string_equal(host, NAME);
    *l = (struct lookup){request, on_done, names.answers[names.n_lookups++]};
    if (names.holds)
        names.held = l;
    else
        defer_once(fx.loop, answer_lookup, l);
    return 0;
}

/* --- the fixture --------------------------------------------------------------------- */

#define LAST_HELLO "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello"

static struct tls_server *server;
static char proxy[60];

static bool is_first_loopback(const struct sockaddr *to)
{
    const struct sockaddr_in *in4 = (const struct sockaddr_in *)(const void *)to;

    return to->sa_family == AF_INET && ntohl(in4->sin_addr.s_addr) == 0x7f000001;
}

static bool is_ipv4(const struct sockaddr *to)
{
    return to->sa_family == AF_INET;
}

/* In place of the fixture's; certificates are verified and no proxy is asked all
 * the same. */
static void use_client(bool (*may_connect)(const struct sockaddr *to), const char *ca_file)
{
    const struct http_client_conf conf = {.max_idle_connections = 8,
                                          .ca_file = ca_file,
                                          .proxy = proxy,
                                          .verify_tls = false,
                                          .may_connect = may_connect};

    http_client_free(fx.client);
    fx.client = http_client_new(fx.loop, &conf);
    assert_non_null(fx.client);
}

static void setup_server(const char *answer, const char *const *answers)
{
    names.answers = answers;
    server = tls_server_open("127.0.0.1", NAME, answer);
    use_client(is_first_loopback, tls_server_ca_file(server));
}

static int setup(void **state)
{
    memset(&names, 0, sizeof(names));
    atomic_store(&n_foreign_lookups, 0);
    server = NULL;
    (void)snprintf(proxy, sizeof(proxy), "http://127.0.0.1:9");
    return http_fixture_setup(state);
}

/* Whatever a test does, libcurl has looked nothing up. */
static int teardown(void **state)
{
    int rc = http_fixture_teardown(state);

    tls_server_close(server);
    return atomic_load(&n_foreign_lookups) == 0 ? rc : -1;
}

static void start_at(struct reply *r, const char *host)
{
    char url[160];
    struct http_call_conf conf = {.method = "GET", .url = url, .connect_timeout_ms = 5000};

    (void)snprintf(url, sizeof(url), "https://%s:%d/mcp", host, tls_server_port(server));
    reply_start(r, &conf, &reply_handler);
}

static void check_hello(void)
{
    struct reply r;

    start_at(&r, NAME);
    reply_check_hello(&r);
}

/* Ends without an answer, for this reason. */
static void check_failed(const char *host, const char *cause)
{
    char message[200];
    struct reply r;

    start_at(&r, host);
    UNTIL(r.ended);
    assert_true(r.failed);
    assert_int_equal(r.failure.code, ERR_UPSTREAM_UNAVAILABLE);
    (void)snprintf(message, sizeof(message), "The upstream server at %s:%d is not reachable: %s.",
                   host, tls_server_port(server), cause);
    assert_string_equal(r.failure.msg, message);
    reply_fini(&r);
}

#define NOT_ALLOWED "it has an address to which this gateway does not connect"

/* --- where it connects ------------------------------------------------------------- */

static void the_server_is_asked_by_name_at_the_address_that_was_checked(void **state)
{
    static const char *const answers[] = {"127.0.0.1"};
    char host[60];

    (void)state;
    setup_server(OK_HELLO, answers);
    check_hello();
    (void)snprintf(host, sizeof(host), "Host: " NAME ":%d\r\n", tls_server_port(server));
    assert_true(tls_server_heard(server, "SNI " NAME "\n"));
    assert_true(tls_server_heard(server, host));
    assert_true(tls_server_heard(server, "GET /mcp HTTP/1.1\r\n"));
    assert_int_equal(names.n_lookups, 1);
}

static void addresses_that_are_not_allowed_are_refused(void **state)
{
    static const char *const answers[] = {
        "127.0.0.2",
        "127.0.0.2 127.0.0.1",
        "127.0.0.1 127.0.0.2",
        "127.0.0.1 ::1",
        "10.0.0.1",
        "::ffff:127.0.0.1",
        "169.254.169.254",
        "127.0.0.1 127.0.0.1 127.0.0.1 127.0.0.1 127.0.0.1 127.0.0.1 127.0.0.1 ::1",
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(answers); i++) {
        tls_server_close(server);
        names.n_lookups = 0;
        setup_server(OK_HELLO, &answers[i]);
        check_failed(NAME, NOT_ALLOWED);
        assert_int_equal(tls_server_connections(server), 0);
    }
}

/* As a name does that wants to be checked at one address and reached at another. */
static void an_answer_that_changes_is_never_taken_unchecked(void **state)
{
    static const char *const answers[] = {"127.0.0.1", "127.0.0.2"};
    char elsewhere[40];

    (void)state;
    setup_server(LAST_HELLO, answers);
    (void)snprintf(elsewhere, sizeof(elsewhere), "127.0.0.2:%d", tls_server_port(server));
    assert_non_null(gather(elsewhere, true));
    check_hello();
    check_hello(); /* on a new connection, to the address of the first lookup */
    assert_int_equal(names.n_lookups, 1);
    assert_int_equal(tls_server_connections(server), 2);
    use_client(is_first_loopback, tls_server_ca_file(server));
    check_failed(NAME, NOT_ALLOWED);
    assert_int_equal(names.n_lookups, 2);
    assert_int_equal(fx.n_accepted, 0);
}

static unsigned n_questions;

static bool is_allowed_once(const struct sockaddr *to)
{
    return is_first_loopback(to) && n_questions++ == 0;
}

static void an_address_is_judged_again_when_it_is_connected_to(void **state)
{
    static const char *const answers[] = {"127.0.0.1"};
    struct reply r;

    (void)state;
    setup_server(OK_HELLO, answers);
    use_client(is_allowed_once, tls_server_ca_file(server));
    n_questions = 0;
    start_at(&r, NAME);
    UNTIL(r.ended);
    assert_true(r.failed);
    assert_int_equal(n_questions, 2);
    assert_int_equal(tls_server_connections(server), 0);
    reply_fini(&r);
}

static void the_next_allowed_address_is_tried_after_a_refusal(void **state)
{
    static const char *const answers[] = {"127.0.0.3 127.0.0.1"};

    (void)state;
    setup_server(OK_HELLO, answers);
    use_client(is_ipv4, tls_server_ca_file(server));
    check_hello();
}

static void a_connection_is_used_again_by_the_same_client_only(void **state)
{
    static const char *const answers[] = {"127.0.0.1", "127.0.0.1"};
    struct http_client *first;

    (void)state;
    setup_server(OK_HELLO, answers);
    check_hello();
    check_hello();
    assert_int_equal(tls_server_connections(server), 1);
    first = fx.client;
    fx.client = NULL;
    use_client(address_is_public, tls_server_ca_file(server));
    check_failed(NAME, NOT_ALLOWED);
    http_client_free(first);
}

static void literals_are_judged_without_a_lookup(void **state)
{
    static const char *const hosts[] = {"127.0.0.2", "localhost", "127.2", "0x7f.2", "2130706434"};

    (void)state;
    setup_server(OK_HELLO, NULL);
    for (size_t i = 0; i < COUNT_OF(hosts); i++) {
        const char *shown = i < 2 ? hosts[i] : "127.0.0.2";
        struct reply r;

        start_at(&r, hosts[i]);
        UNTIL(r.ended);
        assert_true(r.failed);
        if (strstr(r.failure.msg, shown) == NULL || strstr(r.failure.msg, NOT_ALLOWED) == NULL)
            fail_msg("%s: %s", hosts[i], r.failure.msg);
        reply_fini(&r);
    }
    assert_int_equal(tls_server_connections(server), 0);
}

static void urls_that_cannot_be_guarded_are_refused(void **state)
{
    static const char *const urls[] = {"unix:/run/x.sock", "unix:/run/x.sock:/v1",
                                       "https://[::1]/"};

    (void)state;
    use_client(is_ipv4, NULL);
    for (size_t i = 0; i < COUNT_OF(urls); i++) {
        const struct http_call_conf conf = {.method = "GET", .url = urls[i]};
        struct err e = {.code = ERR_NONE};

        assert_null(http_client_start(fx.client, &conf, &reply_handler, NULL, &e));
        assert_int_equal(e.code, ERR_INTERNAL);
    }
}

static void a_name_without_addresses_is_told(void **state)
{
    static const char *const answers[] = {""};

    (void)state;
    setup_server(OK_HELLO, answers);
    check_failed(NAME, "its name cannot be resolved");
}

/* --- what is not followed ------------------------------------------------------------ */

/* MCP 16.4, like the next two. */
static void redirects_are_reported_and_not_followed(void **state)
{
    static const char *const answers[] = {"127.0.0.1", "127.0.0.1"};
    struct reply r;

    (void)state;
    setup_server("HTTP/1.1 307 Elsewhere\r\nLocation: https://" NAME "/x\r\n"
                 "Content-Length: 0\r\n\r\n",
                 answers);
    start_at(&r, NAME);
    UNTIL(r.ended);
    assert_false(r.failed);
    assert_int_equal(r.status, 307);
    assert_false(tls_server_heard(server, "/x"));
    reply_fini(&r);
}

static void proxies_are_not_asked(void **state)
{
    static const char *const variables[] = {"https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"};
    static const char *const answers[] = {"127.0.0.1"};

    (void)state;
    assert_non_null(gather("127.0.0.1:0", true));
    (void)snprintf(proxy, sizeof(proxy), "http://127.0.0.1:%d", listener_port(fx.listener));
    setup_server(OK_HELLO, answers);
    for (size_t i = 0; i < COUNT_OF(variables); i++)
        assert_int_equal(setenv(variables[i], proxy, 1), 0);
    check_hello();
    for (size_t i = 0; i < COUNT_OF(variables); i++)
        assert_int_equal(unsetenv(variables[i]), 0);
    assert_int_equal(fx.n_accepted, 0);
}

static void certificates_are_verified_whatever_the_conf_says(void **state)
{
    static const char *const answers[] = {"127.0.0.1", "127.0.0.1"};
    struct reply r;

    (void)state;
    names.answers = answers;
    server = tls_server_open("127.0.0.1", "other.test", OK_HELLO);
    for (int i = 0; i < 2; i++) { /* it is for another name; nobody vouches for it */
        use_client(is_first_loopback, i == 0 ? tls_server_ca_file(server) : NULL);
        start_at(&r, NAME);
        UNTIL(r.ended);
        assert_true(r.failed);
        assert_non_null(strstr(r.failure.msg, i == 0 ? "subject" : "certificate"));
        reply_fini(&r);
    }
    assert_false(tls_server_heard(server, "GET"));
}

/* --- while the name is looked up ------------------------------------------------------ */

static void a_call_may_be_cancelled_while_its_name_is_looked_up(void **state)
{
    static const char *const answers[] = {"127.0.0.1"};
    struct reply r;

    (void)state;
    setup_server(OK_HELLO, answers);
    names.holds = true;
    start_at(&r, NAME);
    assert_true(http_client_is_resolving(fx.client));
    http_call_cancel(r.call);
    answer_lookup(names.held);
    assert_false(http_client_is_resolving(fx.client));
    let_pass(20);
    assert_false(r.ended);
    assert_int_equal(tls_server_connections(server), 0);
    check_hello(); /* the answer was kept */
    assert_int_equal(names.n_lookups, 1);
}

static void a_lookup_counts_as_connecting(void **state)
{
    static const char *const answers[] = {"127.0.0.1"};
    struct http_call_conf conf = {
        .method = "GET", .url = "https://" NAME "/", .connect_timeout_ms = 20};
    struct reply r;

    (void)state;
    setup_server(OK_HELLO, answers);
    names.holds = true;
    reply_start(&r, &conf, &reply_handler);
    UNTIL(r.ended);
    assert_int_equal(r.failure.code, ERR_UPSTREAM_TIMEOUT);
    assert_non_null(strstr(r.failure.msg, "no connection within 20 ms"));
    answer_lookup(names.held);
    reply_fini(&r);
}

static void calls_that_wait_for_one_name_share_its_lookup(void **state)
{
    static const char *const answers[] = {"127.0.0.1"};
    struct reply r[3];

    (void)state;
    setup_server(LAST_HELLO, answers);
    for (size_t i = 0; i < COUNT_OF(r); i++)
        start_at(&r[i], NAME);
    for (size_t i = 0; i < COUNT_OF(r); i++)
        reply_check_hello(&r[i]);
    assert_int_equal(names.n_lookups, 1);
}

#define GUARD_TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        GUARD_TEST(the_server_is_asked_by_name_at_the_address_that_was_checked),
        GUARD_TEST(addresses_that_are_not_allowed_are_refused),
        GUARD_TEST(an_answer_that_changes_is_never_taken_unchecked),
        GUARD_TEST(an_address_is_judged_again_when_it_is_connected_to),
        GUARD_TEST(the_next_allowed_address_is_tried_after_a_refusal),
        GUARD_TEST(a_connection_is_used_again_by_the_same_client_only),
        GUARD_TEST(literals_are_judged_without_a_lookup),
        GUARD_TEST(urls_that_cannot_be_guarded_are_refused),
        GUARD_TEST(a_name_without_addresses_is_told),
        GUARD_TEST(redirects_are_reported_and_not_followed),
        GUARD_TEST(proxies_are_not_asked),
        GUARD_TEST(certificates_are_verified_whatever_the_conf_says),
        GUARD_TEST(a_call_may_be_cancelled_while_its_name_is_looked_up),
        GUARD_TEST(a_lookup_counts_as_connecting),
        GUARD_TEST(calls_that_wait_for_one_name_share_its_lookup),
    };

    (void)signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
