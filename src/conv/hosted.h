/* hosted.h -- the tools that the gateway brings itself: rows of hosted.def. */
#ifndef ANTIPHON_CONV_HOSTED_H
#define ANTIPHON_CONV_HOSTED_H

#include "base/str.h"

enum hosted_kind {
    HOSTED_NONE, /* none of them: a tool of the client or of an MCP server */
#define HOSTED_TOOL(symbol, ...) HOSTED_##symbol,
#include "conv/hosted.def"
    HOSTED_KIND_COUNT,
};

/* "web_search" and so on; plain. Not for HOSTED_NONE. */
str hosted_type(enum hosted_kind kind);

/* The tool of this type, plain, and the one whose calls are items of this type, escaped. */
enum hosted_kind hosted_of_type(str type);
enum hosted_kind hosted_of_item(str item_type);

#endif
