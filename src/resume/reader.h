/* reader.h -- who reads the events of a response that somebody else makes, or has made (CONTRACT 4.8).
 *
 * A reader is a flight of its own: GET /v1/responses/{id}?stream=true, the client of a background request
 * with stream, and a request that is repeated with its Idempotency-Key. It writes the same bytes that were
 * first sent, from any event on, at the pace of its client, and ends with [DONE].
 *
 *     response is        events come from
 *     made here          its turn, by asks (running.h)
 *     made elsewhere     the store: rows of its journal, looked for every resume_poll
 *     over               the store: what was stored of it, with its cuts
 *
 * A place in the stream is a number of an event and a cursor of indexes and offsets (response/replay.h),
 * which fits all three, so a reader goes from one to the next in the middle of an item. It holds no more
 * than one step of events (RUNNING_FILL_BYTES, or one event that is larger), and what the store has given
 * it of the response, which is bounded like a request (max_request_memory).
 *
 * A reader that leaves ends nothing but itself. When the response is deleted, or its events are removed,
 * while it is read, the stream breaks off. */
#ifndef ANTIPHON_RESUME_READER_H
#define ANTIPHON_RESUME_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "flight/peer.h"

struct caller;
struct http_exchange;
struct http_request;
struct worker;

/* What is to be read, and how; all of it is copied. Events have numbers greater than `after`, which is -1
 * for all; beyond the last one there is [DONE] alone, or what follows while the response is made. The
 * headers are those of the stream besides its own.
 *
 * Who joins a turn by repeating its request has `again`: the head of the answer waits for the first
 * event, and when the turn is given up before that, the request begins anew with it, as one of the
 * exchange, from which the client is. NULL: none of that. */
struct reader_want {
    str id;
    int64_t after;
    bool obfuscate; /* fresh padding on deltas, whatever the first stream had */
    const struct http_header *headers;
    size_t n_headers;
    void (*again)(struct worker *w, struct http_exchange *x, const struct http_request *r,
                  const struct caller *caller);
    struct http_exchange *exchange;
};

/* Begins a reader; it answers the client, and frees itself. Before the first event is there it answers with
 * an error: 404 for an unknown response, 400 (param stream) when its events are not kept, 429 when it has
 * resume_readers, 503 when the store is away. r lives as long as the client, the texts of *want until the
 * call returns. */
void reader_start(struct worker *w, struct peer client, const struct http_request *r,
                  const struct caller *caller, const struct reader_want *want);

#endif
