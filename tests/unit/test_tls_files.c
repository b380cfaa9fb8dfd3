/* test_tls_files.c -- certificates that are exchanged, kept and awaited. */
#include <string.h>
#include <time.h>

#include "lib/test.h"
#include "lib/tls_peer.h"
#include "tls/tls_files.h"

enum { DAY_S = 86400 };

static const char *cert_file, *key_file;

static int begin(void **state)
{
    (void)state;
    certs_begin();
    return 0;
}

static int end(void **state)
{
    (void)state;
    certs_forget();
    return 0;
}

static int64_t now_s(void)
{
    return (int64_t)time(NULL);
}

static void write_pair(const struct made_cert *c)
{
    cert_file = certs_write("a.crt", c);
    key_file = certs_write_key("a.key", c, NULL);
}

/* A pair that is good from one day until another. */
static struct made_cert made(const char *cn, long from_days, long until_days)
{
    return cert_make(
        &(struct cert_wish){.cn = cn, .from_s = from_days * DAY_S, .until_s = until_days * DAY_S});
}

static struct tls_conf conf_of_files(void)
{
    return (struct tls_conf){.certs = &cert_file, .keys = &key_file, .n_pairs = 1};
}

static void check_in_use(struct tls_files *t, const char *name)
{
    struct tls_certificate c = {.until_s = 0};

    assert_int_equal(tls_files_certificates(t, &c, 1), 1);
    assert_string_equal(c.name, name);
    assert_true(c.until_s > now_s());
}

static void open_connections_keep_what_they_began_with(void **state)
{
    struct made_cert first = made("first", -1, 90), second = made("second", -1, 90);
    const struct tls_conf conf = conf_of_files();
    struct tls_context *context;
    struct tls_channel *c;
    struct tls_files *t;
    struct tls_peer p;
    struct err e;

    (void)state;
    write_pair(&first);
    t = tls_files_open(&conf, now_s(), &e);
    assert_non_null(t);
    context = tls_files_context(t);
    c = tls_channel_new(context);
    tls_context_unref(context);
    write_pair(&second);
    assert_true(tls_files_reload(t, now_s()));
    check_in_use(t, "second");
    tls_peer_open(&p, &(struct tls_peer_wish){.host = NULL});
    tls_peer_talk(&p, c, UNCUT, NULL);
    assert_true(p.is_done && tls_peer_was_shown(&p, &first));
    tls_peer_close(&p);
    tls_channel_free(c);
    tls_files_free(t);
    cert_free(&first);
    cert_free(&second);
}

static void what_cannot_be_used_changes_nothing(void **state)
{
    struct made_cert first = made("first", -1, 90), second = made("second", -1, 90);
    struct made_cert old = made("old", -9, -1);
    const struct tls_conf conf = conf_of_files();
    struct tls_files *t;
    struct err e;

    (void)state;
    write_pair(&first);
    t = tls_files_open(&conf, now_s(), &e);
    (void)certs_write("a.crt", &second); /* the key is the first's */
    assert_false(tls_files_reload(t, now_s()));
    check_in_use(t, "first");
    write_pair(&old);
    assert_false(tls_files_reload(t, now_s()));
    check_in_use(t, "first");
    (void)certs_text("a.crt", "");
    tls_files_look(t, now_s());
    check_in_use(t, "first");
    write_pair(&second);
    assert_true(tls_files_reload(t, now_s()));
    check_in_use(t, "second");
    tls_files_free(t);
    cert_free(&first);
    cert_free(&second);
    cert_free(&old);
}

static void a_look_finds_files_that_have_changed(void **state)
{
    struct made_cert first = made("first", -1, 90), second = made("second", -1, 90);
    const struct tls_conf conf = conf_of_files();
    struct tls_files *t;
    struct err e;
    struct tls_context *before, *after;

    (void)state;
    write_pair(&first);
    t = tls_files_open(&conf, now_s(), &e);
    before = tls_files_context(t);
    tls_files_look(t, now_s());
    after = tls_files_context(t);
    assert_ptr_equal(before, after); /* nothing has changed */
    tls_context_unref(before);
    tls_context_unref(after);
    (void)certs_write_key("a.key", &second, NULL);
    tls_files_look(t, now_s()); /* between the two files */
    check_in_use(t, "first");
    (void)certs_write("a.crt", &second);
    tls_files_look(t, now_s());
    check_in_use(t, "second");
    tls_files_free(t);
    cert_free(&first);
    cert_free(&second);
}

static void what_is_not_valid_yet_is_taken_when_its_time_has_come(void **state)
{
    struct made_cert first = made("first", -1, 90), next = made("next", 2, 90);
    const struct tls_conf conf = conf_of_files();
    struct tls_files *t;
    struct err e;

    (void)state;
    write_pair(&first);
    t = tls_files_open(&conf, now_s(), &e);
    write_pair(&next);
    assert_false(tls_files_reload(t, now_s()));
    tls_files_look(t, now_s());
    tls_files_look(t, now_s() + DAY_S);
    check_in_use(t, "first");
    tls_files_look(t, now_s() + 3 * DAY_S);
    check_in_use(t, "next");
    tls_files_free(t);
    cert_free(&first);
    cert_free(&next);
}

static void an_expired_certificate_does_not_start_but_an_early_one_does(void **state)
{
    struct made_cert old = made("old", -9, -1), early = made("early", 2, 90);
    const struct tls_conf conf = conf_of_files();
    struct tls_files *t;
    struct err e;

    (void)state;
    write_pair(&old);
    assert_null(tls_files_open(&conf, now_s(), &e));
    assert_non_null(strstr(e.msg, "old has expired"));
    write_pair(&early);
    t = tls_files_open(&conf, now_s(), &e);
    assert_non_null(t);
    check_in_use(t, "early");
    tls_files_free(t);
    cert_free(&old);
    cert_free(&early);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(open_connections_keep_what_they_began_with),
        cmocka_unit_test(what_cannot_be_used_changes_nothing),
        cmocka_unit_test(a_look_finds_files_that_have_changed),
        cmocka_unit_test(what_is_not_valid_yet_is_taken_when_its_time_has_come),
        cmocka_unit_test(an_expired_certificate_does_not_start_but_an_early_one_does),
    };

    return cmocka_run_group_tests(tests, begin, end);
}
