/* chat_turn_internal.h -- what the files of a chat turn share.
 *
 * chat_turn.c         stages, reports of the upstream and the client
 * chat_turn_offer.c   the tools that it offers, and what they are called
 * chat_turn_admit.c   which upstream is asked, when, and whether another
 * chat_turn_round.c   the upstream call of a round
 * chat_turn_tools.c   the calls that the model makes
 * chat_turn_answer.c  what the client gets, and the log */
#ifndef ANTIPHON_FRONT_CHAT_TURN_INTERNAL_H
#define ANTIPHON_FRONT_CHAT_TURN_INTERNAL_H

#include "call/turn_call.h"
#include "flight/worker.h"
#include "front/chat_turn.h"
#include "mcp/hub/mcp_hub.h"
#include "wire/dialect/model_profile.h"
#include "wire/loop/chat_loop_request.h"
#include "wire/loop/chat_merge.h"

/* What the model gets for a call that it has made. */
struct chat_turn_result {
    str id;          /* of the call, escaped, of the round's said */
    struct buf text; /* escaped */
};

struct chat_turn {
    struct flight flight; /* first; its call is this round's */
    struct buf rewritten; /* the client's body after chat_rewrite(), or empty */
    struct chat_loop_request request;
    bool is_refused;   /* its caller may not ask for this model, ... */
    str refused_model; /* ... which is plain, or "" */

    struct mcp_snapshot *snapshot;
    struct server_tool *tools;    /* in the arena, like the names */
    struct chat_loop_tools names; /* of the same places */
    struct buf offer;             /* elements of `tools` */
    bool has_offer;               /* there are any: it is not to be relayed */

    struct chat_merge merge;
    struct buf body, history; /* of the next upstream call: the whole, and messages in it */
    struct buf named;         /* the whole with another name of the model; or empty */
    unsigned n_rounds;
    bool is_mixed;             /* the client's calls wait for ours */
    const struct err *failure; /* of the upstream call; or NULL */

    struct turn_calls calls;
    struct chat_turn_result *results; /* of the round's calls that are ours */
    size_t n_results;
    size_t n_made;                         /* in all rounds, for the log */
    unsigned n_failed;                     /* of those */
    unsigned n_not_forced, n_broken_calls; /* of those: not run, and repaired for the next round */

    struct http_header *headers; /* of the call, for an answer without a stream: in the arena */
    size_t n_headers;
    str route_model; /* that decides who may serve it, plain; STR_NONE: not known, or of no matter */
    const struct err
        *no_route; /* why nobody may serve it: its limits are asked before that is told; or NULL */
    const struct err *retried; /* what the last attempt has failed with; or NULL */
    bool awaits_list;          /* of models, of its upstream */
    bool is_held; /* an answer that is not good, until it is known whether another is asked for */
    bool is_retried; /* the round is asked for again */
    bool has_shown;  /* something of the round was passed on */
    bool is_begun;   /* the head of the answer has been sent */
    bool is_relayed; /* an answer of the upstream's passes as it is */
};

/* ---- chat_turn_offer.c */

/* Finds what can be offered, under names that the client's functions leave free. False when that is
 * nothing, and when out of memory: the request is better relayed. */
bool chat_turn_offer(struct chat_turn *t);

/* Has servers started whose tools would be offered, had they not crashed; for a later request: this
 * one does not wait for them. */
void chat_turn_want_servers(const struct worker *w, const struct mcp_snapshot *snapshot);

/* True when chat_turn_offer() would find anything, names aside. */
bool chat_turn_has_offer(const struct worker *w, const struct mcp_snapshot *snapshot);

/* How long such a request waits for servers that are just being started. */
uint64_t chat_turn_patience_ms(const struct worker *w, const struct mcp_snapshot *snapshot);

/* ---- chat_turn_admit.c */

/* ROUTE: who may serve its model; lists of models that are missing are waited for. */
size_t chat_turn_route_weight(const void *arg);
int chat_turn_look_for_model(void *arg, struct err *reterr);
enum turn_next chat_turn_find_route(void *arg, struct err *reterr);
void chat_turn_on_known(void *arg);

/* ADMIT: there is a place at an upstream. */
enum turn_next chat_turn_admit(void *arg, struct err *reterr);

/* The head of an answer that is not good: is it held? */
bool chat_turn_holds(struct chat_turn *t, const struct http_header *headers, size_t n_headers);

/* The round has failed with e: is it asked for again? */
bool chat_turn_plans_retry(struct chat_turn *t, struct err *e);

/* What was held is passed on after all. */
void chat_turn_release(struct chat_turn *t);

/* ---- chat_turn_round.c */

/* WRITE: the body of the next round is written. */
size_t chat_turn_weight(const void *arg);
int chat_turn_write_request(void *arg, struct err *reterr);

/* ASK: it is sent, under the name that the upstream has for the model; the call reports to
 * chat_turn_call_handler. */
int chat_turn_name_model(void *arg, struct err *reterr);
enum turn_next chat_turn_ask(void *arg, struct err *reterr);

extern const struct http_call_handler chat_turn_call_handler; /* in chat_turn.c */

/* The profile of the request's model, as it is known just now. */
struct model_profile chat_turn_profile(struct chat_turn *t);

/* ---- chat_turn_tools.c */

/* CALLS: those of the round are run. With calls of the client besides, the answer has ended then. */
int chat_turn_gather_calls(void *arg, struct err *reterr);
enum turn_next chat_turn_run_calls(void *arg, struct err *reterr);

/* Takes what a call came to (turn_call.h). */
void chat_turn_close_call(struct turn_call *c);

/* Appends what was called and what came of it to the history, and forgets the results. */
void chat_turn_remember(struct chat_turn *t);
void chat_turn_forget_results(struct chat_turn *t);

/* ---- chat_turn_answer.c; those that end the answer leave the flight without a client */

/* Where the client's bytes go until they are sent. */
struct buf *chat_turn_out(struct chat_turn *t);
void chat_turn_send(void *arg);

/* The head of the upstream's first good answer has come: a stream begins. */
void chat_turn_begin(struct chat_turn *t, const struct http_header *headers, size_t n_headers);

/* An answer that is not good passes as it is. */
void chat_turn_relay_head(struct chat_turn *t, const struct http_header *headers, size_t n_headers);
void chat_turn_relay_end(struct chat_turn *t, const struct err *failure);

/* Keeps the head of an answer without a stream. False when out of memory. */
bool chat_turn_keep_head(struct chat_turn *t, const struct http_header *headers, size_t n_headers);

/* The answer is complete but for what chat_merge_finish() appends. */
void chat_turn_finish(struct chat_turn *t);

/* The answer cannot be completed: it is an error, or ends its stream with one. */
void chat_turn_fail(void *arg, const struct err *e);

void chat_turn_log(struct chat_turn *t, const char *status, const struct err *e);

#endif
