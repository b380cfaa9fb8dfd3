/* tls_peer.c -- OpenSSL's own client between memory BIOs. */
#include "lib/tls_peer.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <string.h>
#include <unistd.h>

#include "lib/failing_malloc.h"
#include "lib/test.h"

/* ---- certificates */

static void add_extension(X509 *x, int nid, const char *text)
{
    X509_EXTENSION *e = X509V3_EXT_conf_nid(NULL, NULL, nid, text);

    assert_non_null(e);
    assert_int_equal(X509_add_ext(x, e, -1), 1);
    X509_EXTENSION_free(e);
}

struct made_cert cert_make(const struct cert_wish *wish)
{
    static long serial;
    struct made_cert m = {X509_new(),
                          wish->rsa_bits > 0 ? EVP_RSA_gen(wish->rsa_bits) : EVP_EC_gen("P-256")};
    bool is_usual = wish->from_s == 0 && wish->until_s == 0;
    const struct made_cert *by = wish->by != NULL ? wish->by : &m;

    assert_non_null(m.cert);
    assert_non_null(m.key);
    assert_int_equal(X509_set_version(m.cert, X509_VERSION_3), 1);
    assert_int_equal(ASN1_INTEGER_set(X509_get_serialNumber(m.cert), ++serial), 1);
    assert_non_null(X509_gmtime_adj(X509_getm_notBefore(m.cert), is_usual ? -3600 : wish->from_s));
    assert_non_null(
        X509_gmtime_adj(X509_getm_notAfter(m.cert), is_usual ? 365L * 86400 : wish->until_s));
    if (wish->cn != NULL)
        assert_int_equal(X509_NAME_add_entry_by_txt(X509_get_subject_name(m.cert), "CN",
                                                    MBSTRING_UTF8, (const unsigned char *)wish->cn,
                                                    -1, -1, 0),
                         1);
    assert_int_equal(X509_set_issuer_name(m.cert, X509_get_subject_name(by->cert)), 1);
    if (wish->san != NULL)
        add_extension(m.cert, NID_subject_alt_name, wish->san);
    if (wish->is_ca)
        add_extension(m.cert, NID_basic_constraints, "critical,CA:TRUE");
    assert_int_equal(X509_set_pubkey(m.cert, m.key), 1);
    assert_int_not_equal(X509_sign(m.cert, by->key, EVP_sha256()), 0);
    return m;
}

void cert_free(struct made_cert *c)
{
    X509_free(c->cert);
    EVP_PKEY_free(c->key);
    *c = (struct made_cert){NULL, NULL};
}

/* ---- files */

enum { MOST_FILES = 64, PATH_BYTES = 100 };

static char folder[32];
static char paths[MOST_FILES][PATH_BYTES];
static size_t n_paths;

void certs_begin(void)
{
    (void)snprintf(folder, sizeof(folder), "/tmp/test_tls.XXXXXX");
    assert_non_null(mkdtemp(folder));
    n_paths = 0;
}

void certs_forget(void)
{
    for (size_t i = 0; i < n_paths; i++)
        (void)unlink(paths[i]);
    assert_int_equal(rmdir(folder), 0);
}

/* The path of a file, the same for the same name. */
static const char *path_of(const char *name)
{
    char path[PATH_BYTES];

    (void)snprintf(path, sizeof(path), "%s/%s", folder, name);
    for (size_t i = 0; i < n_paths; i++) {
        if (strcmp(paths[i], path) == 0)
            return paths[i];
    }
    assert_true(n_paths < MOST_FILES);
    memcpy(paths[n_paths], path, sizeof(path));
    return paths[n_paths++];
}

/* A new file each time, as whoever renews certificates writes them. */
static FILE *open_new(const char *path)
{
    FILE *file;

    (void)unlink(path);
    file = fopen(path, "w");
    assert_non_null(file);
    return file;
}

const char *certs_text(const char *name, const char *text)
{
    const char *path = path_of(name);
    FILE *file = open_new(path);

    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
    return path;
}

const char *certs_write(const char *name, const struct made_cert *cert)
{
    const char *path = path_of(name);
    FILE *file = open_new(path);

    assert_int_equal(PEM_write_X509(file, cert->cert), 1);
    assert_int_equal(fclose(file), 0);
    return path;
}

const char *certs_write_key(const char *name, const struct made_cert *cert, const char *password)
{
    const char *path = path_of(name);
    FILE *file = open_new(path);
    const EVP_CIPHER *cipher = password == NULL ? NULL : EVP_aes_128_cbc();
    int len = password == NULL ? 0 : (int)strlen(password);

    assert_int_equal(PEM_write_PrivateKey(file, cert->key, cipher, (const unsigned char *)password,
                                          len, NULL, NULL),
                     1);
    assert_int_equal(fclose(file), 0);
    return path;
}

/* ---- a client */

