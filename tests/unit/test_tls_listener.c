/* test_tls_listener.c -- from the keys of the configuration to certificates in use, and what metrics
 * tell of them. */
#include "daemon/tls_listener.h"

#include <stdio.h>
#include <string.h>

#include "lib/test.h"
#include "lib/tls_peer.h"

enum { N = 3 };

static struct made_cert made[N];
static const char *certs[N], *keys[N];

static int begin(void **state)
{
    (void)state;
    certs_begin();
    made[0] = cert_make(&(struct cert_wish){.cn = "a", .from_s = -9, .until_s = 86400 * 90});
    made[1] = cert_make(&(struct cert_wish){.cn = "b", .from_s = -9, .until_s = 86400 * 80});
    made[2] = cert_make(&(struct cert_wish){.cn = "a", .from_s = -9, .until_s = 86400 * 70});
    for (size_t i = 0; i < N; i++) {
        char name[16];

        (void)snprintf(name, sizeof(name), "%zu.crt", i);
        certs[i] = certs_write(name, &made[i]);
        (void)snprintf(name, sizeof(name), "%zu.key", i);
        keys[i] = certs_write_key(name, &made[i], NULL);
    }
    return metrics_open(&(struct metrics_conf){10, 7}) ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    metrics_close();
    certs_forget();
    for (size_t i = 0; i < N; i++)
        cert_free(&made[i]);
    return 0;
}

static struct config config_with_certificates(void)
{
    struct config c = {.tls_min_version = "1.2"};

    c.tls_cert = (struct config_list){certs, N};
    c.tls_key = (struct config_list){keys, N};
    return c;
}

static void there_is_none_without_certificates(void **state)
{
    const struct config c = {.tls_min_version = "1.2"};
    struct config_problems problems = {.n_kept = 0};
    struct tls_listener *t;
    struct err e;

    (void)state;
    assert_true(tls_listener_check(&c, &problems));
    assert_int_equal(tls_listener_open(NULL, &c, &t, &e), 0);
    assert_null(t);
    assert_null(tls_listener_files(t));
    config_problems_fini(&problems);
}

static void what_cannot_be_used_is_a_problem(void **state)
{
    struct config c = config_with_certificates();
    struct config_problems problems = {.n_kept = 0};
    const char *kept = keys[1];

    (void)state;
    assert_true(tls_listener_check(&c, &problems));
    keys[1] = keys[0];
    assert_false(tls_listener_check(&c, &problems));
    assert_int_equal(problems.n_errors, 1);
    assert_non_null(strstr(problems.kept[problems.n_kept - 1].text, "is not the key of"));
    keys[1] = kept;
    config_problems_fini(&problems);
}

static void a_missing_authority_of_clients_is_said_once(void **state)
{
    struct config c = config_with_certificates();
    struct config_problems problems = {.n_kept = 0};

    (void)state;
    c.tls_client_auth = CONFIG_TLS_CLIENT_AUTH_REQUIRE; /* what config_rule.c has said */
    assert_true(tls_listener_check(&c, &problems));
    c.tls_client_ca = "/nowhere/ca.crt";
    assert_false(tls_listener_check(&c, &problems));
    assert_int_equal(problems.n_errors, 1);
    assert_string_equal(problems.kept[problems.n_kept - 1].text,
                        "tls_client_ca /nowhere/ca.crt: No such file or directory");
    config_problems_fini(&problems);
}

/* The line of the page for a certificate. */
static void expect_expiry(const char *page, const char *name, struct tls_files *files, size_t i)
{
    struct tls_certificate all[N];
    char line[200];

    assert_int_equal(tls_files_certificates(files, all, N), N);
    (void)snprintf(line, sizeof(line),
                   "\nantiphon_tls_certificate_expiry_seconds{certificate=\"%s\"} %lld", name,
                   (long long)all[i].until_s);
    assert_non_null(strstr(page, line));
}

/* Of two with one name the first to expire is told. */
static void metrics_tell_when_certificates_expire(void **state)
{
    struct config c = config_with_certificates();
    struct buf page = {.limit = 0};
    struct loop *loop;
    struct tls_listener *t;
    struct err e;

    (void)state;
    loop = loop_new(&e);
    assert_non_null(loop);
    assert_int_equal(tls_listener_open(loop, &c, &t, &e), 0);
    tls_result_count(TLS_CERTIFICATE);
    assert_int_equal(
        metrics_page_write(METRICS_TEXT, &(struct metrics_source){tls_listener_tell, t}, 1, &page),
        0);
    expect_expiry(buf_cstr(&page), "b", tls_listener_files(t), 1);
    expect_expiry(buf_cstr(&page), "a", tls_listener_files(t), 2);
    assert_non_null(strstr(page.p, "\nantiphon_tls_handshakes_total{result=\"certificate\"} 1\n"));
    assert_non_null(strstr(page.p, "\nantiphon_tls_handshakes_total{result=\"ok\"} 0\n"));
    assert_true(tls_listener_reload(t));
    tls_listener_free(t);
    loop_free(loop);
    buf_fini(&page);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(there_is_none_without_certificates),
        cmocka_unit_test(what_cannot_be_used_is_a_problem),
        cmocka_unit_test(a_missing_authority_of_clients_is_said_once),
        cmocka_unit_test(metrics_tell_when_certificates_expire),
    };

    return cmocka_run_group_tests(tests, begin, end);
}
