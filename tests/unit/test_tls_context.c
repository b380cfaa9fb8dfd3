/* test_tls_context.c -- which certificate a client is shown, which files are refused, how long tickets
 * are good. */
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <string.h>

#include "lib/test.h"
#include "lib/tls_peer.h"
#include "tls/tls_tickets.h"

static struct tls_tickets *tickets;

static int begin(void **state)
{
    struct err e;

    (void)state;
    certs_begin();
    tickets = tls_tickets_new(&e);
    return tickets == NULL ? -1 : 0;
}

static int end(void **state)
{
    (void)state;
    certs_forget();
    tls_tickets_free(tickets);
    return 0;
}

/* ---- the name that a client asks for */

static void check_shown(struct tls_context *context, const char *host,
                        const struct made_cert *shown)
{
    struct tls_channel *c = tls_channel_new(context);
    struct tls_peer p;

    tls_peer_open(&p, &(struct tls_peer_wish){.host = host});
    tls_peer_talk(&p, c, UNCUT, NULL);
    assert_true(p.is_done);
    assert_true(tls_peer_was_shown(&p, shown));
    tls_peer_close(&p);
    tls_channel_free(c);
}

static void the_first_certificate_for_the_name_is_shown_else_the_first(void **state)
{
    struct made_cert first = cert_make(&(struct cert_wish){.cn = "1", .san = "DNS:a.example"});
    struct made_cert second = cert_make(
        &(struct cert_wish){.cn = "2", .san = "DNS:b.example,DNS:*.b.example", .rsa_bits = 2048});
    struct made_cert third = cert_make(&(struct cert_wish){.cn = "3", .san = "DNS:*.b.example"});
    const char *certs[] = {certs_write("1.crt", &first), certs_write("2.crt", &second),
                           certs_write("3.crt", &third)};
    const char *keys[] = {certs_write_key("1.key", &first, NULL),
                          certs_write_key("2.key", &second, NULL),
                          certs_write_key("3.key", &third, NULL)};
    const struct tls_conf conf = {.certs = certs, .keys = keys, .n_pairs = COUNT_OF(certs)};
    struct err e;
    struct tls_context *context = tls_context_new(&conf, tickets, &e);

    (void)state;
    assert_non_null(context);
    check_shown(context, NULL, &first);
    check_shown(context, "a.example", &first);
    check_shown(context, "A.Example", &first);
    check_shown(context, "b.example", &second);
    check_shown(context, "x.b.example", &second);
    check_shown(context, "y.x.b.example", &first);
    check_shown(context, "other.example", &first);
    assert_int_equal(tls_context_pairs(context), COUNT_OF(certs));
    assert_string_equal(tls_context_pair(context, 1)->name, "b.example");
    tls_context_unref(context);
    cert_free(&first);
    cert_free(&second);
    cert_free(&third);
}

static void the_chain_is_sent_behind_the_certificate(void **state)
{
    struct made_cert root = cert_make(&(struct cert_wish){.cn = "root", .is_ca = true});
    struct made_cert above =
        cert_make(&(struct cert_wish){.cn = "above", .is_ca = true, .by = &root});
    struct made_cert leaf =
        cert_make(&(struct cert_wish){.cn = "leaf", .san = "DNS:leaf.example", .by = &above});
    const char *key = certs_write_key("leaf.key", &leaf, NULL), *cert;
    struct buf text = {.limit = 0};
    BIO *memory = BIO_new(BIO_s_mem());
    char *bytes;
    long n;
    struct err e;
    struct tls_context *context;
    struct tls_channel *c;
    struct tls_peer p;

    (void)state;
    assert_int_equal(PEM_write_bio_X509(memory, leaf.cert), 1);
    assert_int_equal(PEM_write_bio_X509(memory, above.cert), 1);
    n = BIO_get_mem_data(memory, &bytes);
    buf_append(&text, str_from(bytes, (size_t)n));
    cert = certs_text("leaf.crt", buf_cstr(&text));
    context = tls_context_new(&(struct tls_conf){.certs = &cert, .keys = &key, .n_pairs = 1},
                              tickets, &e);
    assert_non_null(context);
    c = tls_channel_new(context);
    tls_peer_open(&p, &(struct tls_peer_wish){.host = NULL});
    tls_peer_talk(&p, c, UNCUT, NULL);
    assert_int_equal(sk_X509_num(SSL_get_peer_cert_chain(p.ssl)), 2);
    tls_peer_close(&p);
    tls_channel_free(c);
    tls_context_unref(context);
    BIO_free(memory);
    buf_fini(&text);
    cert_free(&root);
    cert_free(&above);
    cert_free(&leaf);
}

