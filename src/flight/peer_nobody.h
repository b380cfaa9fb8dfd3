/* peer_nobody.h -- nobody waits for the answer of a flight: what comes of it is stored, and read from
 * there (CONTRACT 4.8).
 *
 * A nobody brings what the client brought when it was there, the body of its request and the headers
 * that matter later, and throws away what is said to it. It never leaves by itself: peer_nobody_leave()
 * ends its flight as the end of a connection would. */
#ifndef ANTIPHON_FLIGHT_PEER_NOBODY_H
#define ANTIPHON_FLIGHT_PEER_NOBODY_H

#include "flight/peer.h"

/* Set by whoever begins the flight, zeroed but for that; it outlives the flight, as do the texts. */
struct nobody {
    struct http_request request; /* for the flight; of its members: method, path, headers, peer */
    str body;                    /* without any coding */
    str request_id;

    /* peer_nobody.c's own */
    struct http_traffic traffic; /* none */
    const struct http_exchange_handler *handler;
    void *arg;
};

struct peer peer_nobody(struct nobody *n);

/* The answer is wanted no more, not even by the store: reports it to the flight, which may be freed in
 * that, at once or when its work on the pool has ended. Not from inside a call on the peer. */
void peer_nobody_leave(struct nobody *n);

#endif
