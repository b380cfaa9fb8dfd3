/* mcp_redact.h -- the result of a tool that has failed, without secrets (MCP 16.6).
 *
 * Secrets are looked for in the texts that the JSON stands for, and the result is JSON whatever
 * they are: a secret may be escaped, and may be a word like "text" that stands for something in a
 * result. Pure. */
#ifndef ANTIPHON_MCP_PROTO_MCP_REDACT_H
#define ANTIPHON_MCP_PROTO_MCP_REDACT_H

#include "base/secrets.h"

/* raw is the parts of a result, valid JSON. Returns it without secrets in its texts, in the buf;
 * STR_NONE for STR_NONE, "[]" when out of memory. What stands behind 256 KiB of texts is left out:
 * nobody gets to see that of a failure (MCP 14.2). */
str mcp_redact_content(const struct secrets *secrets, str raw, struct buf *out);

/* Redacts structuredContent likewise, and names of members too: they are the server's own. */
str mcp_redact_structured(const struct secrets *secrets, str raw, struct buf *out);

#endif
