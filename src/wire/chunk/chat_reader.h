/* chat_reader.h -- what the parts of the reader of chunks share (chat_chunk.h): what has been read
 * of a round, and how a part says that reading failed. */
#ifndef ANTIPHON_WIRE_CHUNK_CHAT_READER_H
#define ANTIPHON_WIRE_CHUNK_CHAT_READER_H

#include "base/buf.h"
#include "base/err.h"
#include "json/json_text.h"
#include "wire/chunk/chat_call.h"
#include "wire/chunk/chat_memo.h"
#include "wire/chunk/delta.h"
#include "wire/chunk/model_text.h"

/* Takes a delta. */
typedef void chat_on_delta(void *arg, const struct delta *delta);

/* What has been read of one round. */
struct chat_reader {
    bool wants_logprobs;
    chat_on_delta *on_delta;
    void *arg;

    struct chat_calls calls;
    struct model_text text;
    struct chat_saying saying; /* of the chunk at hand: the last of n_said */
    unsigned n_said;
    struct chat_memo memo;
    struct json_splice splice;  /* of the text, refusal or reasoning being sent */
    enum delta_kind spliced;    /* which of them */
    struct buf piece, logprobs; /* scratch; logprobs waits for the text it belongs to */
    enum finish finish;
    struct buf usage_json;   /* the usage object sent last */
    struct usage usage;      /* what it says; known after chat_reader_end() */
    struct buf service_tier; /* escaped; empty: not reported */
    bool failed;
    struct err *error; /* why; NULL when there was no memory to say it */
};

/* Everything that a chunk brings about is noted with one of these, so that it is
 * known whether it did one thing only. */
void chat_reader_says(struct chat_reader *r, const struct chat_saying *saying);
void chat_reader_says_other(struct chat_reader *r);

/* An error outside of a chunk. An answer that had finished stands. */
void chat_reader_fail(struct chat_reader *r, const struct err *e);

/* Memory ran out: the answer fails, finished or not. */
void chat_reader_out_of_memory(struct chat_reader *r);

#endif
