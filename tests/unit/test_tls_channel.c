/* test_tls_channel.c -- a client's bytes in, plain bytes out, and back; however they are cut. */
#include <openssl/err.h>
#include <string.h>

#include "lib/failing_malloc.h"
#include "lib/test.h"
#include "lib/tls_peer.h"

static struct made_cert ca, own;
static const char *cert_file, *key_file, *ca_file;
static struct tls_tickets *tickets;

static int begin(void **state)
{
    struct err e;

    (void)state;
    certs_begin();
    ca = cert_make(&(struct cert_wish){.cn = "the CA", .is_ca = true});
    own = cert_make(&(struct cert_wish){.cn = "own", .san = "DNS:gateway.example"});
    cert_file = certs_write("own.crt", &own);
    key_file = certs_write_key("own.key", &own, NULL);
    ca_file = certs_write("ca.crt", &ca);
    tickets = tls_tickets_new(&e);
    return tickets == NULL ? -1 : 0;
}

static int end(void **state)
{
    (void)state;
    certs_forget();
    cert_free(&ca);
    cert_free(&own);
    tls_tickets_free(tickets);
    return 0;
}

static struct tls_conf usual(void)
{
    return (struct tls_conf){.certs = &cert_file, .keys = &key_file, .n_pairs = 1};
}

static struct tls_context *context_of(struct tls_conf conf)
{
    struct err e = {.code = ERR_NONE};
    struct tls_context *c = tls_context_new(&conf, tickets, &e);

    if (c == NULL)
        print_error("%s\n", e.msg);
    assert_non_null(c);
    return c;
}

/* A channel of its own context. */
static struct tls_channel *channel_of(struct tls_conf conf)
{
    struct tls_context *context = context_of(conf);
    struct tls_channel *c = tls_channel_new(context);

    assert_non_null(c);
    tls_context_unref(context);
    return c;
}

static void seal_all(struct tls_channel *c, str bytes)
{
    while (bytes.len > 0) {
        struct iovec piece = {(void *)(uintptr_t)bytes.p, bytes.len};
        size_t n = tls_channel_seal(c, &piece, 1);

        assert_true(n > 0);
        bytes = str_skip(bytes, n);
    }
}

/* ---- handshakes and bytes, at every split point */

static size_t shake_and_echo(struct tls_context *context, int version, struct cutting cutting)
{
    struct tls_channel *c = tls_channel_new(context);
    struct buf plain = {.limit = 0};
    struct tls_peer p;
    size_t n;

    tls_peer_open(&p, &(struct tls_peer_wish){.min_version = version, .max_version = version});
    tls_peer_talk(&p, c, cutting, &plain);
    assert_true(p.is_done);
    assert_int_equal(tls_channel_state(c), TLS_OPEN);
    assert_int_equal(tls_channel_result(c), TLS_OK);
    tls_peer_say(&p, STR("ping"));
    tls_peer_say(&p, STR("pong"));
    tls_peer_talk(&p, c, cutting, &plain);
    assert_str_c(buf_str(&plain), "pingpong");
    seal_all(c, STR("heard"));
    tls_peer_talk(&p, c, cutting, &plain);
    assert_str_c(buf_str(&p.heard), "heard");
    n = p.n_sent;
    tls_peer_close(&p);
    tls_channel_free(c);
    buf_fini(&plain);
    return n;
}

static void every_split(int version)
{
    struct tls_context *context = context_of(usual());
    size_t n = shake_and_echo(context, version, UNCUT);

    for (size_t i = 1; i < n; i++)
        (void)shake_and_echo(context, version, CUT_AT(i));
    (void)shake_and_echo(context, version, BYTE_BY_BYTE);
    tls_context_unref(context);
}

static void a_handshake_of_1_3_may_be_cut_anywhere(void **state)
{
    (void)state;
    every_split(TLS1_3_VERSION);
}

static void a_handshake_of_1_2_may_be_cut_anywhere(void **state)
{
    (void)state;
    every_split(TLS1_2_VERSION);
}

/* ---- large writes */

