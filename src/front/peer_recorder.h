/* peer_recorder.h -- stands before the client of a flight, and records what it is answered
 * (memory/answer_memory.h).
 *
 * The recorder is a peer, and passes on all that it is told. The answer is kept when it is complete and
 * good: no error, and no stream that ends with a response that has failed. Signs of life are no part of
 * it. */
#ifndef ANTIPHON_FRONT_PEER_RECORDER_H
#define ANTIPHON_FRONT_PEER_RECORDER_H

#include "flight/peer.h"

struct answer;
struct worker;

/* Makes one, which takes the answer also when it fails; it frees itself when the client's answer is over,
 * or the worker's end.
 * Returns 0, or -1 when out of memory: then the client is untouched. */
int peer_recorder_new(struct worker *w, struct peer client, struct answer *answer, struct peer *ret,
                      struct err *reterr);

#endif
