/* tool_copy.h -- tools as they may be shown and stored: without the credentials of
 * MCP servers, which are for one request only (CONTRACT 1.2). */
#ifndef ANTIPHON_CONV_TOOL_COPY_H
#define ANTIPHON_CONV_TOOL_COPY_H

#include "base/str.h"
#include "json/json_write.h"

/* A tool of any type as an element of an array. raw: valid JSON, which need not be
 * a tool that is accepted. */
void tool_copy(struct jw *w, str raw);

/* The same of a tool of type mcp that may not say who approves its calls: require_approval
 * is then this, raw, unless it is STR_NONE. */
void tool_copy_mcp(struct jw *w, str raw, str default_approval);

/* An array of them. */
void tool_copy_list(struct jw *w, str raw);

#endif
