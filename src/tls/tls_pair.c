/* tls_pair.c -- PEM files, and what is read out of certificates. */
#include "tls/tls_pair.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"

/* ---- reading the files */

/* What OpenSSL says of the last failure, in words; its queue is empty afterwards. */
static const char *last_reason(void)
{
    const char *reason = ERR_reason_error_string(ERR_peek_last_error());

    ERR_clear_error();
    return reason == NULL ? "no reason given" : reason;
}

static BIO *open_file(const char *what, const char *path, struct err *reterr)
{
    BIO *file;

    errno = 0;
    file = BIO_new_file(path, "r");
    if (file == NULL)
        err_set(reterr, ERR_INTERNAL, "%s %s: %s", what, path,
                errno != 0 ? strerror(errno) : "cannot be read");
    ERR_clear_error();
    return file;
}

/* Reading on has found the end of the file, and nothing that is wrong. */
static bool is_end_of_pem(void)
{
    unsigned long e = ERR_peek_last_error();
    bool is_end = ERR_GET_LIB(e) == ERR_LIB_PEM && ERR_GET_REASON(e) == PEM_R_NO_START_LINE;

    if (is_end)
        ERR_clear_error();
    return is_end;
}

static int read_chain(struct tls_pair *p, BIO *file, const char *path, struct err *reterr)
{
    X509 *above;

    p->leaf = PEM_read_bio_X509_AUX(file, NULL, NULL, NULL);
    p->chain = sk_X509_new_null();
    if (p->leaf == NULL || p->chain == NULL) {
        err_set(reterr, ERR_INTERNAL, "tls_cert %s: no certificate in PEM form: %s", path,
                last_reason());
        return -1;
    }
    while ((above = PEM_read_bio_X509(file, NULL, NULL, NULL)) != NULL) {
        if (sk_X509_push(p->chain, above) == 0) {
            X509_free(above);
            return err_set_no_memory(reterr);
        }
    }
    if (is_end_of_pem())
        return 0;
    err_set(reterr, ERR_INTERNAL, "tls_cert %s: certificate %d is broken: %s", path,
            sk_X509_num(p->chain) + 2, last_reason());
    return -1;
}

/* A key with a password is refused: there is nobody to ask for it. */
static int no_password(char *out, int size, int writes, void *arg)
{
    (void)out;
    (void)size;
    (void)writes;
    *(bool *)arg = true;
    return -1;
}

static int read_key(struct tls_pair *p, BIO *file, const char *path, struct err *reterr)
{
    bool is_encrypted = false;

    p->key = PEM_read_bio_PrivateKey(file, NULL, no_password, &is_encrypted);
    if (p->key != NULL)
        return 0;
    if (is_encrypted)
        err_set(reterr, ERR_INTERNAL,
                "tls_key %s: is encrypted: write it without a password (openssl pkey -in %s)", path,
                path);
    else
        err_set(reterr, ERR_INTERNAL, "tls_key %s: no private key in PEM form: %s", path,
                last_reason());
    ERR_clear_error();
    return -1;
}

/* ---- what the certificate says */

static bool unix_time(const ASN1_TIME *t, int64_t *ret)
{
    struct tm parts;

    if (ASN1_TIME_to_tm(t, &parts) != 1)
        return false;
    *ret = (int64_t)timegm(&parts);
    return true;
}

static str asn1_text(const ASN1_STRING *s)
{
    return str_from((const char *)ASN1_STRING_get0_data(s), (size_t)ASN1_STRING_length(s));
}

/* Subject names are ordered from the country down: the last is the one that is meant. Its text is
 * in UTF-8, and *ret_memory is freed with OPENSSL_free(). */
static str common_name(const X509 *cert, unsigned char **ret_memory)
{
    const X509_NAME *subject = X509_get_subject_name(cert);
    int at = -1, next, n;

    while ((next = X509_NAME_get_index_by_NID(subject, NID_commonName, at)) >= 0)
        at = next;
    if (at == -1)
        return STR_NONE;
    n = ASN1_STRING_to_UTF8(ret_memory, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at)));
    return n < 0 ? STR_NONE : str_from((const char *)*ret_memory, (size_t)n);
}

/* The first alternative name that is a text: of a host, a mailbox, a URI. */
static str alternative_name(const GENERAL_NAMES *names)
{
    for (int i = 0; i < sk_GENERAL_NAME_num(names); i++) {
        const GENERAL_NAME *name = sk_GENERAL_NAME_value(names, i);

        if (name->type == GEN_DNS || name->type == GEN_EMAIL || name->type == GEN_URI)
            return asn1_text(name->d.ia5);
    }
    return STR_NONE;
}

