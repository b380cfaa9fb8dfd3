/* tls_channel.c -- an SSL object between two pieces of memory.
 *
 * The channel's BIO is our own: it reads from the bytes that are just being fed and writes to a buf, so
 * that nothing is copied on the way and nothing is kept when there is nothing to keep. */
#include "tls/tls_channel.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <uv.h>

#include "base/budget.h"
#include "metrics/metrics.h"

enum {
    KEEP_WIRE_BYTES = 2048, /* memory that an idle channel may keep for what it sends */
    /* A peer that makes us answer, and takes no answers, is given up. Sealing stops at a record, so
     * only answers get there. */
    MOST_WIRE_BYTES = 256 * 1024,
};

struct tls_channel {
    struct tls_context *context;
    SSL *ssl;
    str in;           /* what is being fed and not yet read */
    struct buf wire;  /* owed to the peer ... */
    size_t wire_sent; /* ... but for these first ones */
    enum tls_state state;
    enum tls_result result;
    bool has_begun, has_ended;   /* has_ended: we have said that we end */
    char owner[TLS_OWNER_BYTES]; /* or "" */
};

const char *tls_result_word(enum tls_result result)
{
    static const char *const words[] = {
#define RESULT(symbol, word) word,
#include "tls/tls_result.def"
#undef RESULT
    };

    return words[result];
}

#define RESULT(symbol, word)                                                                       \
    _Static_assert((int)TLS_##symbol == (int)METRIC_HANDSHAKE_##symbol, word);
#include "tls/tls_result.def"
#undef RESULT

void tls_result_count(enum tls_result result)
{
    metrics_count(METRIC_TLS_HANDSHAKES, (unsigned)result);
}

/* ---- the BIO */

static int bio_read(BIO *bio, char *out, int size)
{
    struct tls_channel *c = BIO_get_data(bio);
    size_t n = c->in.len < (size_t)size ? c->in.len : (size_t)size;

    BIO_clear_retry_flags(bio);
    if (n == 0) {
        BIO_set_retry_read(bio);
        return -1;
    }
    memcpy(out, c->in.p, n);
    c->in = str_skip(c->in, n);
    return (int)n;
}

static int bio_write(BIO *bio, const char *p, int n)
{
    struct tls_channel *c = BIO_get_data(bio);

    BIO_clear_retry_flags(bio);
    buf_append(&c->wire, str_from(p, (size_t)n));
    return buf_failed(&c->wire) ? -1 : n;
}

static long bio_control(BIO *bio, int command, long number, void *arg)
{
    (void)bio;
    (void)number;
    (void)arg;
    return command == BIO_CTRL_FLUSH ? 1 : 0;
}

static int bio_create(BIO *bio)
{
    BIO_set_init(bio, 1);
    return 1;
}

static BIO_METHOD *bio_method;

/* The method lives as long as the process. */
static void make_bio_method(void)
{
    BIO_METHOD *m = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "tls_channel");

    if (m == NULL)
        return;
    (void)BIO_meth_set_read(m, bio_read);
    (void)BIO_meth_set_write(m, bio_write);
    (void)BIO_meth_set_ctrl(m, bio_control);
    (void)BIO_meth_set_create(m, bio_create);
    bio_method = m;
}

static BIO *new_bio(struct tls_channel *c)
{
    static uv_once_t once = UV_ONCE_INIT;
    BIO *bio;

    uv_once(&once, make_bio_method);
    bio = bio_method == NULL ? NULL : BIO_new(bio_method);
    if (bio != NULL)
        BIO_set_data(bio, c);
    return bio;
}

struct tls_channel *tls_channel_new(struct tls_context *context)
{
    struct tls_channel *c = budget_alloc(sizeof(*c), TLS_CHANNEL_BYTES);
    BIO *bio = c == NULL ? NULL : new_bio(c);

