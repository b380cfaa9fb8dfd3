/* mcp_redact.h -- the result of a tool that has failed, without secrets (MCP 16.6).
 *
 * They are looked for in the texts that the JSON stands for, and the result is JSON
 * whatever they are: a secret may be escaped, and may be a word like "text" that stands
 * for something in a result. Pure. */
#ifndef ANTIPHON_MCP_PROTO_MCP_REDACT_H
#define ANTIPHON_MCP_PROTO_MCP_REDACT_H

#include "base/secrets.h"

/* raw: valid JSON, the parts of a result. Returns it without secrets in its texts, in the
 * buf; STR_NONE for STR_NONE, "[]" when out of memory. What stands behind 256 KiB of texts is left out: nobody gets
 * to see that of a failure (MCP 14.2). */
str mcp_redact_content(const struct secrets *secrets, str raw, struct buf *out);

/* The same of structuredContent, whose names are the server's own as well. */
str mcp_redact_structured(const struct secrets *secrets, str raw, struct buf *out);

#endif
