/* round.h -- one upstream call: bytes of its answer in, bytes of events out.
 *
 * The hot path of the gateway in one place, without any I/O: the daemon, the
 * scenario tests, the fuzzers and the benchmarks all drive this. */
#ifndef ANTIPHON_RESPONSE_ROUND_H
#define ANTIPHON_RESPONSE_ROUND_H

#include "response/response.h"
#include "wire/chunk/chat_stream.h"

struct round {
    struct chat_stream stream;
    struct response *response;
    struct buf *out;    /* where events go during a call of this module */
    bool refused;       /* the response took no more */
    size_t quiet_bytes; /* of the upstream, since its last delta: comments, empty chunks */
    size_t n_deltas;    /* of the upstream, for those that do not count their tokens */
};

/* response must be started and outlive the round. */
void round_init(struct round *round, const struct chat_stream_conf *conf,
                struct response *response);
void round_fini(struct round *round);

/* The next bytes of the upstream's body. out NULL: no events are wanted. */
void round_feed(struct round *round, str bytes, struct buf *out);

/* What has been fed but not read yet: the beginning of an event or of an answer that is no stream. */
size_t round_unread_bytes(const struct round *round);

/* Nothing more is needed from the upstream: its connection may be closed. */
bool round_is_over(const struct round *round);

/* Nothing more is wanted from it, but it goes on: it is to be stopped. */
bool round_is_cut_off(const struct round *round);

/* The body ended; failure is NULL when it ended as it should. Reports what was
 * held back and adds up usage; the response stays open. */
struct chat_result round_end(struct round *round, const struct err *failure, struct buf *out);

/* What follows from that result for the response: its round ends and, unless calls are to be run
 * or the model is to be asked again, for its answer or after them (response_hosted.h), so does the
 * response, finished or failed. Returns whether it has. */
bool round_end_response(struct round *round, const struct chat_result *result, int64_t now_s,
                        struct buf *out);

#endif
