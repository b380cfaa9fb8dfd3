/* tls_context.c -- one SSL_CTX, and the callbacks that choose.
 *
 * There is one for all certificates: the callback that OpenSSL asks for a certificate, when it knows
 * the name that the client wants, gives the session one of them. So every rule is written down once,
 * and no session can end up with those of another context. */
#include "tls/tls_context.h"

#include <errno.h>
#include <openssl/err.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SECURITY_LEVEL = 2 };

struct tls_context {
    atomic_uint n_references;
    SSL_CTX *ssl;
    struct tls_tickets *tickets;
    enum tls_owner owner;
    size_t n_pairs;
    struct tls_pair pairs[];
};

/* ---- callbacks: 1 goes on with the handshake */

static int on_certificate_wanted(SSL *ssl, void *arg)
{
    const struct tls_context *c = arg;
    const char *host = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name);
    const struct tls_pair *p = &c->pairs[0];

    for (size_t i = 0; host != NULL && i < c->n_pairs; i++) {
        if (tls_pair_is_for(&c->pairs[i], host)) {
            p = &c->pairs[i];
            break;
        }
    }
    return SSL_use_cert_and_key(ssl, p->leaf, p->key, p->chain, 1);
}

/* Takes http/1.1 out of the client's list; a client that has other protocols only is told so by an
 * alert, no_application_protocol. */
static int on_protocols(SSL *ssl, const unsigned char **ret, unsigned char *ret_len,
                        const unsigned char *list, unsigned list_len, void *arg)
{
    static const char wanted[] = "http/1.1";
    unsigned len;

    (void)ssl;
    (void)arg;
    for (unsigned at = 0; at < list_len; at += 1 + len) {
        len = list[at];
        if (len == sizeof(wanted) - 1 && at + 1 + len <= list_len &&
            memcmp(list + at + 1, wanted, len) == 0) {
            *ret = list + at + 1;
            *ret_len = (unsigned char)len;
            return SSL_TLSEXT_ERR_OK;
        }
    }
    return SSL_TLSEXT_ERR_ALERT_FATAL;
}

/* A certificate that is to be the key, but names nobody, is refused like one that nobody knows. */
static int on_client_verified(int is_good, X509_STORE_CTX *verified)
{
    SSL *ssl = X509_STORE_CTX_get_ex_data(verified, SSL_get_ex_data_X509_STORE_CTX_idx());
    const struct tls_context *c = SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl));
    char owner[TLS_OWNER_BYTES];

    if (is_good == 0 || c->owner == TLS_OWNER_NONE || X509_STORE_CTX_get_error_depth(verified) != 0)
        return is_good;
    if (tls_pair_owner(X509_STORE_CTX_get_current_cert(verified), c->owner, owner))
        return 1;
    X509_STORE_CTX_set_error(verified, X509_V_ERR_APPLICATION_VERIFICATION);
    return 0;
}

static int on_ticket(SSL *ssl, unsigned char *name, unsigned char *iv, EVP_CIPHER_CTX *cipher,
                     EVP_MAC_CTX *mac, int seals)
{
    const struct tls_context *c = SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl));

    return tls_tickets_at(c->tickets, (int64_t)time(NULL), name, iv, cipher, mac, seals);
}

/* ---- making one */

/* Would OpenSSL use the pair, at its level of security? A key may be too short for that. */
static int check_use(const struct tls_pair *p, const char *path, struct err *reterr)
{
    SSL_CTX *trial = SSL_CTX_new(TLS_server_method());
    const char *reason;
    int rc;

    if (trial == NULL)
        return err_set_no_memory(reterr);
    SSL_CTX_set_security_level(trial, SECURITY_LEVEL);
    rc = SSL_CTX_use_cert_and_key(trial, p->leaf, p->key, p->chain, 1) == 1 ? 0 : -1;
    reason = ERR_reason_error_string(ERR_peek_last_error());
    if (rc == -1)
        err_set(reterr, ERR_INTERNAL, "tls_cert %s: cannot be used: %s", path,
                reason == NULL ? "no reason given" : reason);
    SSL_CTX_free(trial);
    return rc;
}

static int load_pairs(struct tls_context *c, const struct tls_conf *conf, struct err *reterr)
{
    for (; c->n_pairs < conf->n_pairs; c->n_pairs++) {
        if (tls_pair_load(&c->pairs[c->n_pairs], conf->certs[c->n_pairs], conf->keys[c->n_pairs],
                          reterr) == -1)
            return -1;
        if (check_use(&c->pairs[c->n_pairs], conf->certs[c->n_pairs], reterr) == -1) {
            tls_pair_fini(&c->pairs[c->n_pairs]);
            return -1;
        }
    }
    return 0;
}

/* A ticket is good only where the same certificates of clients are: its session holds the one that
 * was checked when it was made. */
