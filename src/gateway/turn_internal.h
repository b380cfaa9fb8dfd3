/* turn_internal.h -- what the files of a turn share.
 *
 * turn.c            states, reports of the upstream and the client, time, the end
 * turn_work.c       steps that take long, on other threads
 * turn_prepare.c    the request is read
 * turn_state.c      what it reads from the store and leaves there
 * turn_tools.c      the tools of MCP servers that it may use
 * turn_tool_set.c   which of them, by what names, and who has to approve
 * turn_round.c      one round with the model after the other
 * turn_round_end.c  what it says, and what follows
 * turn_truncate.c   less of a conversation that is too long
 * turn_calls.c      the calls of tools that the gateway runs; turn_call.h says who runs them
 * turn_reasoning.c  reasoning that comes back sealed, or not at all
 * turn_rounds.c     calls of the gateway's own that do not come back
 * turn_answer.c     what the client gets */
#ifndef ANTIPHON_GATEWAY_TURN_INTERNAL_H
#define ANTIPHON_GATEWAY_TURN_INTERNAL_H

#include "conv/kept_item.h"
#include "gateway/flight.h"
#include "gateway/reasoning_seal.h"
#include "gateway/turn.h"
#include "gateway/turn_log.h"
#include "gateway/upstream_facts.h"
#include "gateway/worker.h"
#include "mcp/mcp_hub.h"
#include "response/response_hosted.h"
#include "response/round.h"
#include "store/store.h"
#include "wire/chat_request.h"
#include "wire/model_profile.h"
#include "wire/request_resolve.h"
#include "wire/responses_request.h"

enum turn_state {
    TURN_RECOGNISE,
    TURN_PARSE,
    TURN_LOAD,
    TURN_TOOLS,
    TURN_CALLS,
    TURN_ROUND,
    TURN_SAVE,
    TURN_DONE,
};

struct turn_call;
struct turn_step;
struct web_session;

/* A server whose tools the request may use, in the arena. */
struct turn_server {
    struct turn *turn;
    struct mcp_declaration *declaration; /* NULL: injected */
    const struct mcp_server_view *view;  /* of a configured server, else NULL */
    const struct mcp_remote *remote;     /* of one that the request brought, else NULL */
    struct mcp_catalogue *tools;         /* a reference; NULL: not known yet */
    struct mcp_filter allowed;           /* by the request; while is_filtered */
    struct mcp_approval floor, asked;    /* of approvals; asked by the request if asks */
    bool is_filtered, asks, is_listed;   /* is_listed: the context has its listing */
    struct output_item *item;            /* its listing while that is under way; or NULL */
    struct mcp_task *task;               /* the same */
    struct turn_server *next;
};

/* What an upstream got wrong, for the log. */
struct turn_flaws {
    size_t skipped_chunks;
    unsigned n_repairs;
    const char *repair; /* the last one, a constant; NULL: there was none */
};

struct turn {
    struct flight flight; /* first; its call is this round's */
    enum turn_state state;
    const struct turn_step *step; /* on another thread, while it is there (turn_work.c) */
    struct responses_request request;
    struct model_profile profile; /* of its model, once there is a response */
    struct chat_request_options chat;
    struct conversation conversation;
    struct buf chat_body, echo;
    struct buf opening; /* the first events, when they are large: written with the echo */
    struct buf large;   /* events, or an object, that were written by a step elsewhere */
    struct buf unread;  /* of the upstream's answer, for such a step */
    struct response response;
    struct round round;
    enum response_dialect dialect; /* of its stream */
    unsigned n_shortened;          /* how often it was sent again with less of the conversation */
    size_t n_left_out;             /* messages of it that are not sent (conv/trim.h) */
    bool is_aimed;                 /* it was cut by the upstream's numbers, and is under way */
    bool has_response, has_round;  /* are initialised */
    bool is_begun;                 /* the head of the stream has been sent */
    bool has_ended;                /* the response, with the round that has ended last */
    bool has_call_ended;           /* the upstream's, during a step that hears it */

    struct upstream_facts *facts; /* a reference, of the beginning; NULL: nothing was known */

    /* in the arena; the store works with them, in tasks of the flight */
    str previous_id, conversation_id; /* what the request continues, or STR_NONE */
    str lock_name, lock;              /* lock: the conversation is locked by that name */
    struct request_references references;
    struct request_history_item *found; /* one for each of them */
    struct store_history history;
    struct store_response record;
    struct arena kept; /* of record: what was read of the request leaves it its full size */
    struct reasoning_source reasoning_source;
    struct reasoning_seal seal;
    str memory_scope; /* whose reasoning and rounds they are, or STR_NONE: not asked for yet */
    struct store_task store_task;
    const struct err *not_stored; /* why, for the log */
    const struct err *failure;    /* of the round's upstream call, while its end is dealt with */

    /* tools of the gateway's own */
    const struct code_declaration *code; /* NULL: the request has no code interpreter */
    str container_id;                    /* of its calls, plain */
    struct web_session *web;             /* what was searched and opened; NULL: nothing yet */
    struct response_sources sources;
    struct buf cited_url, cited_title; /* of the source found last, escaped */

