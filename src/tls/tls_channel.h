/* tls_channel.h -- one TLS connection, without its socket.
 *
 *     from the socket -> feed() -> plain bytes          plain bytes -> seal() -> wire() -> to the socket
 *
 *     SHAKING -> OPEN -> ENDED        the peer's close_notify
 *        `---------`---> FAILED       no bytes come out any more; wire() has the alert
 *
 * Whatever is done to a channel may leave bytes in wire(), and these are owed to the peer: feed()
 * too, which answers a handshake. All that is fed is used at once: OpenSSL keeps no more than one
 * record that is incomplete. A channel is used by one thread at a time. */
#ifndef ANTIPHON_TLS_TLS_CHANNEL_H
#define ANTIPHON_TLS_TLS_CHANNEL_H

#include <sys/uio.h>

#include "base/buf.h"
#include "tls/tls_context.h"

enum {
    TLS_RECORD_BYTES = 16384, /* most plain bytes of a record */
    /* What a channel is reckoned to take of the memory of the process (measured by bench/measure_tls.mjs). */
    TLS_CHANNEL_BYTES = 24 * 1024,
};

enum tls_state { TLS_SHAKING, TLS_OPEN, TLS_ENDED, TLS_FAILED };

enum tls_result {
#define RESULT(symbol, word) TLS_##symbol,
#include "tls/tls_result.def"
#undef RESULT
    TLS_RESULTS,
};

/* The word of a result, for logs and metrics. */
const char *tls_result_word(enum tls_result result);

/* Counts a handshake that has ended so. */
void tls_result_count(enum tls_result result);

struct tls_channel;

/* Keeps a reference of its own. NULL when out of memory. */
struct tls_channel *tls_channel_new(struct tls_context *context);
void tls_channel_free(struct tls_channel *c); /* NULL is fine */

enum tls_state tls_channel_state(const struct tls_channel *c);

/* How the handshake has ended, when it has: not TLS_SHAKING. */
enum tls_result tls_channel_result(const struct tls_channel *c);

/* Whose certificate the client has shown: "cert:VALUE", as long as the channel lives; STR_NONE when
 * it has shown none, or certificates name nobody here. */
str tls_channel_owner(const struct tls_channel *c);

/* Takes bytes of the peer. Returns how many plain bytes they have brought, which are written to out:
 * it has room for sealed.len + TLS_RECORD_BYTES, and does not overlap. */
size_t tls_channel_feed(struct tls_channel *c, str sealed, char *out);

/* Seals the beginning of the pieces as one record. Returns how many bytes of them it has taken; 0 only
 * when there are none, or the channel is not open (any more). */
size_t tls_channel_seal(struct tls_channel *c, const struct iovec *pieces, size_t n_pieces);

/* Says that nothing more will be sent: close_notify, once. */
void tls_channel_end(struct tls_channel *c);

/* What is owed to the peer; a view that dies with the next call. */
str tls_channel_wire(const struct tls_channel *c);

/* The first n bytes of that are out. */
void tls_channel_sent(struct tls_channel *c, size_t n);

#endif