/* ---- files that cannot be used */

static void check_refused(const char *cert, const char *key, const char *client_ca,
                          const char *word)
{
    struct tls_conf conf = {.certs = &cert, .keys = &key, .n_pairs = 1, .client_ca = client_ca};
    struct err e = {.code = ERR_NONE};

    conf.auth = client_ca == NULL ? TLS_AUTH_OFF : TLS_AUTH_REQUIRE;
    assert_null(tls_context_new(&conf, tickets, &e));
    assert_int_not_equal(e.code, ERR_NONE);
    if (strstr(e.msg, word) == NULL)
        print_error("%s: %s\n", word, e.msg);
    assert_non_null(strstr(e.msg, word));
}

static void what_cannot_be_used_is_refused_with_the_reason(void **state)
{
    struct made_cert good = cert_make(&(struct cert_wish){.cn = "good"});
    struct made_cert other = cert_make(&(struct cert_wish){.cn = "other"});
    struct made_cert weak = cert_make(&(struct cert_wish){.cn = "weak", .rsa_bits = 1024});
    const char *cert = certs_write("good.crt", &good);
    const char *key = certs_write_key("good.key", &good, NULL);
    const char *text = certs_text("text", "no PEM\n");
    const char *broken = certs_text("broken.crt", "-----BEGIN CERTIFICATE-----\nAAAA\n"
                                                  "-----END CERTIFICATE-----\n");

    (void)state;
    check_refused("/nowhere/x.crt", key, NULL, "tls_cert /nowhere/x.crt: No such file");
    check_refused(cert, "/nowhere/x.key", NULL, "tls_key /nowhere/x.key: No such file");
    check_refused(text, key, NULL, "no certificate in PEM form");
    check_refused(broken, key, NULL, "no certificate in PEM form");
    check_refused(cert, text, NULL, "no private key in PEM form");
    check_refused(cert, cert, NULL, "no private key in PEM form");
    check_refused(cert, certs_write_key("locked.key", &good, "secret"), NULL, "is encrypted");
    check_refused(cert, certs_write_key("other.key", &other, NULL), NULL, "is not the key of");
    check_refused(certs_write("weak.crt", &weak), certs_write_key("weak.key", &weak, NULL), NULL,
                  "key too small");
    check_refused(cert, key, text, "tls_client_ca");
    check_refused(cert, key, "/nowhere/ca.crt",
                  "tls_client_ca /nowhere/ca.crt: No such file or directory");
    cert_free(&good);
    cert_free(&other);
    cert_free(&weak);
}

/* ---- what names the owner of a certificate */

static void check_owner(const struct cert_wish *wish, enum tls_owner kind, const char *expected)
{
    struct made_cert c = cert_make(wish);
    char owner[TLS_OWNER_BYTES] = "";

    assert_int_equal(tls_pair_owner(c.cert, kind, owner), expected[0] != '\0');
    assert_string_equal(owner, expected);
    cert_free(&c);
}

static void owners_are_visible_and_never_alike(void **state)
{
    char long_name[400];

    (void)state;
    check_owner(&(struct cert_wish){.cn = "alice"}, TLS_OWNER_CN, "cert:alice");
    check_owner(&(struct cert_wish){.cn = "Jane Doe"}, TLS_OWNER_CN, "cert:Jane%20Doe");
    check_owner(&(struct cert_wish){.cn = "Jane%20Doe"}, TLS_OWNER_CN, "cert:Jane%2520Doe");
    check_owner(&(struct cert_wish){.cn = "Zo\xc3\xab"}, TLS_OWNER_CN, "cert:Zo%c3%ab");
    check_owner(&(struct cert_wish){.cn = "x", .san = "IP:10.0.0.1,email:a@b.c,DNS:d"},
                TLS_OWNER_SAN, "cert:a@b.c");
    check_owner(&(struct cert_wish){.cn = "x", .san = "URI:spiffe://a/b"}, TLS_OWNER_SAN,
                "cert:spiffe://a/b");
    check_owner(&(struct cert_wish){.cn = "x"}, TLS_OWNER_SAN, "");
    check_owner(&(struct cert_wish){.san = "DNS:x"}, TLS_OWNER_CN, "");
    check_owner(&(struct cert_wish){.cn = "x"}, TLS_OWNER_NONE, "");
    (void)snprintf(long_name, sizeof(long_name), "URI:%0380d", 0);
    check_owner(&(struct cert_wish){.cn = "x", .san = long_name}, TLS_OWNER_SAN, "");
}

