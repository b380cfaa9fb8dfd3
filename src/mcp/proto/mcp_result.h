/* mcp_result.h -- the result of a tool as one text (MCP 13).
 *
 * The same text is the item's `output` and what the model reads. Images, audio
 * and blobs are only named, never copied: a model cannot read base64, but would
 * pay for it. */
#ifndef ANTIPHON_MCP_PROTO_MCP_RESULT_H
#define ANTIPHON_MCP_PROTO_MCP_RESULT_H

#include "base/buf.h"
#include "mcp/proto/mcp_message.h"

enum { MCP_RESULT_LIMIT_BYTES = 256 * 1024 };

enum mcp_result_form {
    MCP_RESULT_TEXT,       /* all parts, joined by line ends */
    MCP_RESULT_JSON_ARRAY, /* a JSON array of the text parts alone, as other gateways do */
    MCP_RESULT_PARTS,      /* a JSON array of parts of type text: for the error object of MCP 14 */
};

struct mcp_result_options {
    enum mcp_result_form form;
    size_t limit_bytes; /* of the text; 0: MCP_RESULT_LIMIT_BYTES */
};

/* Appends the text of a result that needs no input. Text is well-formed UTF-8
 * without NUL. What passes the limit is cut off between two characters, and a
 * note says how many bytes went (MCP 13.4). Without any content nothing is
 * appended in MCP_RESULT_TEXT. */
void mcp_result_write(const struct mcp_call_result *r, const struct mcp_result_options *o,
                      struct buf *out);

/* What the model gets for the text of a result: never an empty message (MCP 13.2). */
static inline str mcp_result_for_model(str text)
{
    return text.len > 0 ? text : STR("[no content]");
}

#endif
