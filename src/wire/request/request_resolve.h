/* request_resolve.h -- a request put together with what is stored (CONTRACT 2.6).
 *
 *     responses_request_parse
 *     if r.needs_store: request_references, load all of it, request_resolve
 *     if r.needs_tools: list the tools of the servers, request_add_mcp
 *     chat_request_conversation
 *
 * Pure: the caller loads, and says with the two reject functions that a
 * response or conversation does not exist. */
#ifndef ANTIPHON_WIRE_REQUEST_REQUEST_RESOLVE_H
#define ANTIPHON_WIRE_REQUEST_REQUEST_RESOLVE_H

#include "wire/request/responses_request.h"

/* An item of `input` that the store has, or has more of. */
struct request_reference {
    str id;       /* plain text */
    size_t index; /* in `input` */
};

struct request_references {
    struct request_reference *v; /* all in the arena */
    size_t n;
};

struct request_history_item {
    str id;         /* plain text; not read of items found */
    str body;       /* a JSON object as stored; STR_NONE: there is none */
    str result;     /* of items found: what is kept beside it (conv/item.h), or STR_NONE */
    bool is_output; /* the gateway wrote it */
};

/* What the store had. A zeroed one is nothing. */
struct request_history {
    const struct request_history_item *items; /* before the request's own, oldest first */
    size_t n;
    const struct request_history_item *found; /* one for each reference; NULL: none was found */
    str previous_tail; /* of the previous response's object, from the end of its output on:
                          `],"usage":...`. STR_NONE for a conversation */
};

/* The references of a request, in its order. Returns 0, or -1 with *reterr filled. */
int request_references(const struct responses_request *r, struct arena *a,
                       struct request_references *ret, struct err *reterr);

/* Completes *r, which needs the store: references become the items they mean,
 * history comes before the request's own items, of which a conversation has some
 * already when they have its ids: these say nothing twice; tools and tool_choice that it
 * does not name are those of the previous response. Reports what could not be
 * checked before. Views in *r point into h's texts and the arena. options and
 * ids are those of responses_request_parse(). */
int request_resolve(struct responses_request *r, const struct request_history *h,
                    const struct responses_request_options *options, const struct id_source *ids,
                    struct arena *a, struct err *reterr);

/* The tools of MCP servers are known: they join the set, then tool_choice, approvals and the
 * names of calls in the history are bound to it. r->needs_tools, and r is otherwise complete.
 * Returns 0, or -1 with *reterr filled. */
int request_add_mcp(struct responses_request *r, const struct server_tool *tools, size_t n,
                    struct arena *a, struct err *reterr);

/* The response or conversation that r continues is unknown. Both return -1. */
int request_reject_previous(const struct responses_request *r, struct err *reterr);
int request_reject_conversation(const struct responses_request *r, struct err *reterr);

#endif
