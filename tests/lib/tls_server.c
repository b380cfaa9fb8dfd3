/* tls_server.c -- accept, handshake, and an answer for every head that comes. */
#include "lib/tls_server.h"

#include <arpa/inet.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "lib/test.h"

enum { CERTIFICATE_SECONDS = 3600 };

struct tls_server {
    SSL_CTX *tls;
    const char *answer;
    char ca_file[32];
    int listen_fd, port;
    int stop[2]; /* a pipe: closing its writing end stops the thread */
    pthread_t thread;
    pthread_mutex_t lock; /* guards what follows */
    struct buf heard;
    unsigned n_connections;
};

/* --- the thread ------------------------------------------------------------------- */

/* False when the server is to stop. */
static bool wait_for(const struct tls_server *s, int fd)
{
    struct pollfd fds[2] = {{.fd = fd, .events = POLLIN}, {.fd = s->stop[0], .events = POLLIN}};

    return poll(fds, 2, -1) > 0 && fds[1].revents == 0;
}

static void hear(struct tls_server *s, const char *p, size_t n)
{
    (void)pthread_mutex_lock(&s->lock);
    buf_append(&s->heard, str_from(p, n));
    (void)pthread_mutex_unlock(&s->lock);
}

/* Until the client leaves or the server is to stop. */
static void serve_requests(struct tls_server *s, SSL *ssl, int fd)
{
    char bytes[4096];
    int n;

    while (SSL_pending(ssl) > 0 || wait_for(s, fd)) {
        n = SSL_read(ssl, bytes, sizeof(bytes));
        if (n <= 0)
            return;
        hear(s, bytes, (size_t)n);
        if (memmem(bytes, (size_t)n, "\r\n\r\n", 4) != NULL &&
            SSL_write(ssl, s->answer, (int)strlen(s->answer)) <= 0)
            return;
    }
}

static void serve_connection(struct tls_server *s, int fd)
{
    SSL *ssl = SSL_new(s->tls);
    const char *name;

    (void)pthread_mutex_lock(&s->lock);
    s->n_connections++;
    (void)pthread_mutex_unlock(&s->lock);
    if (ssl != NULL && SSL_set_fd(ssl, fd) == 1 && SSL_accept(ssl) == 1) {
        name = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name);
        hear(s, "SNI ", 4);
        hear(s, name == NULL ? "-" : name, name == NULL ? 1 : strlen(name));
        hear(s, "\n", 1);
        serve_requests(s, ssl, fd);
    }
    SSL_free(ssl);
    (void)close(fd);
}

static void *run(void *arg)
{
    struct tls_server *s = arg;

    while (wait_for(s, s->listen_fd)) {
        int fd = accept(s->listen_fd, NULL, NULL);

        if (fd != -1)
            serve_connection(s, fd);
    }
    return NULL;
}

/* --- certificate and socket --------------------------------------------------------- */

static X509 *make_certificate(EVP_PKEY *key, const char *name)
{
    X509 *x = X509_new();
    X509_EXTENSION *names;
    char text[100];

    assert_non_null(x);
    (void)snprintf(text, sizeof(text), "DNS:%s", name);
    names = X509V3_EXT_conf_nid(NULL, NULL, NID_subject_alt_name, text);
    assert_non_null(names);
    assert_int_equal(X509_set_version(x, X509_VERSION_3), 1);
    assert_int_equal(ASN1_INTEGER_set(X509_get_serialNumber(x), 1), 1);
    assert_non_null(X509_gmtime_adj(X509_getm_notBefore(x), -CERTIFICATE_SECONDS));
    assert_non_null(X509_gmtime_adj(X509_getm_notAfter(x), CERTIFICATE_SECONDS));
    assert_int_equal(X509_NAME_add_entry_by_txt(X509_get_subject_name(x), "CN", MBSTRING_ASC,
                                                (const unsigned char *)"test", -1, -1, 0),
                     1);
    assert_int_equal(X509_set_issuer_name(x, X509_get_subject_name(x)), 1);
    assert_int_equal(X509_add_ext(x, names, -1), 1);
    assert_int_equal(X509_set_pubkey(x, key), 1);
    assert_int_not_equal(X509_sign(x, key, EVP_sha256()), 0);
    X509_EXTENSION_free(names);
    return x;
}

static void write_ca_file(struct tls_server *s, X509 *certificate)
{
    FILE *file;
    int fd;

    (void)snprintf(s->ca_file, sizeof(s->ca_file), "/tmp/test_tls.XXXXXX");
    fd = mkstemp(s->ca_file);
    assert_int_not_equal(fd, -1);
    file = fdopen(fd, "w");
    assert_non_null(file);
    assert_int_equal(PEM_write_X509(file, certificate), 1);
    assert_int_equal(fclose(file), 0);
}

static void setup_tls(struct tls_server *s, const char *name)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *certificate;

    assert_non_null(key);
    certificate = make_certificate(key, name);
    s->tls = SSL_CTX_new(TLS_server_method());
    assert_non_null(s->tls);
    assert_int_equal(SSL_CTX_use_certificate(s->tls, certificate), 1);
    assert_int_equal(SSL_CTX_use_PrivateKey(s->tls, key), 1);
    write_ca_file(s, certificate);
    X509_free(certificate);
    EVP_PKEY_free(key);
}

static void setup_socket(struct tls_server *s, const char *ip)
{
    struct sockaddr_in at = {.sin_family = AF_INET};
    socklen_t len = sizeof(at);

    s->listen_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(inet_pton(AF_INET, ip, &at.sin_addr), 1);
    assert_int_equal(bind(s->listen_fd, (const struct sockaddr *)&at, sizeof(at)), 0);
    assert_int_equal(listen(s->listen_fd, 10), 0);
    assert_int_equal(getsockname(s->listen_fd, (struct sockaddr *)&at, &len), 0);
    s->port = ntohs(at.sin_port);
}

struct tls_server *tls_server_open(const char *ip, const char *name, const char *answer)
{
    struct tls_server *s = calloc(1, sizeof(*s));

    assert_non_null(s);
    s->answer = answer;
    setup_tls(s, name);
    setup_socket(s, ip);
    assert_int_equal(pipe(s->stop), 0);
    assert_int_equal(pthread_mutex_init(&s->lock, NULL), 0);
    assert_int_equal(pthread_create(&s->thread, NULL, run, s), 0);
    return s;
}

void tls_server_close(struct tls_server *s)
{
    if (s == NULL)
        return;
    (void)close(s->stop[1]);
    (void)pthread_join(s->thread, NULL);
    (void)pthread_mutex_destroy(&s->lock);
    (void)close(s->stop[0]);
    (void)close(s->listen_fd);
    (void)unlink(s->ca_file);
    SSL_CTX_free(s->tls);
    buf_fini(&s->heard);
    free(s);
}

/* --- what tests ask ------------------------------------------------------------------ */

int tls_server_port(const struct tls_server *s)
{
    return s->port;
}

const char *tls_server_ca_file(const struct tls_server *s)
{
    return s->ca_file;
}

unsigned tls_server_connections(struct tls_server *s)
{
    unsigned n;

    (void)pthread_mutex_lock(&s->lock);
    n = s->n_connections;
    (void)pthread_mutex_unlock(&s->lock);
    return n;
}

bool tls_server_heard(struct tls_server *s, const char *text)
{
    bool heard;

    (void)pthread_mutex_lock(&s->lock);
    heard = str_find(buf_str(&s->heard), str_from_c(text)) < s->heard.len;
    (void)pthread_mutex_unlock(&s->lock);
    return heard;
}
