/* delta.h -- what an upstream said, with all its dialects taken off.
 *
 * The reader of chunks makes deltas, the response state machine takes them. */
#ifndef ANTIPHON_WIRE_CHUNK_DELTA_H
#define ANTIPHON_WIRE_CHUNK_DELTA_H

#include <stdint.h>

#include "base/str.h"
#include "conv/item.h"
#include "wire/tools/builtin_tool.h"

enum delta_kind {
    DELTA_TEXT,
    DELTA_REFUSAL,
    DELTA_REASONING,
    DELTA_CALL,
    DELTA_CITATION,
    DELTA_ITEM_END, /* what was begun last is complete: more of its kind is another item */
};

/* A source for a stretch of the text, counted in characters of it. */
struct citation {
    str url, title; /* escaped; url never empty */
    int64_t start, end;
};

/* Views die when the function that was handed the delta returns. All text is
 * escaped JSON text, complete in itself: it never ends in half a character. */
struct delta {
    enum delta_kind kind;
    str text;         /* the piece; never empty, except for DELTA_CALL: a piece of the arguments,
                         and for an answer that is an empty message: DELTA_TEXT with a phase */
    enum phase phase; /* DELTA_TEXT: of the message */
    str logprobs;     /* DELTA_TEXT: elements of a JSON array without its brackets, or empty */
    unsigned call;    /* DELTA_CALL: 0, 1, 2 ... in the order the calls of this round appeared */
    str call_id;      /* DELTA_CALL: the upstream's id, empty when it gave none or not yet */
    str name;         /* DELTA_CALL: the name as far as it is known */
    bool is_old_form; /* DELTA_CALL: the upstream wrote function_call, not tool_calls */
    enum builtin_tool builtin; /* DELTA_CALL: else it is the tool called name */
    str server_label; /* DELTA_CALL: of an MCP tool that the request does not have; else empty */
    struct citation citation; /* DELTA_CITATION, which has nothing else */
};

/* Token counts of one round, all >= 0, details never above their totals. */
struct usage {
    bool known;
    bool tells_reasoning; /* else reasoning is 0 since nothing was said of it: count its deltas */
    int64_t input, cached, cache_write, output, reasoning;
};

/* How a round ended (CONTRACT 4.6). */
enum finish {
    FINISH_NONE, /* not yet */
    FINISH_STOP,
    FINISH_TOOL_CALLS,
    FINISH_LENGTH,
    FINISH_CONTENT_FILTER,
};

#endif
