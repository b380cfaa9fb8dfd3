/* reply.h -- reads an HTTP answer and checks that it is the expected one.
 *
 * Takes status, framing (chunked or Content-Length) and the lines of the body,
 * wherever the network cut them. Only the first bytes of a line are kept: what
 * tells one event from another stands there, and memory stays small with
 * thousands of streams. */
#ifndef ANTIPHON_BENCH_REPLY_H
#define ANTIPHON_BENCH_REPLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

enum reply_kind { REPLY_RESPONSES, REPLY_CHAT, REPLY_RESPONSES_WHOLE, REPLY_CHAT_WHOLE };

enum { REPLY_LINE_BYTES = 320 };

struct reply_line {
    size_t len; /* kept bytes of a line that goes on in the next read */
    char p[REPLY_LINE_BYTES];
};

struct reply {
    enum reply_kind kind;
    int state;
    bool is_chunked;
    uint64_t left;             /* bytes to come of the body or of the chunk */
    struct reply_line framing; /* HTTP heads and chunk sizes */
    struct reply_line body;
    uint64_t deltas;
    bool has_end, has_done; /* the terminal event, [DONE] */
};

/* "responses", "chat", "responses-whole", "chat-whole"; false for others. */
bool reply_kind_find(const char *name, enum reply_kind *ret);

void reply_start(struct reply *r, enum reply_kind kind);

/* Reads the next bytes. Ends the program when they are not what the kind says;
 * an error status is shown with the body. */
void reply_feed(struct reply *r, str bytes);

/* The last byte of the body has been read. */
bool reply_is_over(const struct reply *r);

/* Ends the program unless the answer holds exactly n deltas (where it has any)
 * and everything that must come after them. */
void reply_check(const struct reply *r, uint64_t n);

#endif
