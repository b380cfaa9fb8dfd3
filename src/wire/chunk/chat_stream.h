/* chat_stream.h -- the body of an upstream's answer, in any cutting, becomes deltas. */
#ifndef ANTIPHON_WIRE_CHUNK_CHAT_STREAM_H
#define ANTIPHON_WIRE_CHUNK_CHAT_STREAM_H

#include "wire/chunk/chat_body.h"
#include "wire/chunk/chat_chunk.h"
#include "wire/chunk/chat_space.h"
#include "wire/chunk/model_text.h"

struct chat_stream_conf {
    struct model_text_conf text;
    bool wants_logprobs;
    enum chat_space_mode space;
    size_t max_event_bytes; /* one event, or the whole of a JSON body */
};

struct chat_stream {
    struct chat_reader reader;
    struct chat_space space; /* behind the reader, unless all space is kept */
    struct chat_body body;
};

/* What came of it, once chat_stream_end() has been called. */
struct chat_result {
    bool failed;
    struct err error;   /* when failed */
    enum finish finish; /* never FINISH_NONE when not failed */
};

/* on_delta is called from inside _feed and _end. */
void chat_stream_init(struct chat_stream *s, const struct chat_stream_conf *conf,
                      chat_on_delta *on_delta, void *arg);
void chat_stream_fini(struct chat_stream *s);

void chat_stream_feed(struct chat_stream *s, str bytes);

/* Since the last delta so many bytes have come: too many end it with an error (chat_quiet.h). */
void chat_stream_limit_quiet(struct chat_stream *s, size_t quiet_bytes);

/* Nothing that follows can change the result: [DONE] was seen, or an error, or the model went on
 * to write what others say. */
bool chat_stream_is_over(const struct chat_stream *s);

/* Nothing more is wanted of the stream: what follows is not read, and has no say in the result. May
 * be called from on_delta. */
void chat_stream_stop(struct chat_stream *s);

/* The body ended: as it should (failure NULL), or broken off. An answer whose
 * finish_reason has been seen stands either way. */
struct chat_result chat_stream_end(struct chat_stream *s, const struct err *failure);

#endif