/* Counts the records of sealed bytes; each is whole and within the limit. */
static size_t count_records(str wire)
{
    enum { HEAD = 5, MOST_SEALED = TLS_RECORD_BYTES + 256 };
    size_t n = 0;

    for (; wire.len > 0; n++) {
        size_t len = (size_t)(unsigned char)wire.p[3] << 8 | (unsigned char)wire.p[4];

        assert_true(len <= MOST_SEALED && len + HEAD <= wire.len);
        wire = str_skip(wire, HEAD + len);
    }
    return n;
}

static void a_large_answer_leaves_in_records_of_16_kib(void **state)
{
    enum { BYTES = 100 * 1024 + 1 };
    struct tls_channel *c = channel_of(usual());
    char *large = calloc(1, BYTES);
    struct tls_peer p;

    (void)state;
    assert_non_null(large);
    memset(large, 'x', BYTES);
    tls_peer_open(&p, &(struct tls_peer_wish){.host = NULL});
    tls_peer_talk(&p, c, UNCUT, NULL);
    seal_all(c, str_from(large, BYTES));
    assert_int_equal(count_records(tls_channel_wire(c)), BYTES / TLS_RECORD_BYTES + 1);
    tls_peer_talk(&p, c, UNCUT, NULL);
    assert_true(str_eq(buf_str(&p.heard), str_from(large, BYTES)));
    assert_int_equal(tls_channel_wire(c).len, 0);
    tls_peer_close(&p);
    tls_channel_free(c);
    free(large);
}

static void small_pieces_share_a_record(void **state)
{
    struct tls_channel *c = channel_of(usual());
    char head[] = "5\r\n", body[] = "hello", tail[] = "\r\n", *large = calloc(1, 20000);
    const struct iovec pieces[] = {{head, 3}, {NULL, 0}, {body, 5}, {tail, 2}};
    const struct iovec mixed[] = {{head, 3}, {large, 20000}};
    struct tls_peer p;

    (void)state;
    tls_peer_open(&p, &(struct tls_peer_wish){.host = NULL});
    tls_peer_talk(&p, c, UNCUT, NULL);
    assert_int_equal(tls_channel_seal(c, pieces, COUNT_OF(pieces)), 10);
    assert_int_equal(count_records(tls_channel_wire(c)), 1);
    assert_int_equal(tls_channel_seal(c, mixed, COUNT_OF(mixed)), TLS_RECORD_BYTES);
    assert_int_equal(tls_channel_seal(c, mixed, 0), 0);
    tls_peer_talk(&p, c, UNCUT, NULL);
    assert_str_c(str_from(p.heard.p, 13), "5\r\nhello\r\n5\r\n");
    assert_int_equal(p.heard.len, 10 + TLS_RECORD_BYTES);
    tls_peer_close(&p);
    tls_channel_free(c);
    free(large);
}

/* ---- what is refused */

/* The description of the alert that the channel owes, which must be in the clear: 0 for none. */
static unsigned owed_alert(const struct tls_channel *c)
{
    enum { ALERT = 21, BYTES = 7 };
    str wire = tls_channel_wire(c);

    if (wire.len < BYTES || wire.p[0] != ALERT)
        return 0;
    return (unsigned char)wire.p[BYTES - 1];
}

/* Gives the channel what the client says first. */
static void feed_hello(struct tls_channel *c, const struct tls_peer_wish *wish)
{
    char out[4096 + TLS_RECORD_BYTES], *bytes;
    struct tls_peer p;
    long n;

    tls_peer_open(&p, wish);
    (void)SSL_do_handshake(p.ssl);
    ERR_clear_error();
    n = BIO_get_mem_data(p.out, &bytes);
    assert_in_range(n, 1, 4096);
    assert_int_equal(tls_channel_feed(c, str_from(bytes, (size_t)n), out), 0);
    tls_peer_close(&p);
}

static void old_versions_are_refused_by_an_alert(void **state)
{
    static const int versions[] = {TLS1_VERSION, TLS1_1_VERSION};

    (void)state;
    for (size_t i = 0; i < COUNT_OF(versions); i++) {
        struct tls_channel *c = channel_of(usual());

        feed_hello(c,
                   &(struct tls_peer_wish){.min_version = versions[i], .max_version = versions[i]});
        assert_int_equal(tls_channel_state(c), TLS_FAILED);
        assert_int_equal(tls_channel_result(c), TLS_VERSION);
        assert_int_equal(owed_alert(c), SSL_AD_PROTOCOL_VERSION);
        tls_channel_free(c);
    }
}

