/* chat_merge.h -- the answers of several rounds become one answer (CONTRACT 6.2).
 *
 *     chat_merge_init(&m, &conf);
 *     for each upstream call:
 *         chat_merge_begin(&m);
 *         chat_merge_feed(&m, bytes, out) ...     until chat_merge_is_over() or the body ends
 *         switch (chat_merge_end(&m, failure, out)) {
 *         case CHAT_ROUND_CALLS:  run m.said's calls, then the next round
 *         case CHAT_ROUND_MIXED:  run them, then chat_merge_finish(&m, out)
 *         case CHAT_ROUND_LAST:   chat_merge_finish(&m, out)
 *         case CHAT_ROUND_FAILED: m.error says why
 *         }
 *
 * What is appended to out is for the client. A stream is passed on chunk by chunk as the
 * upstream wrote it, with few exceptions: calls of the gateway's tools are held back,
 * those of the client are numbered from 0 without gaps, `role` is said once, id and time
 * are those of the first round, and the finish_reason waits until it is known whether the
 * round is the last. An answer without a stream is gathered, and the last one is
 * returned by chat_merge_finish(), changed in the same few ways.
 *
 * `usage` is the sum of all rounds; in a stream it is left out unless the client wants
 * it. `reasoning` and `reasoning_content` that hold nothing but null are left out. */
#ifndef ANTIPHON_WIRE_LOOP_CHAT_MERGE_H
#define ANTIPHON_WIRE_LOOP_CHAT_MERGE_H

#include "base/err.h"
#include "wire/chunk/chat_body.h"
#include "wire/loop/chat_loop_said.h"

struct chat_merge_conf {
    const struct chat_loop_tools *tools; /* outlive it */
    const struct id_source *ids;         /* as well */
    bool is_stream;          /* what the client asked for, and so what the upstream sends */
    bool wants_usage;        /* of a stream */
    bool hides_rounds;       /* of a stream: nothing is shown of rounds that lead to another */
    size_t max_event_bytes;  /* of one event, or of an answer that is no stream */
    size_t max_output_bytes; /* of a text in a round */
};

enum chat_round_end {
    CHAT_ROUND_LAST,
    CHAT_ROUND_CALLS, /* only calls of the gateway's tools */
    CHAT_ROUND_MIXED, /* calls of the client's tools besides: the client gets those */
    CHAT_ROUND_FAILED,
};

struct chat_merge {
    struct chat_merge_conf conf;

    /* of all rounds */
    struct buf id, created, model; /* raw values: the first that were given */
    struct buf usage;              /* raw: the sum of the rounds before; empty: unknown */
    size_t n_shown_calls;
    bool has_role; /* has been said */

    /* of the round at hand */
    struct chat_loop_said said;
    struct chat_body body;
    struct buf *out;         /* of the call that feeds it */
    struct buf round_usage;  /* raw: what was said last */
    bool has_finish, is_cut; /* the finish_reason has been seen; its calls may not be whole */
    struct buf tail;         /* for the client at the end: from the finish_reason on, or the body */
    struct buf shown;        /* of a round that may have to be hidden */
    size_t quiet_bytes;      /* that have come since the last for the client */
    bool had_role;           /* has_role before it */
    struct buf chunk;        /* scratch */

    bool failed;
    bool is_told; /* the client has had the error, as the upstream wrote it */
    struct err error;
};

void chat_merge_init(struct chat_merge *m, const struct chat_merge_conf *conf);
void chat_merge_fini(struct chat_merge *m);

void chat_merge_begin(struct chat_merge *m);
void chat_merge_feed(struct chat_merge *m, str bytes, struct buf *out);

/* Nothing that follows can change the round: [DONE] was seen, or an error. */
bool chat_merge_is_over(const struct chat_merge *m);

/* The body ended: as it should (failure NULL), or broken off. A stream whose
 * finish_reason has been seen stands either way. */
enum chat_round_end chat_merge_end(struct chat_merge *m, const struct err *failure,
                                   struct buf *out);

/* The end of the answer: of a stream what was held back, and [DONE]. */
void chat_merge_finish(struct chat_merge *m, struct buf *out);

/* The end of a stream that has failed: the error, unless it has been told, and [DONE]. */
void chat_merge_fail(struct chat_merge *m, const struct err *e, struct buf *out);

#endif