static void a_fingerprint_is_the_sha_256_of_the_certificate(void **state)
{
    struct made_cert c = cert_make(&(struct cert_wish){.cn = "x"});
    unsigned char digest[EVP_MAX_MD_SIZE];
    struct buf expected = {.limit = 0};
    char owner[TLS_OWNER_BYTES];
    unsigned n;

    (void)state;
    assert_int_equal(X509_digest(c.cert, EVP_sha256(), digest, &n), 1);
    buf_c(&expected, "cert:");
    buf_hex(&expected, digest, n);
    assert_true(tls_pair_owner(c.cert, TLS_OWNER_FINGERPRINT, owner));
    assert_string_equal(owner, buf_cstr(&expected));
    buf_fini(&expected);
    cert_free(&c);
}

/* ---- tickets */

struct ticket {
    unsigned char name[16], iv[16];
};

static int seal_ticket(int64_t now_s, struct ticket *ret)
{
    EVP_CIPHER_CTX *cipher = EVP_CIPHER_CTX_new();
    EVP_MAC *hmac = EVP_MAC_fetch(NULL, "HMAC", NULL);
    EVP_MAC_CTX *mac = EVP_MAC_CTX_new(hmac);
    int rc = tls_tickets_at(tickets, now_s, ret->name, ret->iv, cipher, mac, 1);

    EVP_CIPHER_CTX_free(cipher);
    EVP_MAC_CTX_free(mac);
    EVP_MAC_free(hmac);
    return rc;
}

static int open_ticket(int64_t now_s, struct ticket t)
{
    EVP_CIPHER_CTX *cipher = EVP_CIPHER_CTX_new();
    EVP_MAC *hmac = EVP_MAC_fetch(NULL, "HMAC", NULL);
    EVP_MAC_CTX *mac = EVP_MAC_CTX_new(hmac);
    int rc = tls_tickets_at(tickets, now_s, t.name, t.iv, cipher, mac, 0);

    EVP_CIPHER_CTX_free(cipher);
    EVP_MAC_CTX_free(mac);
    EVP_MAC_free(hmac);
    return rc;
}

/* A key seals for six hours, opens for six more, and is gone. */
static void a_ticket_key_lives_twelve_hours(void **state)
{
    enum { NO_KEY = 0, GOOD = 1, RENEW = 2, HOUR_S = 3600 };
    const int64_t start = 1000000;
    struct ticket first, second, never = {{0}, {0}};

    (void)state;
    assert_int_equal(open_ticket(start, never), NO_KEY);
    assert_int_equal(seal_ticket(start, &first), GOOD);
    assert_int_equal(open_ticket(start + 6 * HOUR_S - 1, first), GOOD);
    assert_int_equal(open_ticket(start + 6 * HOUR_S, first), RENEW);
    assert_int_equal(seal_ticket(start + 6 * HOUR_S, &second), GOOD);
    assert_memory_not_equal(first.name, second.name, sizeof(first.name));
    assert_int_equal(open_ticket(start + 12 * HOUR_S - 1, first), RENEW);
    assert_int_equal(open_ticket(start + 12 * HOUR_S, first), NO_KEY);
    assert_int_equal(open_ticket(start + 12 * HOUR_S, second), RENEW);
    assert_int_equal(open_ticket(start + 100 * HOUR_S, second), NO_KEY);
    assert_int_equal(seal_ticket(start + 200 * HOUR_S, &first), GOOD);
    assert_int_equal(open_ticket(start, first), NO_KEY); /* the clock was set back */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_certificate_for_the_name_is_shown_else_the_first),
        cmocka_unit_test(the_chain_is_sent_behind_the_certificate),
        cmocka_unit_test(what_cannot_be_used_is_refused_with_the_reason),
        cmocka_unit_test(owners_are_visible_and_never_alike),
        cmocka_unit_test(a_fingerprint_is_the_sha_256_of_the_certificate),
        cmocka_unit_test(a_ticket_key_lives_twelve_hours),
    };

    return cmocka_run_group_tests(tests, begin, end);
}