static void version_1_2_is_refused_where_1_3_is_asked_for(void **state)
{
    struct tls_conf conf = usual();
    struct tls_channel *c;

    (void)state;
    conf.only_1_3 = true;
    c = channel_of(conf);
    feed_hello(
        c, &(struct tls_peer_wish){.min_version = TLS1_2_VERSION, .max_version = TLS1_2_VERSION});
    assert_int_equal(tls_channel_result(c), TLS_VERSION);
    assert_int_equal(owed_alert(c), SSL_AD_PROTOCOL_VERSION);
    tls_channel_free(c);
}

static void a_client_of_h2_alone_is_told_so(void **state)
{
    struct tls_channel *c = channel_of(usual());

    (void)state;
    feed_hello(c, &(struct tls_peer_wish){.protocols = STR("\x02h2")});
    assert_int_equal(tls_channel_state(c), TLS_FAILED);
    assert_int_equal(tls_channel_result(c), TLS_PROTOCOL);
    assert_int_equal(owed_alert(c), SSL_AD_NO_APPLICATION_PROTOCOL);
    tls_channel_free(c);
}

static void http_1_1_is_chosen_among_protocols(void **state)
{
    struct tls_channel *c = channel_of(usual());
    const unsigned char *chosen;
    struct tls_peer p;
    unsigned len;

    (void)state;
    tls_peer_open(&p, &(struct tls_peer_wish){.protocols = STR("\x02h2\x08http/1.1")});
    tls_peer_talk(&p, c, UNCUT, NULL);
    assert_true(p.is_done);
    SSL_get0_alpn_selected(p.ssl, &chosen, &len);
    assert_str_c(str_from((const char *)chosen, len), "http/1.1");
    tls_peer_close(&p);
    tls_channel_free(c);
}

static void http_without_tls_is_answered_in_its_own_words(void **state)
{
    static const char *const requests[] = {"GET / HTTP/1.1\r\n", "POST /v1", "OPTIONS *", "D"};

    (void)state;
    for (size_t i = 0; i < COUNT_OF(requests); i++) {
        struct tls_channel *c = channel_of(usual());
        char out[100 + TLS_RECORD_BYTES];

        assert_int_equal(tls_channel_feed(c, str_from_c(requests[i]), out), 0);
        assert_int_equal(tls_channel_state(c), TLS_FAILED);
        assert_int_equal(tls_channel_result(c), TLS_HTTP);
        assert_true(str_starts_with(tls_channel_wire(c), STR("HTTP/1.1 400 ")));
        assert_int_equal(tls_channel_feed(c, STR("more"), out), 0);
        tls_channel_free(c);
    }
}

static void bytes_that_are_no_tls_end_it(void **state)
{
    struct tls_channel *c = channel_of(usual());
    char out[100 + TLS_RECORD_BYTES], zeros[100] = "";
    struct iovec piece = {zeros, 1};

    (void)state;
    assert_int_equal(tls_channel_feed(c, str_from(zeros, sizeof(zeros)), out), 0);
    assert_int_equal(tls_channel_state(c), TLS_FAILED);
    assert_int_equal(tls_channel_result(c), TLS_BROKEN);
    assert_int_equal(tls_channel_seal(c, &piece, 1), 0);
    tls_channel_end(c);
    tls_channel_free(c);
}

static void a_record_that_was_changed_on_its_way_ends_it(void **state)
{
    struct tls_channel *c = channel_of(usual());
    char out[4096 + TLS_RECORD_BYTES], *bytes;
    struct tls_peer p;
    long n;

    (void)state;
    tls_peer_open(&p, &(struct tls_peer_wish){.host = NULL});
    tls_peer_talk(&p, c, UNCUT, NULL);
    tls_peer_say(&p, STR("ping"));
    n = BIO_get_mem_data(p.out, &bytes);
    bytes[n - 1] ^= 1;
    assert_int_equal(tls_channel_feed(c, str_from(bytes, (size_t)n), out), 0);
    assert_int_equal(tls_channel_state(c), TLS_FAILED);
    assert_int_equal(tls_channel_result(c), TLS_OK); /* of the handshake */
    assert_true(tls_channel_wire(c).len > 0);        /* the alert */
    tls_peer_close(&p);
    tls_channel_free(c);
}