void tls_peer_open(struct tls_peer *p, const struct tls_peer_wish *wish)
{
    char host[100];

    *p = (struct tls_peer){.ctx = SSL_CTX_new(TLS_client_method())};
    assert_non_null(p->ctx);
    SSL_CTX_set_security_level(p->ctx, 0); /* so that it offers what is refused */
    assert_int_equal(SSL_CTX_set_min_proto_version(p->ctx, wish->min_version), 1);
    assert_int_equal(SSL_CTX_set_max_proto_version(p->ctx, wish->max_version), 1);
    if (wish->own != NULL) {
        assert_int_equal(SSL_CTX_use_certificate(p->ctx, wish->own->cert), 1);
        assert_int_equal(SSL_CTX_use_PrivateKey(p->ctx, wish->own->key), 1);
    }
    p->ssl = SSL_new(p->ctx);
    p->in = BIO_new(BIO_s_mem());
    p->out = BIO_new(BIO_s_mem());
    assert_true(p->ssl != NULL && p->in != NULL && p->out != NULL);
    SSL_set_bio(p->ssl, p->in, p->out);
    if (wish->host != NULL) {
        (void)snprintf(host, sizeof(host), "%s", wish->host);
        assert_int_equal(SSL_set_tlsext_host_name(p->ssl, host), 1);
    }
    if (wish->protocols.len > 0)
        assert_int_equal(SSL_set_alpn_protos(p->ssl, (const unsigned char *)wish->protocols.p,
                                             (unsigned)wish->protocols.len),
                         0);
    if (wish->session != NULL)
        assert_int_equal(SSL_set_session(p->ssl, wish->session), 1);
    SSL_set_connect_state(p->ssl);
}

void tls_peer_close(struct tls_peer *p)
{
    SSL_free(p->ssl);
    SSL_CTX_free(p->ctx);
    buf_fini(&p->heard);
}

void tls_peer_say(struct tls_peer *p, str bytes)
{
    assert_int_equal(SSL_write(p->ssl, bytes.p, (int)bytes.len), (int)bytes.len);
}

/* Lets the client read what has come, and answer. */
static void run_client(struct tls_peer *p)
{
    char bytes[TLS_RECORD_BYTES];
    int n;

    if (p->has_failed)
        return;
    ERR_clear_error();
    while ((n = SSL_read(p->ssl, bytes, sizeof(bytes))) > 0)
        buf_append(&p->heard, str_from(bytes, (size_t)n));
    p->is_done = SSL_is_init_finished(p->ssl) == 1;
    n = SSL_get_error(p->ssl, n);
    p->is_ended = n == SSL_ERROR_ZERO_RETURN;
    p->has_failed = n == SSL_ERROR_SSL || n == SSL_ERROR_SYSCALL;
    ERR_clear_error();
}

struct feeding {
    struct tls_channel *channel;
    struct buf *plain;
};

static void feed_piece(void *arg, str piece)
{
    struct feeding *f = arg;
    char *out = sure_malloc(piece.len + TLS_RECORD_BYTES);
    size_t n;

    n = tls_channel_feed(f->channel, piece, out);
    assert_true(n <= piece.len + TLS_RECORD_BYTES);
    if (f->plain != NULL)
        buf_append(f->plain, str_from(out, n));
    free(out);
}

/* False when the client has said nothing. */
static bool carry_up(struct tls_peer *p, struct tls_channel *c, struct cutting cutting,
                     struct buf *plain)
{
    struct feeding f = {c, plain};
    char *bytes;
    long n = BIO_get_mem_data(p->out, &bytes);

    if (n <= 0)
        return false;
    if (cutting.piece == 0)
        cutting.first = cutting.first > p->n_sent ? cutting.first - p->n_sent : 0;
    feed_pieces(str_from(bytes, (size_t)n), cutting, feed_piece, &f);
    p->n_sent += (size_t)n;
    (void)BIO_reset(p->out);
    return true;
}

/* False when the channel owes nothing. */
static bool carry_down(struct tls_peer *p, struct tls_channel *c)
{
    str wire = tls_channel_wire(c);

    if (wire.len == 0)
        return false;
    assert_int_equal(BIO_write(p->in, wire.p, (int)wire.len), (int)wire.len);
    tls_channel_sent(c, wire.len);
    return true;
}

void tls_peer_talk(struct tls_peer *p, struct tls_channel *c, struct cutting cutting,
                   struct buf *ret_plain)
{
    bool goes_on = true;

    while (goes_on) {
        run_client(p);
        goes_on = carry_up(p, c, cutting, ret_plain);
        goes_on = carry_down(p, c) || goes_on;
    }
}

bool tls_peer_was_shown(const struct tls_peer *p, const struct made_cert *cert)
{
    const X509 *shown = SSL_get0_peer_certificate(p->ssl);

    return shown != NULL && X509_cmp(shown, cert->cert) == 0;
}
