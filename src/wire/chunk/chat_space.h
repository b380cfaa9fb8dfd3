/* chat_space.h -- white space that a model writes before a tool call (CONTRACT 5.4).
 *
 * Models that think put empty lines between that and a call, some before each call, and a message of
 * nothing else would become an item of its own, and a text of the history. A chat_space stands
 * between the reader of chunks and whoever takes its deltas. White space at the beginning of a text
 * waits in it: for other text, with which it goes on; for a call, which drops it; or for anything
 * else, before which it is said as it came. A text begins at the start of the answer, and again
 * after a call or reasoning. */
#ifndef ANTIPHON_WIRE_CHUNK_CHAT_SPACE_H
#define ANTIPHON_WIRE_CHUNK_CHAT_SPACE_H

#include "wire/chunk/chat_reader.h"

enum chat_space_mode {
    CHAT_SPACE_KEPT, /* nothing waits: there is no need for a chat_space */
    CHAT_SPACE_HELD,
    CHAT_SPACE_HELD_AFTER_REASONING, /* only behind reasoning, which this answer may have or not */
};

struct chat_space {
    struct chat_reader *reader; /* told when memory runs out */
    chat_on_delta *on_delta;
    void *arg;
    bool holds;                /* white space waits, or will where a text begins */
    bool in_text;              /* what follows is not its beginning */
    struct buf text, logprobs; /* what waits */
};

/* on_delta gets what chat_space_delta() is given, but for what waits. */
void chat_space_init(struct chat_space *s, enum chat_space_mode mode, struct chat_reader *reader,
                     chat_on_delta *on_delta, void *arg);
void chat_space_fini(struct chat_space *s);

/* A chat_on_delta; arg is a struct chat_space. */
void chat_space_delta(void *arg, const struct delta *d);

/* The answer ended: what still waits was all the model said there. */
void chat_space_end(struct chat_space *s);

#endif
