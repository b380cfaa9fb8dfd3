/* fuzz_tls_channel.c -- any bytes in place of a client's: nothing plain comes out without a handshake, a
 * channel that has failed stays so, and how the bytes are cut does not matter.
 *
 * The seeds are hellos of clients. No input finishes a handshake: that takes our random numbers. */
#include "fuzz/fuzz.h"

#include <openssl/pem.h>
#include <string.h>
#include <unistd.h>

#include "lib/fixture.h"
#include "tls/tls_channel.h"

static struct tls_context *context;

static void write_pem(const char *path, X509 *cert, EVP_PKEY *key)
{
    FILE *file = fopen(path, "w");

    fuzz_promise(file != NULL, "a file in /tmp");
    if (cert != NULL)
        (void)PEM_write_X509(file, cert);
    else
        (void)PEM_write_PrivateKey(file, key, NULL, NULL, 0, NULL, NULL);
    (void)fclose(file);
}

static void make_context(void)
{
    char cert_path[64], key_path[64];
    const char *cert_file = cert_path, *key_file = key_path;
    const struct tls_conf conf = {.certs = &cert_file, .keys = &key_file, .n_pairs = 1};
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *cert = X509_new();
    struct err e;

    (void)snprintf(cert_path, sizeof(cert_path), "/tmp/fuzz_tls.%d.crt", (int)getpid());
    (void)snprintf(key_path, sizeof(key_path), "/tmp/fuzz_tls.%d.key", (int)getpid());
    (void)X509_gmtime_adj(X509_getm_notBefore(cert), -3600);
    (void)X509_gmtime_adj(X509_getm_notAfter(cert), 3600);
    (void)X509_set_pubkey(cert, key);
    (void)X509_sign(cert, key, EVP_sha256());
    write_pem(cert_file, cert, NULL);
    write_pem(key_file, NULL, key);
    context = tls_context_new(&conf, tls_tickets_new(&e), &e);
    (void)unlink(cert_file);
    (void)unlink(key_file);
    X509_free(cert);
    EVP_PKEY_free(key);
    fuzz_promise(context != NULL, "a context");
}

static void feed_piece(void *arg, str piece)
{
    struct tls_channel *c = arg;
    enum tls_state before = tls_channel_state(c);
    char *out = malloc(piece.len + TLS_RECORD_BYTES);
    size_t n = tls_channel_feed(c, piece, out);

    fuzz_promise(n == 0, "nothing plain comes out");
    fuzz_promise(tls_channel_state(c) != TLS_OPEN, "no handshake");
    fuzz_promise(before != TLS_FAILED || tls_channel_state(c) == TLS_FAILED, "failed stays failed");
    fuzz_promise(tls_channel_state(c) != TLS_FAILED || tls_channel_result(c) != TLS_OK,
                 "a failure has a reason");
    free(out);
}

static enum tls_result outcome(str bytes, struct cutting cutting)
{
    struct tls_channel *c = tls_channel_new(context);
    enum tls_result result;

    feed_pieces(bytes, cutting, feed_piece, c);
    result = tls_channel_state(c) == TLS_FAILED ? tls_channel_result(c) : TLS_OK;
    tls_channel_free(c);
    return result;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    str input = fuzz_input(bytes, n);
    enum tls_result whole;

    if (context == NULL)
        make_context();
    whole = outcome(input, UNCUT);
    fuzz_promise(outcome(input, CUT_AT(n / 2)) == whole, "a cut changes nothing");
    fuzz_promise(outcome(input, BYTE_BY_BYTE) == whole, "bytes alone change nothing");
    return 0;
}