/* ---- the end */

static void a_last_word_is_said_and_heard(void **state)
{
    struct tls_channel *c = channel_of(usual());
    struct iovec piece = {(char[]){"x"}, 1};
    struct tls_peer p;

    (void)state;
    tls_peer_open(&p, &(struct tls_peer_wish){.host = NULL});
    tls_peer_talk(&p, c, UNCUT, NULL);
    seal_all(c, STR("bye"));
    tls_channel_end(c);
    tls_channel_end(c);
    assert_int_equal(tls_channel_seal(c, &piece, 1), 0);
    assert_int_equal(tls_channel_state(c), TLS_OPEN);
    tls_peer_talk(&p, c, UNCUT, NULL);
    assert_str_c(buf_str(&p.heard), "bye");
    assert_true(p.is_ended);
    (void)SSL_shutdown(p.ssl);
    tls_peer_talk(&p, c, UNCUT, NULL);
    assert_int_equal(tls_channel_state(c), TLS_ENDED);
    tls_peer_close(&p);
    tls_channel_free(c);
}

static void bytes_before_the_last_word_of_a_client_are_heard(void **state)
{
    struct tls_channel *c = channel_of(usual());
    struct buf plain = {.limit = 0};
    struct tls_peer p;

    (void)state;
    tls_peer_open(&p, &(struct tls_peer_wish){.host = NULL});
    tls_peer_talk(&p, c, UNCUT, NULL);
    tls_peer_say(&p, STR("last"));
    (void)SSL_shutdown(p.ssl);
    tls_peer_talk(&p, c, UNCUT, &plain);
    assert_str_c(buf_str(&plain), "last");
    assert_int_equal(tls_channel_state(c), TLS_ENDED);
    seal_all(c, STR("still"));
    buf_fini(&plain);
    tls_peer_close(&p);
    tls_channel_free(c);
}

static void a_client_that_ends_within_the_handshake_has_gone(void **state)
{
    static const char end_notify[] = {21, 3, 3, 0, 2, 1, 0}; /* warning, close_notify */
    struct tls_channel *c = channel_of(usual());
    char out[sizeof(end_notify) + TLS_RECORD_BYTES];

    (void)state;
    assert_int_equal(tls_channel_feed(c, str_from(end_notify, sizeof(end_notify)), out), 0);
    assert_int_equal(tls_channel_state(c), TLS_FAILED);
    assert_int_not_equal(tls_channel_result(c), TLS_OK);
    tls_channel_free(c);
}

/* ---- certificates of clients */

struct client_case {
    const char *claim;
    enum tls_auth auth;
    const struct made_cert *own;
    enum tls_result result;
    bool is_named;
};

static void check_client(const struct client_case *k, int version, enum tls_owner owner,
                         const char *value)
{
    struct tls_conf conf = usual();
    struct tls_channel *c;
    struct tls_peer p;

    conf.client_ca = ca_file;
    conf.auth = k->auth;
    conf.owner = owner;
    c = channel_of(conf);
    tls_peer_open(
        &p, &(struct tls_peer_wish){.min_version = version, .max_version = version, .own = k->own});
    tls_peer_talk(&p, c, UNCUT, NULL);
    if (tls_channel_result(c) != k->result)
        print_error("%s\n", k->claim);
    assert_int_equal(tls_channel_result(c), k->result);
    assert_int_equal(tls_channel_state(c), k->result == TLS_OK ? TLS_OPEN : TLS_FAILED);
    assert_true(p.has_failed == (k->result != TLS_OK)); /* it has got an alert */
    if (k->is_named)
        assert_str_c(tls_channel_owner(c), value);
    else
        assert_true(str_is_none(tls_channel_owner(c)));
    tls_peer_close(&p);
    tls_channel_free(c);
}