static int set_session_place(SSL_CTX *ssl, const struct tls_conf *conf)
{
    EVP_MD_CTX *digest = EVP_MD_CTX_new();
    unsigned char out[EVP_MAX_MD_SIZE];
    unsigned n = 0;
    bool is_good = digest != NULL && EVP_DigestInit_ex(digest, EVP_sha256(), NULL) == 1 &&
                   EVP_DigestUpdate(digest, &conf->auth, sizeof(conf->auth)) == 1;
    STACK_OF(X509_OBJECT) *trusted = X509_STORE_get0_objects(SSL_CTX_get_cert_store(ssl));

    for (int i = 0; is_good && i < sk_X509_OBJECT_num(trusted); i++) {
        X509 *cert = X509_OBJECT_get0_X509(sk_X509_OBJECT_value(trusted, i));

        if (cert != NULL)
            is_good = X509_digest(cert, EVP_sha256(), out, &n) == 1 &&
                      EVP_DigestUpdate(digest, out, n) == 1;
    }
    is_good = is_good && EVP_DigestFinal_ex(digest, out, &n) == 1 &&
              SSL_CTX_set_session_id_context(ssl, out, n) == 1;
    EVP_MD_CTX_free(digest);
    return is_good ? 0 : -1;
}

/* OpenSSL's words for a file that cannot be opened say nothing. */
static int check_file(const char *path, struct err *reterr)
{
    FILE *file = fopen(path, "re");

    if (file == NULL) {
        err_set(reterr, ERR_INTERNAL, "tls_client_ca %s: %s", path, strerror(errno));
        return -1;
    }
    (void)fclose(file);
    return 0;
}

static int set_client_rules(struct tls_context *c, const struct tls_conf *conf, struct err *reterr)
{
    STACK_OF(X509_NAME) * names;
    int mode = SSL_VERIFY_PEER;

    if (conf->auth == TLS_AUTH_OFF)
        return 0;
    if (check_file(conf->client_ca, reterr) == -1)
        return -1;
    if (SSL_CTX_load_verify_file(c->ssl, conf->client_ca) != 1 ||
        (names = SSL_load_client_CA_file(conf->client_ca)) == NULL) {
        const char *reason = ERR_reason_error_string(ERR_peek_last_error());

        err_set(reterr, ERR_INTERNAL, "tls_client_ca %s: no certificates in PEM form: %s",
                conf->client_ca, reason == NULL ? "it cannot be read" : reason);
        ERR_clear_error();
        return -1;
    }
    SSL_CTX_set_client_CA_list(c->ssl, names);
    if (conf->auth == TLS_AUTH_REQUIRE)
        mode |= SSL_VERIFY_FAIL_IF_NO_PEER_CERT;
    SSL_CTX_set_verify(c->ssl, mode, on_client_verified);
    return 0;
}

static int set_rules(struct tls_context *c, const struct tls_conf *conf, struct err *reterr)
{
    SSL_CTX *ssl = c->ssl;

    (void)SSL_CTX_set_options(ssl, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
    /* An idle connection keeps no buffers: most are idle, most of the time. */
    (void)SSL_CTX_set_mode(ssl, SSL_MODE_RELEASE_BUFFERS);
    (void)SSL_CTX_set_session_cache_mode(ssl, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_security_level(ssl, SECURITY_LEVEL);
    SSL_CTX_set_cert_cb(ssl, on_certificate_wanted, c);
    SSL_CTX_set_alpn_select_cb(ssl, on_protocols, NULL);
    SSL_CTX_set_app_data(ssl, c);
    (void)SSL_CTX_set_tlsext_ticket_key_evp_cb(ssl, on_ticket);
    if (SSL_CTX_set_min_proto_version(ssl, conf->only_1_3 ? TLS1_3_VERSION : TLS1_2_VERSION) != 1)
        return err_set_no_memory(reterr);
    if (set_client_rules(c, conf, reterr) == -1)
        return -1;
    return set_session_place(ssl, conf) == 0 ? 0 : err_set_no_memory(reterr);
}

struct tls_context *tls_context_new(const struct tls_conf *conf, struct tls_tickets *tickets,
                                    struct err *reterr)
{
    struct tls_context *c = calloc(1, sizeof(*c) + conf->n_pairs * sizeof(c->pairs[0]));

    if (c == NULL) {
        err_set_no_memory(reterr);
        return NULL;
    }
    atomic_init(&c->n_references, 1);
    c->owner = conf->owner;
    c->tickets = tickets;
    c->ssl = SSL_CTX_new(TLS_server_method());
    if (c->ssl == NULL)
        err_set_no_memory(reterr);
    else if (load_pairs(c, conf, reterr) == 0 && set_rules(c, conf, reterr) == 0)
        return c;
    ERR_clear_error();
    tls_context_unref(c);
    return NULL;
}

struct tls_context *tls_context_ref(struct tls_context *c)
{
    atomic_fetch_add(&c->n_references, 1);
    return c;
}

void tls_context_unref(struct tls_context *c)
{
    if (c == NULL || atomic_fetch_sub(&c->n_references, 1) != 1)
        return;
    SSL_CTX_free(c->ssl);
    for (size_t i = 0; i < c->n_pairs; i++)
        tls_pair_fini(&c->pairs[i]);
    free(c);
}

size_t tls_context_pairs(const struct tls_context *c)
{
    return c->n_pairs;
}

const struct tls_pair *tls_context_pair(const struct tls_context *c, size_t i)
{
    return &c->pairs[i];
}

enum tls_owner tls_context_owner(const struct tls_context *c)
{
    return c->owner;
}

SSL_CTX *tls_context_ssl(const struct tls_context *c)
{
    return c->ssl;
}
