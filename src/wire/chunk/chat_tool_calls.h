/* chat_tool_calls.h -- tool calls of a chunk, in all their forms (CONTRACT 5.4). */
#ifndef ANTIPHON_WIRE_CHUNK_CHAT_TOOL_CALLS_H
#define ANTIPHON_WIRE_CHUNK_CHAT_TOOL_CALLS_H

#include "wire/chunk/chat_reader.h"

/* The raw values of delta.tool_calls, and of delta.function_call of old
 * servers: one call of its own. Nothing happens when they are of another type. */
void chat_tool_calls(struct chat_reader *r, str raw);
void chat_old_call(struct chat_reader *r, str raw);

/* More arguments, a JSON string, for the call of this index. */
void chat_more_arguments(struct chat_reader *r, int64_t index, str quoted);

/* A call that was found in a text; all plain. */
struct chat_text_call {
    str name, id; /* id empty: it has none */
    enum builtin_tool builtin;
    str server_label; /* of an MCP tool that the request does not have; else empty */
};

/* Begins one. Returns its number. */
unsigned chat_text_call_begin(struct chat_reader *r, const struct chat_text_call *call);

/* More of its arguments, plain. */
void chat_text_call_arguments(struct chat_reader *r, unsigned number, str plain);

/* Everything was read: reports what the calls still held back. */
void chat_tool_calls_end(struct chat_reader *r);

#endif
