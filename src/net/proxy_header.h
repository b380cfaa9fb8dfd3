/* proxy_header.h -- the PROXY protocol: what a balancer says of a connection before its first byte.
 *
 * Version 1 is a line, version 2 a block of bytes:
 *
 *     PROXY TCP4 192.0.2.7 198.51.100.1 54321 443\r\n
 *     \r\n\r\n\0\r\nQUIT\n | version, command | family | length | addresses | more, which is skipped
 *
 * Pure: the bytes that have come so far are looked at from the start each time, and are few. */
#ifndef ANTIPHON_NET_PROXY_HEADER_H
#define ANTIPHON_NET_PROXY_HEADER_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/str.h"
#include "net/peer_text.h"

enum { PROXY_HEADER_MOST = 4096 }; /* bytes; a longer one is refused */

struct proxy_header {
    /* The balancer speaks for itself (LOCAL: it looks whether we are alive), or does not know for whom
     * (UNKNOWN): the peer of the socket counts. */
    bool keeps_peer;
    char client[PEER_TEXT_BYTES]; /* address without port, or "unix"; "" when keeps_peer */
};

/* Returns how many bytes the header has, 0 when it is not complete, or -1 with *reterr filled when the
 * bytes are no header. */
ssize_t proxy_header_read(str bytes, struct proxy_header *ret, struct err *reterr);

#endif