    /* MCP */
    struct mcp_snapshot *servers; /* or NULL */
    struct turn_server *first_server, *last_server;
    uint64_t tools_deadline_ms;
    struct turn_call *calls;          /* of the round, in the order of the model; in the arena */
    struct output_item **round_start; /* where the output ended when the round began */
    unsigned n_listings, n_calls;     /* under way */
    unsigned n_rounds;                /* that have begun */
    struct turn_flaws flaws;          /* of the rounds before */
    struct history_repairs history_repairs; /* of the last request to the upstream */
    enum finish finish;                     /* of the round before the calls */
    struct chat_result result;              /* of the round that has ended last */

    uint64_t last_event_ms;
};

void turn_move(struct turn *t, enum turn_state to);

/* Ends a running turn with an error: an HTTP error, or response.failed in a
 * stream that has begun. In turn_answer.c. */
void turn_fail(struct turn *t, const struct err *e);

/* ---- turn_work.c */

struct turn_step {
    const char *name; /* of what follows, for the log of long holds of the loop */
    /* Touches nothing but the turn, what is constant and what may be used from any thread.
     * Returns 0, or -1 with *reterr filled. */
    int (*work)(struct turn *t, struct err *reterr);
    /* On the loop, after work has succeeded. Returns 0, or -1 with *reterr filled. */
    int (*then)(struct turn *t, struct err *reterr);
    bool hears_call;      /* the upstream's call is paused meanwhile, else cancelled */
    bool needs_no_client; /* then() follows also if the client has left; it does not fail */
};

/* Does the step, here or elsewhere, by how much there is to do; nothing else may be done with the
 * turn behind it. Returns 0, or -1 with *reterr filled, and nothing follows. A failure elsewhere
 * refuses the request, or fails the response when there are rounds. */
int turn_step(struct turn *t, size_t weight, const struct turn_step *step, struct err *reterr);

/* About how many bytes are gone through to read, write or store what the turn holds. */
size_t turn_weight(const struct turn *t);

/* Makes a failure stay as long as the turn. */
void turn_keep_failure(struct turn *t, const struct err *failure);

/* ---- turn_prepare.c */

/* Reads the request and goes on with turn_load() or turn_resolved(). Returns 0, or -1
 * with *reterr filled. */
int turn_prepare(struct turn *t, struct err *reterr);

/* What the request refers to is there. Goes on with turn_tools() or turn_ask(). Returns 0,
 * or -1 with *reterr filled. */
int turn_resolved(struct turn *t, struct err *reterr);

/* If the turn's memory was too small for the request, e says so afterwards. */
void turn_explain_size(const struct turn *t, struct err *e);

/* ---- turn_tools.c */

/* Finds out the tools of the request's servers, which may take a while, then goes on with
 * turn_run_approved(). Returns 0, or -1 with *reterr filled. */
int turn_tools(struct turn *t, struct err *reterr);

/* Time has passed in TURN_TOOLS, before there is a response: looks again for servers that are
 * just being started. */
void turn_look_for_tools(struct turn *t);

void turn_cancel_tools(struct turn *t);
void turn_free_tools(struct turn *t);

/* ---- turn_tool_set.c */

/* How requests are read here: injected tools may join each. */
struct responses_request_options turn_request_options(struct turn *t);

/* What all configured servers and declarations come to, without their tools: policies,
 * URLs, headers. Returns 0, or -1 with *reterr filled. */
int turn_choose_servers(struct turn *t, struct err *reterr);

/* All servers' tools are known: gives them to the request. Returns 0, or -1 with *reterr filled. */
int turn_add_tools(struct turn *t, struct err *reterr);

/* What is needed to run a tool of the request. */
struct turn_tool {
    const struct turn_server *server;
    const struct mcp_catalogue_tool *tool;
};

/* That kind of tool, if the request has one; or NULL. */
const struct tool *turn_find_tool(const struct turn *t, enum tool_kind kind);

/* ---- turn_round.c */

/* Makes the response, which may be shown from then on. Returns 0, or -1 with *reterr filled. */
int turn_open_response(struct turn *t, struct err *reterr);

/* Asks the model; reports go to turn_call_handler. Returns 0, or -1 with *reterr filled. */
int turn_ask(struct turn *t, struct err *reterr);

/* Writes the conversation as it is now, and sends it, in place of what was refused. Return 0, or -1
 * with *reterr filled. */
int turn_write_again(struct turn *t, struct err *reterr);
int turn_ask_again(struct turn *t, struct err *reterr);

extern const struct http_call_handler turn_call_handler;

/* ---- turn_round_end.c */

/* The next bytes of the upstream's answer. */
void turn_hear(struct turn *t, str bytes, struct buf *out);

/* The model has said all of this round: runs what it called, or ends the response. */
void turn_end_round(struct turn *t, const struct err *failure, struct buf *out);