static void certificates_of_clients_are_checked(void **state)
{
    struct made_cert good = cert_make(&(struct cert_wish){.cn = "alice", .by = &ca});
    struct made_cert old =
        cert_make(&(struct cert_wish){.cn = "bob", .by = &ca, .from_s = -7200, .until_s = -3600});
    struct made_cert early =
        cert_make(&(struct cert_wish){.cn = "bob", .by = &ca, .from_s = 3600, .until_s = 7200});
    struct made_cert other_ca = cert_make(&(struct cert_wish){.cn = "the CA", .is_ca = true});
    struct made_cert stranger = cert_make(&(struct cert_wish){.cn = "alice", .by = &other_ca});
    struct made_cert nameless = cert_make(&(struct cert_wish){.san = "DNS:x", .by = &ca});
    const struct client_case cases[] = {
        {"off asks for none", TLS_AUTH_OFF, &good, TLS_OK, false},
        {"optional takes none", TLS_AUTH_OPTIONAL, NULL, TLS_OK, false},
        {"optional takes a good one", TLS_AUTH_OPTIONAL, &good, TLS_OK, true},
        {"optional refuses a stranger's", TLS_AUTH_OPTIONAL, &stranger, TLS_CERTIFICATE, false},
        {"required", TLS_AUTH_REQUIRE, NULL, TLS_CERTIFICATE, false},
        {"required and good", TLS_AUTH_REQUIRE, &good, TLS_OK, true},
        {"a stranger's", TLS_AUTH_REQUIRE, &stranger, TLS_CERTIFICATE, false},
        {"an expired one", TLS_AUTH_REQUIRE, &old, TLS_CERTIFICATE, false},
        {"one of the future", TLS_AUTH_REQUIRE, &early, TLS_CERTIFICATE, false},
        {"one that names nobody", TLS_AUTH_REQUIRE, &nameless, TLS_CERTIFICATE, false},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        check_client(&cases[i], TLS1_3_VERSION, TLS_OWNER_CN, "cert:alice");
        check_client(&cases[i], TLS1_2_VERSION, TLS_OWNER_CN, "cert:alice");
    }
    cert_free(&good);
    cert_free(&old);
    cert_free(&early);
    cert_free(&other_ca);
    cert_free(&stranger);
    cert_free(&nameless);
}

/* ---- tickets */

/* Connects, and returns the session with its last ticket, which is the caller's. */
static SSL_SESSION *session_of(struct tls_context *context, const struct made_cert *client,
                               SSL_SESSION *resumed, bool *ret_was_resumed)
{
    struct tls_channel *c = tls_channel_new(context);
    struct tls_peer p;
    SSL_SESSION *session;

    tls_peer_open(&p, &(struct tls_peer_wish){.own = client, .session = resumed});
    tls_peer_talk(&p, c, UNCUT, NULL);
    assert_int_equal(tls_channel_state(c), TLS_OPEN);
    seal_all(c, STR("x")); /* the tickets are read with it */
    tls_peer_talk(&p, c, UNCUT, NULL);
    *ret_was_resumed = SSL_session_reused(p.ssl) == 1;
    session = SSL_get1_session(p.ssl);
    (void)SSL_shutdown(p.ssl); /* else the session counts as broken */
    tls_peer_close(&p);
    tls_channel_free(c);
    return session;
}

static void a_ticket_is_good_for_the_next_context_as_well(void **state)
{
    struct tls_context *first = context_of(usual()), *second = context_of(usual());
    SSL_SESSION *session, *next;
    bool resumed;

    (void)state;
    session = session_of(first, NULL, NULL, &resumed);
    assert_false(resumed);
    next = session_of(second, NULL, session, &resumed);
    assert_true(resumed);
    SSL_SESSION_free(session);
    SSL_SESSION_free(next);
    tls_context_unref(first);
    tls_context_unref(second);
}

/* What a client was once let in with says nothing where others are asked for. */
static void a_ticket_is_no_good_where_other_clients_are_trusted(void **state)
{
    struct made_cert other = cert_make(&(struct cert_wish){.cn = "other", .is_ca = true});
    struct made_cert client = cert_make(&(struct cert_wish){.cn = "alice", .by = &ca});
    struct tls_conf conf = usual();
    struct tls_context *first, *second;
    SSL_SESSION *session, *next;
    bool resumed;

    (void)state;
    conf.auth = TLS_AUTH_OPTIONAL;
    conf.client_ca = ca_file;
    first = context_of(conf);
    conf.client_ca = certs_write("other.crt", &other);
    second = context_of(conf);
    session = session_of(first, &client, NULL, &resumed);
    next = session_of(first, NULL, session, &resumed);
    assert_true(resumed);
    SSL_SESSION_free(next);
    next = session_of(second, NULL, session, &resumed);
    assert_false(resumed);
    SSL_SESSION_free(session);
    SSL_SESSION_free(next);
    tls_context_unref(first);
    tls_context_unref(second);
    cert_free(&other);
    cert_free(&client);
}