    if (bio == NULL) {
        budget_free(c, TLS_CHANNEL_BYTES);
        return NULL;
    }
    c->ssl = SSL_new(tls_context_ssl(context));
    if (c->ssl == NULL) {
        BIO_free(bio);
        budget_free(c, TLS_CHANNEL_BYTES);
        ERR_clear_error();
        return NULL;
    }
    SSL_set_bio(c->ssl, bio, bio);
    SSL_set_accept_state(c->ssl);
    c->context = tls_context_ref(context);
    c->wire.limit = MOST_WIRE_BYTES;
    return c;
}

void tls_channel_free(struct tls_channel *c)
{
    if (c == NULL)
        return;
    SSL_free(c->ssl);
    buf_fini(&c->wire);
    tls_context_unref(c->context);
    budget_free(c, TLS_CHANNEL_BYTES);
}

enum tls_state tls_channel_state(const struct tls_channel *c)
{
    return c->state;
}

enum tls_result tls_channel_result(const struct tls_channel *c)
{
    return c->result;
}

str tls_channel_owner(const struct tls_channel *c)
{
    return c->owner[0] == '\0' ? STR_NONE : str_from_c(c->owner);
}

/* ---- how it fails */

/* What OpenSSL's reasons mean for us; others are BROKEN. */
static const struct {
    int reason;
    enum tls_result result;
} reasons[] = {
    {SSL_R_UNSUPPORTED_PROTOCOL, TLS_VERSION},
    {SSL_R_VERSION_TOO_LOW, TLS_VERSION},
    {SSL_R_WRONG_SSL_VERSION, TLS_VERSION},
    {SSL_R_NO_SHARED_CIPHER, TLS_VERSION},
    {SSL_R_NO_SUITABLE_SIGNATURE_ALGORITHM, TLS_VERSION},
    {SSL_R_NO_SUITABLE_KEY_SHARE, TLS_VERSION},
    {SSL_R_NO_APPLICATION_PROTOCOL, TLS_PROTOCOL},
    {SSL_R_CERTIFICATE_VERIFY_FAILED, TLS_CERTIFICATE},
    {SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE, TLS_CERTIFICATE},
};

static enum tls_result result_of(unsigned long error)
{
    int reason = ERR_GET_REASON(error);

    if (ERR_GET_LIB(error) != ERR_LIB_SSL)
        return TLS_BROKEN;
    if (reason >= SSL_AD_REASON_OFFSET)
        return TLS_ALERT;
    for (size_t i = 0; i < COUNT_OF(reasons); i++) {
        if (reasons[i].reason == reason)
            return reasons[i].result;
    }
    return TLS_BROKEN;
}

static void fail_channel(struct tls_channel *c, enum tls_result result)
{
    if (c->state == TLS_SHAKING)
        c->result = result;
    c->state = TLS_FAILED;
    c->in = STR_NONE;
    ERR_clear_error();
}

/* A client that speaks HTTP here has mistaken the scheme, and is told so in its own words. No
 * record of TLS begins with a letter. */
static bool is_plain_http(str bytes)
{
    return bytes.p[0] >= 'A' && bytes.p[0] <= 'Z';
}

static void answer_plain_http(struct tls_channel *c)
{
    static const char answer[] =
        "HTTP/1.1 400 Bad Request\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n"
        "{\"error\":{\"message\":\"This port speaks HTTPS: use https:// in the address.\","
        "\"type\":\"invalid_request_error\",\"param\":null,\"code\":null}}\n";

    buf_c(&c->wire, answer);
    fail_channel(c, TLS_HTTP);
}

/* ---- bytes in */

/* The certificate of a resumed session was checked when that began; its time may be over since. */
static bool is_in_time(const X509 *cert)
{
    return X509_cmp_current_time(X509_get0_notAfter(cert)) > 0;
}

/* The handshake is over: looks whose certificate the client has shown. */
static void note_open(struct tls_channel *c)
{
    const X509 *cert = SSL_get0_peer_certificate(c->ssl);
    enum tls_owner kind = tls_context_owner(c->context);

    if (cert != NULL && !is_in_time(cert)) {
        fail_channel(c, TLS_CERTIFICATE);
        return;
    }
    if (cert != NULL && kind != TLS_OWNER_NONE && !tls_pair_owner(cert, kind, c->owner)) {
        fail_channel(c, TLS_CERTIFICATE);
        return;
    }
    c->state = TLS_OPEN;
    c->result = TLS_OK;
}

