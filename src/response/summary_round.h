/* summary_round.h -- one upstream call whose answer is a summary (CONTRACT 13.5): bytes of it in, a text
 * out.
 *
 * It is read like that of any round, so that thoughts, in whatever form they come, and calls are told from
 * what the model says; what it says is gathered, and nobody sees it before it is whole. */
#ifndef ANTIPHON_RESPONSE_SUMMARY_ROUND_H
#define ANTIPHON_RESPONSE_SUMMARY_ROUND_H

#include "wire/chunk/chat_stream.h"

struct summary_round {
    struct chat_stream stream;
    struct buf text; /* escaped, as far as the model has said it */
    bool is_between; /* what follows in it is another message */
    bool has_call;
    int64_t n_reasoning; /* deltas of it */
    size_t n_deltas;
    size_t quiet_bytes; /* of the upstream, since its last delta */
};

/* max_bytes: of the text, 0: no limit. */
void summary_round_init(struct summary_round *s, const struct chat_stream_conf *conf,
                        size_t max_bytes);
void summary_round_fini(struct summary_round *s);

/* The next bytes of the upstream's body. */
void summary_round_feed(struct summary_round *s, str bytes);

/* Nothing more is needed from the upstream: its connection may be closed. */
bool summary_round_is_over(const struct summary_round *s);

/* Nothing more is wanted from it, but it goes on: it is to be stopped. */
bool summary_round_is_cut_off(const struct summary_round *s);

/* The body ended; failure is NULL when it ended as it should. */
struct chat_result summary_round_end(struct summary_round *s, const struct err *failure);

/* Appends the summary, plain, without white space around it; nothing when the model has written none. */
void summary_round_write(const struct summary_round *s, struct buf *out);

#endif