/* Appends the value with everything encoded that is no visible ASCII. */
static void write_visible(str value, struct buf *out)
{
    for (size_t i = 0; i < value.len; i++) {
        unsigned char c = (unsigned char)value.p[i];

        if (c > ' ' && c < 127 && c != '%') {
            buf_char(out, (char)c);
        } else {
            buf_char(out, '%');
            buf_hex(out, &c, 1);
        }
    }
}

static void write_name(struct tls_pair *p)
{
    struct buf visible = {.limit = 0};
    GENERAL_NAMES *names = X509_get_ext_d2i(p->leaf, NID_subject_alt_name, NULL, NULL);
    unsigned char *memory = NULL;
    str name = alternative_name(names);

    if (str_is_none(name))
        name = common_name(p->leaf, &memory);
    write_visible(name, &visible);
    (void)snprintf(p->name, sizeof(p->name), "%s", buf_cstr(&visible));
    buf_fini(&visible);
    OPENSSL_free(memory);
    GENERAL_NAMES_free(names);
}

static int check_pair(struct tls_pair *p, const char *cert_path, const char *key_path,
                      struct err *reterr)
{
    if (X509_check_private_key(p->leaf, p->key) != 1) {
        ERR_clear_error();
        err_set(reterr, ERR_INTERNAL,
                "tls_key %s: is not the key of the first certificate in %s: give the key that "
                "belongs to it",
                key_path, cert_path);
        return -1;
    }
    if (!unix_time(X509_get0_notBefore(p->leaf), &p->from_s) ||
        !unix_time(X509_get0_notAfter(p->leaf), &p->until_s)) {
        err_set(reterr, ERR_INTERNAL, "tls_cert %s: its time of validity cannot be read",
                cert_path);
        return -1;
    }
    return 0;
}

int tls_pair_load(struct tls_pair *ret, const char *cert_path, const char *key_path,
                  struct err *reterr)
{
    BIO *cert = open_file("tls_cert", cert_path, reterr), *key = NULL;
    struct tls_pair p = {.leaf = NULL};
    int rc = -1;

    if (cert != NULL)
        key = open_file("tls_key", key_path, reterr);
    if (key != NULL && read_chain(&p, cert, cert_path, reterr) == 0 &&
        read_key(&p, key, key_path, reterr) == 0)
        rc = check_pair(&p, cert_path, key_path, reterr);
    BIO_free(cert);
    BIO_free(key);
    if (rc == 0) {
        write_name(&p);
        *ret = p;
    } else {
        tls_pair_fini(&p);
    }
    return rc;
}

void tls_pair_fini(struct tls_pair *p)
{
    X509_free(p->leaf);
    EVP_PKEY_free(p->key);
    sk_X509_pop_free(p->chain, X509_free);
    p->leaf = NULL;
    p->key = NULL;
    p->chain = NULL;
}

bool tls_pair_is_for(const struct tls_pair *p, const char *host)
{
    return X509_check_host(p->leaf, host, strlen(host), 0, NULL) == 1;
}

/* ---- whose certificate it is */

static void write_fingerprint(const X509 *cert, struct buf *out)
{
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned n = 0;

    if (X509_digest(cert, EVP_sha256(), digest, &n) == 1)
        buf_hex(out, digest, n);
}

static void write_owner(const X509 *cert, enum tls_owner kind, struct buf *out)
{
    GENERAL_NAMES *names = NULL;
    unsigned char *memory = NULL;

    if (kind == TLS_OWNER_FINGERPRINT) {
        write_fingerprint(cert, out);
    } else if (kind == TLS_OWNER_CN) {
        write_visible(common_name(cert, &memory), out);
    } else if (kind == TLS_OWNER_SAN) {
        names = X509_get_ext_d2i(cert, NID_subject_alt_name, NULL, NULL);
        write_visible(alternative_name(names), out);
    }
    OPENSSL_free(memory);
    GENERAL_NAMES_free(names);
}

bool tls_pair_owner(const X509 *cert, enum tls_owner kind, char out[TLS_OWNER_BYTES])
{
    struct buf value = {.limit = TLS_OWNER_BYTES - sizeof("cert:")};
    bool is_good;

    write_owner(cert, kind, &value);
    is_good = !buf_failed(&value) && value.len > 0;
    if (is_good)
        (void)snprintf(out, TLS_OWNER_BYTES, "cert:%.*s", STR_ARG(buf_str(&value)));
    buf_fini(&value);
    ERR_clear_error();
    return is_good;
}