/* All calls have ended: the next round, or the end. */
void turn_go_on(struct turn *t, struct buf *out);

/* ---- turn_truncate.c */

/* Leaves out of the conversation what was left out before: in this turn, or when one like it was
 * cut. */
void turn_cut(struct turn *t);

/* A round came through: remembers where the conversation was cut for it. A cut that was no more than
 * a guess is not worth it. */
void turn_keep_cut(struct turn *t);

/* Would the next be asked? */
bool turn_may_shorten(const struct turn *t, const struct err *e);

/* The upstream said e. If it was too much for it, and the client allows the
 * oldest turns to be left out, asks again; otherwise returns false. */
bool turn_retry_shorter(struct turn *t, const struct err *e);

/* ---- turn_calls.c */

/* Runs what the client has approved, then goes on with turn_ask(). Returns 0, or -1 with
 * *reterr filled. */
int turn_run_approved(struct turn *t, struct err *reterr);

/* Runs what the model has called in this round, then goes on with turn_go_on(). */
void turn_run_calls(struct turn *t, struct buf *out);

/* Nobody waits for them any more. */
void turn_cancel_calls(struct turn *t);

/* ---- turn_call_code.c */

/* Which container the request's code runs in, if it has a code interpreter. Returns 0, or -1 with
 * *reterr filled. */
int turn_choose_container(struct turn *t, struct err *reterr);

/* ---- turn_call_web.c */

/* What the answer may cite; NULL: the request has no web search. */
const struct response_sources *turn_sources(struct turn *t);

void turn_free_web(struct turn *t);

/* ---- turn_state.c */

/* 0, or -1 with *reterr filled when the store is known not to do what the request needs:
 * then the model is not asked in vain. */
int turn_check_store(const struct turn *t, struct err *reterr);

/* Finds out what the request refers to. Returns 0, or -1 with *reterr filled. */
int turn_list_references(struct turn *t, struct err *reterr);

/* Fetches it, then goes on with turn_resolved(). Returns 0, or
 * -1 with *reterr filled. */
int turn_load(struct turn *t, struct err *reterr);

/* Completes the request with what was fetched. Returns 0, or -1 with *reterr filled. */
int turn_resolve(struct turn *t, struct err *reterr);

/* Stores the response, then goes on with turn_on_saved(). */
void turn_save(struct turn *t);

/* The response in this conversation is not going to be stored: unlocks it, then goes
 * on with turn_on_saved(). */
void turn_release(struct turn *t);

/* Unlocks the conversation if it still is locked; nobody waits for that. */
void turn_unlock(struct turn *t);

/* ---- turn_reasoning.c */

/* Where the conversation finds reasoning that the client left out; or NULL. */
const struct reasoning_source *turn_reasoning(struct turn *t);

/* What reads encrypted_content. */
const struct text_seal *turn_seal(struct turn *t);

/* What makes it; NULL: the client has not asked for it. */
const struct text_seal *turn_asked_seal(struct turn *t);

/* Remembers that of a response that has ended. */
void turn_keep_reasoning(struct turn *t);

/* Whose memory it is; made when it is first asked for: most turns need none, some for hundreds of
 * calls. STR_NONE when it cannot be told. */
str turn_memory_scope(struct turn *t);

/* ---- turn_rounds.c */

/* Puts what the gateway has run before into a request that does not bring it along. Returns 0, or
 * -1 with *reterr filled. */
int turn_put_back(struct turn *t, struct err *reterr);

/* Remembers what it has run in a response that has ended. */
void turn_keep_rounds(struct turn *t);

/* ---- turn_answer.c; each may end the answer, after which t->flight.x is NULL */

/* Where events go until turn_send_events(), emptied; NULL when none are wanted. */
struct buf *turn_fresh_out(struct turn *t);

/* Sends what is in that buffer, in one system call. */
void turn_send_events(struct turn *t);

/* The same for t->large, which a step has written elsewhere, and which is empty afterwards. */
void turn_send_large(struct turn *t);

/* Sends the head of the stream, response.created and response.in_progress,
 * together with what the upstream may have said already; nothing when it has begun. */
void turn_begin_stream(struct turn *t);

/* Signs of life in a stream that says nothing; starts the timer for the next. */
void turn_keep_alive(struct turn *t);

/* The response has ended, but for its terminal event: what was said last is in the
 * buffer. Stores it if it is to be kept, else unlocks its conversation: a client that
 * hears of the end may use it again at once. */
void turn_finish(struct turn *t);

/* It is stored, or is not to be, or could not be: failure is not NULL. The turn may be
 * over then. */
void turn_on_saved(struct turn *t, const struct err *failure);

void turn_answer_error(struct turn *t, const struct err *e);

/* The request cannot be prepared: an HTTP error, unless servers were being listed or approved
 * calls were to be run and its stream has begun. */
void turn_refuse(struct turn *t, const struct err *e);

/* Of all rounds until now. */
struct turn_flaws turn_flaws(const struct turn *t);

/* For the log line of the turn. */
struct turn_summary turn_summarize(const struct turn *t);

#endif
