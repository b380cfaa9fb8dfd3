/* turn_call.h -- one call of a tool that the gateway runs, whoever runs it.
 *
 * turn_calls.c       all calls of a round: begin, end, what follows
 * turn_call_mcp.c    tools of MCP servers
 * turn_call_code.c   the code interpreter
 * turn_call_web.c    web search */
#ifndef ANTIPHON_TURN_TURN_CALL_H
#define ANTIPHON_TURN_TURN_CALL_H

#include "turn/turn_internal.h"

/* What a call came to; see struct hosted_outcome. A zeroed one is empty. */
struct turn_call_result {
    bool is_failed;
    struct buf output;  /* escaped, for the model */
    struct buf error;   /* of an MCP call that failed: raw JSON */
    struct buf outputs; /* of code: a raw array; empty: there are none */
    struct buf shown;   /* of a call that is shown whole: raw; empty: as it was announced */
};

struct turn_call_kind {
    /* Begins it and returns what is under way, which reports by turn_call_ended(), never from
     * inside; or NULL when there is nothing to wait for, with *ret filled. */
    void *(*start)(struct turn_call *c, struct turn_call_result *ret);
    /* Nobody waits for it any more: no report. */
    void (*cancel)(void *work);
};

struct turn_call {
    struct turn *turn;
    struct output_item *item;
    const struct turn_call_kind *kind;
    void *work;                     /* while it is under way */
    struct turn_call_result result; /* once it has ended, until its item is closed */
    bool is_started, is_closed;
    struct turn_call *next;
};

/* turn_call_web_search and so on, one for each row of conv/hosted.def, and one for MCP servers. */
#define HOSTED_TOOL(symbol, type, ...) extern const struct turn_call_kind turn_call_##type;
#include "conv/hosted.def"
extern const struct turn_call_kind turn_call_mcp;

/* It has ended. Takes what is in r; the call and its turn may be gone when it returns. */
void turn_call_ended(struct turn_call *c, struct turn_call_result *r);

/* It has failed; plain, for the model. */
void turn_call_fail(struct turn_call_result *r, str why);

#endif