/* ---- costs */

static void a_client_that_makes_us_answer_and_reads_nothing_is_given_up(void **state)
{
    enum { MOST = 1024 * 1024 };
    struct tls_channel *c = channel_of(usual());
    char out[4096 + TLS_RECORD_BYTES], *bytes;
    struct tls_peer p;
    struct iovec piece = {(char[]){"x"}, 1};
    size_t longest = 0;

    (void)state;
    tls_peer_open(&p, &(struct tls_peer_wish){.min_version = TLS1_3_VERSION});
    tls_peer_talk(&p, c, UNCUT, NULL);
    for (int i = 0; i < 2000 && tls_channel_state(c) == TLS_OPEN; i++) {
        long n;

        assert_int_equal(SSL_key_update(p.ssl, SSL_KEY_UPDATE_REQUESTED), 1);
        assert_int_equal(SSL_do_handshake(p.ssl), 1);
        n = BIO_get_mem_data(p.out, &bytes);
        (void)tls_channel_feed(c, str_from(bytes, (size_t)n), out);
        (void)BIO_reset(p.out);
        longest = tls_channel_wire(c).len > longest ? tls_channel_wire(c).len : longest;
    }
    assert_true(longest < MOST);
    (void)tls_channel_seal(c, &piece, 1); /* with what the last of them asked for */
    ERR_clear_error();
    tls_peer_close(&p);
    tls_channel_free(c);
}

/* Whatever cannot be allocated: the handshake succeeds, or the channel says that it does not. */
static void every_allocation_may_fail(void **state)
{
    struct tls_context *context = context_of(usual());
    bool failed = true;

    (void)state;
    for (long i = 0; failed; i++) {
        struct tls_channel *c;
        struct tls_peer p;

        tls_peer_open(&p, &(struct tls_peer_wish){.host = NULL});
        failing_malloc_begin(i, FAILS_ONCE);
        c = tls_channel_new(context);
        if (c != NULL)
            tls_peer_talk(&p, c, UNCUT, NULL);
        failed = failing_malloc_end();
        if (c != NULL && !failed)
            assert_int_equal(tls_channel_state(c), TLS_OPEN);
        tls_peer_close(&p);
        tls_channel_free(c);
    }
    tls_context_unref(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_handshake_of_1_3_may_be_cut_anywhere),
        cmocka_unit_test(a_handshake_of_1_2_may_be_cut_anywhere),
        cmocka_unit_test(a_large_answer_leaves_in_records_of_16_kib),
        cmocka_unit_test(small_pieces_share_a_record),
        cmocka_unit_test(old_versions_are_refused_by_an_alert),
        cmocka_unit_test(version_1_2_is_refused_where_1_3_is_asked_for),
        cmocka_unit_test(a_client_of_h2_alone_is_told_so),
        cmocka_unit_test(http_1_1_is_chosen_among_protocols),
        cmocka_unit_test(http_without_tls_is_answered_in_its_own_words),
        cmocka_unit_test(bytes_that_are_no_tls_end_it),
        cmocka_unit_test(a_record_that_was_changed_on_its_way_ends_it),
        cmocka_unit_test(a_last_word_is_said_and_heard),
        cmocka_unit_test(bytes_before_the_last_word_of_a_client_are_heard),
        cmocka_unit_test(a_client_that_ends_within_the_handshake_has_gone),
        cmocka_unit_test(certificates_of_clients_are_checked),
        cmocka_unit_test(a_ticket_is_good_for_the_next_context_as_well),
        cmocka_unit_test(a_ticket_is_no_good_where_other_clients_are_trusted),
        cmocka_unit_test(a_client_that_makes_us_answer_and_reads_nothing_is_given_up),
        cmocka_unit_test(every_allocation_may_fail),
    };

    return cmocka_run_group_tests(tests, begin, end);
}
