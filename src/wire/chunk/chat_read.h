/* chat_read.h -- what stands where in a chunk of an upstream, or in a whole completion.
 *
 * What upstreams call things is known here and nowhere else (CONTRACT 5.2 to 5.5). Two make
 * something of it: chat_chunk.c deltas, for /v1/responses, and chat_merge_chunk.c a copy with what
 * the client is not to see left out, for /v1/chat/completions.
 *
 * Everything returned is a view of what was read: "raw" is a JSON value as written, "escaped" the
 * inside of a string; STR_NONE is a member that is not there, or of another type. */
#ifndef ANTIPHON_WIRE_CHUNK_CHAT_READ_H
#define ANTIPHON_WIRE_CHUNK_CHAT_READ_H

#include "base/buf.h"
#include "json/json_read.h"
#include "wire/chunk/chat_call.h"
#include "wire/chunk/delta.h"

struct chat_chunk {
    str json;           /* all of it */
    str choices;        /* raw */
    str usage;          /* raw: an object, wherever the upstream has put it */
    str error;          /* raw: one that says something */
    bool is_flat_error; /* json itself is the error */
    str service_tier;   /* escaped */
};

/* Reads one JSON text; event is its SSE event name or "". Bytes that are no UTF-8 are replaced
 * in *repaired, which ret then points into. Returns false when json is not complete JSON. */
bool chat_read_chunk(str json, str event, struct buf *repaired, struct chat_chunk *ret);

struct chat_choice {
    str delta, message; /* raw: objects. Simple servers send a whole message for a delta, and others
                           both: what is new, and all so far */
    str text;           /* raw: all that /v1/completions has; Together sends it beside delta */
    str logprobs;       /* raw */
    str finish;         /* escaped; empty: the choice goes on */
};

/* The next value of j as a choice. False when it is none, or not the first of several. */
bool chat_read_choice(struct jr *j, struct chat_choice *ret);

struct chat_delta {
    str content, reasoning_details, annotations, function_call, tool_calls; /* raw */
    str reasoning_content, reasoning, refusal;                              /* escaped */
};

void chat_read_delta(str raw, struct chat_delta *ret);

/* Takes a piece of text, DELTA_TEXT or DELTA_REASONING, escaped; it may be empty. */
typedef void chat_on_text(void *arg, enum delta_kind kind, str escaped);

/* The texts of `content`: a string or a list of parts, in which Mistral also thinks. */
void chat_read_content(str raw, chat_on_text *on_text, void *arg);

/* The texts of OpenRouter's `reasoning_details`. */
void chat_read_reasoning_details(str raw, chat_on_text *on_text, void *arg);

/* The next value of j as an element of `tool_calls`. False when it is none. */
bool chat_read_call(struct jr *j, struct chat_call_piece *ret);

/* The same of `function_call`, raw: the one call of old servers. */
bool chat_read_old_call(str raw, struct chat_call_piece *ret);

/* What a finish_reason stands for, which is not empty; FINISH_NONE: an error. */
enum finish chat_read_finish(str word);

/* null, false, "", 0, {} and [] say nothing, nor does a value that is not there. */
bool chat_read_is_nothing(str raw);

#endif
