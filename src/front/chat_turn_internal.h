/* chat_turn_internal.h -- what the files of a chat turn share.
 *
 * chat_turn.c         states, reports of the upstream and the client, time, the end
 * chat_turn_offer.c   the tools that it offers, and what they are called
 * chat_turn_round.c   the upstream call of a round
 * chat_turn_tools.c   the calls that the model makes
 * chat_turn_answer.c  what the client gets, and the log */
#ifndef ANTIPHON_FRONT_CHAT_TURN_INTERNAL_H
#define ANTIPHON_FRONT_CHAT_TURN_INTERNAL_H

#include "front/chat_turn.h"
#include "mcp/hub/mcp_hub.h"
#include "turn/flight.h"
#include "turn/worker.h"
#include "wire/loop/chat_loop_request.h"
#include "wire/loop/chat_merge.h"

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
    struct flight flight; /* first; its call is this round's */
    enum chat_turn_state state;
    struct buf rewritten; /* the client's body after chat_rewrite(), or empty */
    struct chat_loop_request request;

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

    struct http_header *headers; /* of the call, for an answer without a stream: in the arena */
    size_t n_headers;
    bool is_begun;   /* the head of the answer has been sent */
    bool is_relayed; /* an answer of the upstream's passes as it is */
};

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

/* ---- chat_turn_answer.c; those that end the answer leave t->flight.x NULL */

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

/* The answer is complete but for what chat_merge_finish() appends to out. */
void chat_turn_finish(struct chat_turn *t, struct buf *out);

/* It cannot be completed: an error answer, or one at the end of the stream. */
void chat_turn_fail(struct chat_turn *t, const struct err *e, struct buf *out);

void chat_turn_log(const struct chat_turn *t, const char *status, const struct err *e);

#endif
