/* load.h -- what the two ends of the load test agree on.
 *
 * The client (load_streams) asks, through the gateway, for a stream by the
 * text of its input; the upstream (load_upstream) sends what the text asks
 * for. Every piece of text names its stream and its place in it, so bytes that
 * end up in another stream, or twice, or not at all, are noticed. */
#ifndef ANTIPHON_TESTS_LOAD_LOAD_H
#define ANTIPHON_TESTS_LOAD_LOAD_H

#include "base/buf.h"

struct load_stream {
    unsigned id;
    unsigned n_pieces;
    unsigned piece_bytes; /* at least LOAD_MIN_PIECE_BYTES */
    unsigned gate; /* no second piece before so many streams with a gate have begun; 0: none */
};

enum { LOAD_MIN_PIECE_BYTES = 16 };

/* "load ID PIECES BYTES GATE": the input of a request. */
void load_stream_write(const struct load_stream *s, struct buf *out);

/* Finds such a text anywhere in a body. */
bool load_stream_read(str body, struct load_stream *ret);

/* The i-th piece of text; all of them in order are the text of the answer. */
void load_piece(const struct load_stream *s, unsigned i, struct buf *out);

/* ---- sockets */

/* Takes as many descriptors as the hard limit allows. */
void load_raise_limit(void);

/* Bytes that wait in the kernel at both ends of loopback connections, as of
 * one moment: a copy of /proc/net/tcp. */
struct load_queue {
    unsigned local_port, remote_port;
    size_t unsent, unread; /* unsent: not acknowledged by the peer's kernel */
};

struct load_queues {
    struct load_queue *all;
    size_t n;
};

void load_queues_read(struct load_queues *q);
void load_queues_free(struct load_queues *q);

/* The end with these ports; zeros when there is none. */
struct load_queue load_queues_find(const struct load_queues *q, unsigned local_port,
                                   unsigned remote_port);

/* Ports of a connected socket. */
unsigned load_local_port(int fd);
unsigned load_remote_port(int fd);

/* Ends the process with the text and errno's: for what a test machine can do. */
void load_die(const char *what) __attribute__((noreturn));

#endif
