/* chat_turn_internal.h -- what the files of a chat turn share.
 *
 * chat_turn.c         states, reports of the upstream and the client, time, the end
 * chat_turn_offer.c   the tools that it offers, and what they are called
 * chat_turn_round.c   the upstream call of a round
 * chat_turn_tools.c   the calls that the model makes
 * chat_turn_answer.c  what the client gets, and the log */
#ifndef ANTIPHON_GATEWAY_CHAT_TURN_INTERNAL_H
#define ANTIPHON_GATEWAY_CHAT_TURN_INTERNAL_H

#include "gateway/api_key.h"
#include "gateway/chat_turn.h"
#include "gateway/upstream_answer.h"
#include "gateway/worker.h"
#include "mcp/mcp_hub.h"
#include "wire/chat_loop_request.h"
#include "wire/chat_merge.h"

enum chat_turn_state { CHAT_TURN_READ, CHAT_TURN_MODEL, CHAT_TURN_TOOLS, CHAT_TURN_DONE };

/* A tool under the name of the same place in chat_turn.names. */
struct chat_turn_tool {
    str label;
    struct mcp_catalogue *catalogue; /* both live as long as the snapshot */
    const struct mcp_catalogue_tool *tool;
};

/* A call that the model has made. */
struct chat_turn_call {
    struct chat_turn *turn;
    struct mcp_task *task; /* NULL: not under way */
    str id;                /* escaped, of the round's said */
    struct buf text;       /* plain: what the model gets */
};

struct chat_turn {
    struct worker *worker;
    struct http_exchange *x; /* NULL when the answer is complete or the client gone */
    struct http_call *call;  /* NULL when the upstream call has ended */
    enum chat_turn_state state;
    struct chat_turn *next, **link; /* in the worker's list */

    struct arena arena;
    str request_id, client; /* in the arena */
    struct caller caller;
    const struct http_request *http; /* lives as long as x */
    struct buf rewritten;            /* the client's body after chat_rewrite(), or empty */
    struct chat_loop_request request;

    struct http_exchange *held; /* while work is done elsewhere; else NULL */
    struct loop_job job;        /* of that */
    int (*work)(struct chat_turn *t, struct err *reterr);
    void (*then)(struct chat_turn *t, const struct err *failure);
    int rc; /* of the work */
    struct err error;
    size_t body_bytes; /* of the client's request, without its coding */

    struct mcp_snapshot *snapshot;
    struct chat_turn_tool *tools; /* in the arena, like the names */
    struct chat_loop_tools names;
    struct buf offer; /* elements of `tools` */

    struct chat_merge merge;
    struct buf body, history; /* of the next upstream call: the whole, and messages in it */
    unsigned n_rounds;
    bool is_mixed; /* the client's calls wait for ours */

    struct chat_turn_call *calls; /* of the round */
    size_t n_calls, n_running;
    size_t n_made;                         /* in all rounds, for the log */
    unsigned n_not_forced, n_broken_calls; /* of those: not run, and repaired for the next round */

    struct upstream_answer answer; /* of the round's call */
    struct http_header *headers;   /* of it, for an answer without a stream: in the arena */
    size_t n_headers;
    bool is_begun;   /* the head of the answer has been sent */
    bool is_relayed; /* an answer of the upstream's passes as it is */

    struct loop_timer *timer;
    uint64_t start_ms, first_byte_ms, last_write_ms;
    bool is_blocked; /* the client reads slowly: the upstream is paused */
};

/* Runs work and then `then`: at once, or, when there is much to do, on the pool of threads; until then
 * the turn belongs to that, and stays also if the client leaves, which then() is not told. failure
 * is NULL or what work has filled in. Returns false when then() has not run yet. */
bool chat_turn_work(struct chat_turn *t, size_t weight,
                    int (*work)(struct chat_turn *t, struct err *reterr),
                    void (*then)(struct chat_turn *t, const struct err *failure));

void chat_turn_cancel(struct chat_turn *t);
void chat_turn_free_if_over(struct chat_turn *t);

/* ---- chat_turn_offer.c */

/* Finds what can be offered, under names that the client's functions leave free. Returns
 * the number of tools; 0 as well when out of memory: the request is better relayed. */
size_t chat_turn_offer(struct chat_turn *t);

/* Has servers started whose tools would be offered, had they not crashed; for a later request: this
 * one does not wait for them. */
void chat_turn_want_servers(const struct worker *w, const struct mcp_snapshot *snapshot);

/* Would that find anything at all? */
bool chat_turn_has_offer(const struct worker *w, const struct mcp_snapshot *snapshot);

/* ---- chat_turn_round.c */

/* Starts the upstream call of the next round, which reports to chat_turn_call_handler; or fails the
 * turn. */
void chat_turn_ask(struct chat_turn *t);

extern const struct http_call_handler chat_turn_call_handler;

/* ---- chat_turn_tools.c */

/* Starts the calls of the round. chat_turn_on_results() follows when all have ended, at
 * once if none could be started. */
void chat_turn_call_tools(struct chat_turn *t);

/* Appends what was called and what came of it to the history. */
void chat_turn_remember(struct chat_turn *t);

void chat_turn_cancel_tools(struct chat_turn *t);
void chat_turn_on_results(struct chat_turn *t); /* in chat_turn.c */

/* ---- chat_turn_answer.c; those that end the answer leave t->x NULL */

/* Where the client's bytes go until chat_turn_send(), emptied. */
struct buf *chat_turn_fresh_out(struct chat_turn *t);
void chat_turn_send(struct chat_turn *t);

/* The head of the upstream's first good answer has come: a stream begins. */
void chat_turn_begin(struct chat_turn *t, const struct http_header *headers, size_t n_headers);

/* An answer that is not good passes as it is. */
void chat_turn_relay_head(struct chat_turn *t, const struct http_header *headers, size_t n_headers);
void chat_turn_relay_end(struct chat_turn *t, const struct err *failure);

/* Keeps the head of an answer without a stream. False when out of memory. */
bool chat_turn_keep_head(struct chat_turn *t, const struct http_header *headers, size_t n_headers);

void chat_turn_keep_alive(struct chat_turn *t);

/* The answer is complete but for what chat_merge_finish() appends to out. */
void chat_turn_finish(struct chat_turn *t, struct buf *out);

/* It cannot be completed: an error answer, or one at the end of the stream. */
void chat_turn_fail(struct chat_turn *t, const struct err *e, struct buf *out);

void chat_turn_log(const struct chat_turn *t, const char *status, const struct err *e);

#endif
