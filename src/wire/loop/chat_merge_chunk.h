/* chat_merge_chunk.h -- one chunk of an upstream, or one whole completion, on its way to
 * the client. Part of chat_merge.c, whose state it works on. */
#ifndef ANTIPHON_WIRE_LOOP_CHAT_MERGE_CHUNK_H
#define ANTIPHON_WIRE_LOOP_CHAT_MERGE_CHUNK_H

#include "json/json_write.h"
#include "wire/loop/chat_merge.h"

/* What is being written of a chunk. */
struct chunk_copy {
    struct chat_merge *m;
    struct buf *out; /* of the client */
    struct jw w;
    bool has_changed; /* it is not what the upstream wrote any more */
    bool has_lost;    /* something was left out of it */
    bool says;        /* something is left that the client has to hear */
    bool counts;      /* it carries usage */
    bool ends;        /* it carries the finish_reason of the answer ... */
    bool leads_on;    /* ... or that of a round that leads to another */
};

/* Takes in a chunk and appends what the client gets of it: a frame in a stream, else the body. */
void chat_merge_chunk(struct chat_merge *m, const struct chat_chunk *chunk, struct buf *out);

/* Where a frame for the client goes now. */
struct buf *chat_merge_place(struct chat_merge *m, struct buf *out);

/* Ends the frame that was begun at start. What there was no room for is taken back whole: what is
 * kept for the client stays a list of frames. */
void chat_merge_end_frame(struct buf *to, size_t start);

/* ---- chat_merge_calls.c */

/* Copies the member tool_calls, raw, but for calls of the gateway's tools. Nothing is
 * written when none are left, and false is returned. */
bool chat_merge_calls(struct chunk_copy *c, str key, str raw);

/* The same of function_call. */
void chat_merge_old_call(struct chunk_copy *c, str key, str raw);

/* The names are complete: calls still undecided are the client's or ours. Appends what
 * was held back of the client's. */
void chat_merge_decide_all(struct chat_merge *m, struct buf *out);

#endif