/* Looks why no more bytes came out: mostly since none are left. */
static void note_stop(struct tls_channel *c)
{
    int why = SSL_get_error(c->ssl, 0);

    if (c->state == TLS_SHAKING && SSL_is_init_finished(c->ssl))
        note_open(c);
    if (c->state == TLS_FAILED || why == SSL_ERROR_WANT_READ)
        return;
    if (why == SSL_ERROR_ZERO_RETURN && c->state == TLS_OPEN)
        c->state = TLS_ENDED;
    else
        fail_channel(c, why == SSL_ERROR_ZERO_RETURN ? TLS_GONE : result_of(ERR_peek_last_error()));
}

size_t tls_channel_feed(struct tls_channel *c, str sealed, char *out)
{
    size_t room = sealed.len + TLS_RECORD_BYTES, len = 0, n;

    if (c->state >= TLS_ENDED || sealed.len == 0)
        return 0;
    if (!c->has_begun && is_plain_http(sealed)) {
        answer_plain_http(c);
        return 0;
    }
    c->has_begun = true;
    c->in = sealed;
    ERR_clear_error();
    while (SSL_read_ex(c->ssl, out + len, room - len, &n) == 1) {
        if (c->state == TLS_SHAKING)
            note_open(c);
        if (c->state == TLS_FAILED)
            return 0;
        len += n;
        if (c->in.len == 0 && SSL_pending(c->ssl) == 0)
            return len;
    }
    note_stop(c);
    return len;
}

/* ---- bytes out */

/* The beginning of the pieces as one piece: the first, where that is a whole record or alone, else
 * a copy at scratch. */
static str first_record(const struct iovec *pieces, size_t n, char scratch[TLS_RECORD_BYTES])
{
    size_t len = 0;

    if (n == 1 || pieces[0].iov_len >= TLS_RECORD_BYTES)
        return str_from(pieces[0].iov_base, pieces[0].iov_len < TLS_RECORD_BYTES
                                                ? pieces[0].iov_len
                                                : TLS_RECORD_BYTES);
    for (; n > 0 && len < TLS_RECORD_BYTES; pieces++, n--) {
        size_t room = TLS_RECORD_BYTES - len;
        size_t part = pieces->iov_len < room ? pieces->iov_len : room;

        if (part > 0)
            memcpy(scratch + len, pieces->iov_base, part);
        len += part;
    }
    return str_from(scratch, len);
}

size_t tls_channel_seal(struct tls_channel *c, const struct iovec *pieces, size_t n_pieces)
{
    char scratch[TLS_RECORD_BYTES];
    size_t taken;
    str plain;

    if (n_pieces == 0 || c->state == TLS_SHAKING || c->state == TLS_FAILED || c->has_ended)
        return 0;
    plain = first_record(pieces, n_pieces, scratch);
    if (plain.len == 0)
        return 0;
    if (SSL_write_ex(c->ssl, plain.p, plain.len, &taken) == 1)
        return taken;
    fail_channel(c, TLS_BROKEN);
    return 0;
}

void tls_channel_end(struct tls_channel *c)
{
    if (c->has_ended || c->state == TLS_SHAKING || c->state == TLS_FAILED)
        return;
    c->has_ended = true;
    if (SSL_shutdown(c->ssl) < 0)
        ERR_clear_error();
}

str tls_channel_wire(const struct tls_channel *c)
{
    return str_skip(buf_str(&c->wire), c->wire_sent);
}

void tls_channel_sent(struct tls_channel *c, size_t n)
{
    c->wire_sent += n;
    if (c->wire_sent < c->wire.len)
        return;
    c->wire_sent = 0;
    if (c->wire.cap > KEEP_WIRE_BYTES)
        buf_fini(&c->wire);
    else
        buf_reset(&c->wire);
}
