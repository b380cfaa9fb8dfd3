/* egress_head.h -- the head of a request to a proxy (RFC 9110, 9.3.6; RFC 9112, 3.2).
 *
 *     CONNECT example.org:443 HTTP/1.1        a tunnel
 *     GET http://example.org/path HTTP/1.1    a request to pass on
 *
 * Reading is strict: what the server could read in another way than we is refused. Pure;
 * any thread. */
#ifndef ANTIPHON_SANDBOX_EGRESS_HEAD_H
#define ANTIPHON_SANDBOX_EGRESS_HEAD_H

#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"

enum { EGRESS_HEAD_BYTES = 16 * 1024 };

/* Views into the head. */
struct egress_head {
    bool is_connect;
    str host; /* without brackets, and without the dot at its end */
    uint16_t port;
    uint64_t body_bytes; /* that may follow; UINT64_MAX: what the client sends */
    /* of a request to pass on */
    str method, authority, target, version;
    str fields; /* whole lines */
};

/* The bytes of the head that bytes begin with, its empty line included; 0 when it is not
 * complete. */
size_t egress_head_length(str bytes);

/* Reads a whole head. NULL with *ret filled, or what is wrong, as a sentence. */
const char *egress_head_read(str head, struct egress_head *ret);

/* Appends the head for the server: the target without its host, a Host that says the same
 * as the target did, nothing that was meant for us, and "Connection: close", so that one
 * connection carries one request. */
void egress_head_write(const struct egress_head *head, struct buf *out);

#endif
