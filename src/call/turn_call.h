/* turn_call.h -- calls of tools that the gateway runs, whoever runs them and whoever has asked.
 *
 * A turn of either front owns a struct turn_calls: it adds what the model has called, runs them until
 * none is under way, and is given what each came to. What runs a call knows no more of its owner than
 * stands here.
 *
 * turn_call.c        all of them: begin, end, what is waited for
 * turn_call_mcp.c    tools of MCP servers
 * turn_call_X.c      the tool X of conv/hosted.def */
#ifndef ANTIPHON_CALL_TURN_CALL_H
#define ANTIPHON_CALL_TURN_CALL_H

#include "conv/hosted.h"
#include "flight/turn_drive.h"
#include "mcp/hub/mcp_hub.h"
#include "wire/tools/tool_set.h"

struct citation;
struct cite_marker;
struct turn_call;
struct span;
struct web_session;

/* What is needed to call a tool of an MCP server; both outlive the call. */
struct turn_tool {
    struct mcp_catalogue *catalogue;
    const struct mcp_catalogue_tool *tool;
    const struct mcp_remote *remote; /* of a server that the request brought, else NULL */
};

/* Why a call has failed, as far as that is counted. */
enum turn_call_failure {
    TURN_CALL_FAILED,
    TURN_CALL_TIMEOUT,
    TURN_CALL_LIMIT,
    TURN_CALL_ARGUMENTS
};

/* What a call came to. A zeroed one is empty. */
struct turn_call_result {
    bool is_failed;
    enum turn_call_failure why; /* while it is */
    const char *error_type;     /* why, in a word; NULL: tool_error */
    struct buf output;          /* escaped, for the model */
    struct buf error;           /* of an MCP call, also one that has not failed: raw JSON */
    struct buf outputs;         /* of code: a raw array; empty: there are none */
    struct buf tools;           /* of a search for tools: the elements of what it has found, raw */
    struct buf shown;           /* of a call that is shown whole: raw; empty: as it was announced */
};

struct turn_call_kind {
    /* Begins the call and returns what is under way, which reports by turn_call_ended(), never from
     * inside; or NULL when there is nothing to wait for, with *ret filled. */
    void *(*start)(struct turn_call *c, struct turn_call_result *ret);
    /* Nobody waits for the call any more: no report. NULL: nothing is ever under way. */
    void (*cancel)(void *work);
    /* A call of this kind has something to do, but nothing to wait for: start is called when it is
     * added, which may be on the pool, and touches nothing but the calls and the arena. */
    bool starts_at_once;
    const char *name; /* of the tool; NULL: each call's own */
};

/* turn_call_web_search and so on, one for each row of conv/hosted.def, and one for MCP servers. */
#define HOSTED_TOOL(symbol, type, ...) extern const struct turn_call_kind turn_call_##type;
#include "conv/hosted.def"
extern const struct turn_call_kind turn_call_mcp;

/* Who runs the calls of a tool; HOSTED_NONE: an MCP server. */
const struct turn_call_kind *turn_call_kind(enum hosted_kind kind);

/* A call of a tool; its views outlive it. */
struct turn_call {
    struct turn_calls *of;
    const struct turn_call_kind *kind;
    const struct turn_tool *tool; /* of an MCP server; NULL: there is none, the model made it up */
    str text;    /* escaped (json_text_dup): the code, or else the arguments, JSON */
    void *place; /* the owner's: where its outcome goes */
    void *work;  /* while it is under way */
    struct turn_call_result result; /* once it has ended, until the owner has been given it */
    bool is_started, is_closed;
    uint64_t start_ms;
    str call_id;       /* escaped: as the model calls it; or STR_NONE */
    struct span *span; /* while it is under way; NULL: nothing is traced */
    struct turn_call *next;
};

/* The calls of a turn, and what they share. */
struct turn_calls {
    struct flight *flight; /* the owner's, which is woken when one has ended */
    /* c->result is what it came to: takes what is in it. */
    void (*close)(struct turn_call *c);
    bool runs_one_by_one; /* else side by side */
    enum mcp_result_form form;
    bool has_error_objects; /* result.error may be an object; else it is a text */

    /* hosted tools */
    const struct code_declaration *code;     /* NULL: there is no code interpreter */
    str container_id;                        /* of its calls, plain */
    const struct search_declaration *search; /* NULL: there is no web search */
    struct tool_set *tools;                  /* of the request, which a search for tools changes */
    size_t first_cursor;                     /* of what is searched and opened */
    bool shows_sources;                      /* of a search */
    struct web_session *web;                 /* what was searched and opened; NULL: nothing yet */
    struct buf cited_url, cited_title;       /* of the source found last, escaped */

    /* of a round, in the order of the model; in the arena of the flight */
    struct turn_call *first, *last;
    unsigned n_running;
};

/* Adds one to be run: its kind, tool, text and place are set. False when out of memory. */
bool turn_calls_add(struct turn_calls *all, const struct turn_call *call);

/* Gives the owner what has ended, and starts what has not begun. TURN_WAIT while one is under way, else
 * TURN_GO, and all are forgotten. */
enum turn_next turn_calls_run(struct turn_calls *all);

/* Calls that are under way are not waited for any more. */
void turn_calls_cancel(struct turn_calls *all);

/* Frees what is left of them when the turn ends. */
void turn_calls_fini(struct turn_calls *all);

/* What a marker in the answer cites, of what was searched and opened; arg is the struct turn_calls. Views
 * live until the next. In turn_call_web_search.c. */
bool turn_calls_find_source(void *arg, const struct cite_marker *marker, struct citation *ret);

/* ---- for those who run them */

/* The call has ended. Takes what is in r; the call and its turn may be gone afterwards. */
void turn_call_ended(struct turn_call *c, struct turn_call_result *r);

/* Makes r that of a call that has failed; why is plain, for the model. */
void turn_call_fail(struct turn_call_result *r, str why);

#endif
