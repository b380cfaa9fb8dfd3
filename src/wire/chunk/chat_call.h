/* chat_call.h -- which call does a piece of a tool call belong to?
 *
 * Upstreams number, name and identify calls in many ways (CONTRACT 5.4); the
 * table keeps what each call of a round has shown of itself. */
#ifndef ANTIPHON_WIRE_CHUNK_CHAT_CALL_H
#define ANTIPHON_WIRE_CHUNK_CHAT_CALL_H

#include <stdint.h>

#include "base/buf.h"
#include "json/json_text.h"
#include "wire/chunk/delta.h"

enum { CHAT_MAX_CALLS = 1024 };

struct chat_call {
    int64_t index;   /* the upstream's, or CHAT_NO_INDEX */
    struct buf id;   /* as the upstream sent it */
    struct buf name; /* as far as it is known */
    bool id_taken;   /* another call has the same id: this one has none of its own */
    bool has_arguments;
    enum builtin_tool builtin;
    struct buf server_label; /* escaped; of an MCP tool that the request does not have */
    struct json_splice splice;
};

/* Neither is a number that an upstream can give. */
#define CHAT_NO_INDEX INT64_MIN
#define CHAT_OLD_FORM INT64_MAX /* the call of function_call, which has no number */

struct chat_calls {
    struct chat_call *calls;
    size_t n, cap;
};

/* What one piece says; text is escaped JSON text, absent means empty. */
struct chat_call_piece {
    int64_t index; /* CHAT_NO_INDEX when none was given */
    str id, name;
    str arguments;  /* raw, of any type */
    bool has_index; /* where it belongs: some have it inside of function, or not at all */
};

void chat_calls_fini(struct chat_calls *t);

/* The call of this piece, made if it is new, with id and name taken over.
 * NULL when out of memory or beyond CHAT_MAX_CALLS. Its place in t->calls is
 * its number; the pointer dies with the next call of this function. */
struct chat_call *chat_calls_take(struct chat_calls *t, const struct chat_call_piece *piece);

/* Does it bring arguments: more than "" or null? */
bool chat_call_piece_has_arguments(const struct chat_call_piece *piece);

/* Appends the arguments of a piece of c, escaped: some servers give a string, in pieces, others an
 * object, which said again is no more of them. */
void chat_call_add_arguments(struct chat_call *c, const struct chat_call_piece *piece,
                             struct buf *out);

#endif
