/* turn_internal.h -- what the files of a turn share.
 *
 * turn.c            the table of stages, reports of the upstream and the client
 *
 * Stages, which do not know of each other (turn_stages.h):
 * turn_prepare.c    the request is read, and completed
 * turn_accept.c     a response for the background is put in the queue, or begun
 * turn_state.c      what it reads from the store and leaves there
 * turn_tools.c      the tools of MCP servers that it may use
 * turn_calls.c      the calls of tools that the gateway runs; turn_call.h says who runs them
 * turn_admit.c      which upstream is asked, and when
 * turn_round.c      the model is asked
 * turn_count.c      how many tokens that is, and whether they fit
 * turn_compact.c    is it time for a summary, and the question for one
 * turn_summary.c    the answer to that
 * turn_round_end.c  what it says, and what follows
 * turn_end.c        the last event, or the object
 *
 * What they use:
 * turn_limit.c      what it takes of its caller's limits
 * turn_run.c        begin and end of what runs in the background
 * turn_journal.c    what is new of that, written down as it comes
 * turn_left.c       what goes on without its client
 * turn_readers.c    those who read the events beside the client, or in its place
 * turn_answer.c     what the client gets until then
 * turn_response.c   the response is made
 * turn_fields.c     fields of the request that not all upstreams know
 * turn_answer_mark.c  where the next request finds this answer in a cache
 * turn_own_tools.c  what it says of hosted tools
 * turn_tool_set.c   which tools, by what names, and who has to approve
 * turn_truncate.c   less of a conversation that is too long
 * turn_reasoning.c  reasoning that comes back sealed, or not at all
 * turn_read_back.c  compaction items that come back
 * turn_rounds.c     calls of the gateway's own that do not come back
 * turn_context.c    what is continued without a store
 * turn_view.c       what operators see of it, and that one cancels it */
#ifndef ANTIPHON_TURN_TURN_INTERNAL_H
#define ANTIPHON_TURN_TURN_INTERNAL_H

#include "call/turn_call.h"
#include "conv/kept_item.h"
#include "flight/flight.h"
#include "flight/worker.h"
#include "mcp/hub/mcp_hub.h"
#include "response/response_hosted.h"
#include "response/round.h"
#include "resume/running.h"
#include "store/store.h"
#include "turn/owner_seal.h"
#include "turn/turn.h"
#include "turn/turn_log.h"
#include "upstream/token_count.h"
#include "upstream/upstream_facts.h"
#include "upstream/upstream_live.h"
#include "upstream/upstream_options.h"
#include "upstream/upstream_table.h"
#include "upstream/upstream_window.h"
#include "wire/chat/chat_request.h"
#include "wire/dialect/model_profile.h"
#include "wire/request/request_resolve.h"
#include "wire/request/responses_request.h"

struct reader_want;
struct turn_left;
struct turn_run;

/* The stages; in turn.c is what follows each. From TURN_RECORD on the response has ended. */
enum turn_state {
    TURN_ROUTE,
    TURN_RECOGNISE,
    TURN_PARSE,
    TURN_LOAD,
    TURN_RESOLVE,
    TURN_ACCEPT,
    TURN_TOOLS,
    TURN_LIST,
    TURN_OFFER,
    TURN_APPROVED,
    TURN_CALLS,
    TURN_DECIDE,
    TURN_WRITE,
    TURN_COUNT,
    TURN_COMPACT,
    TURN_ROUTE_SUMMARY,
    TURN_WRITE_SUMMARY,
    TURN_ADMIT_SUMMARY,
    TURN_ASK_SUMMARY,
    TURN_SUMMARY,
    TURN_COMPACTED,
    TURN_FIT,
    TURN_ADMIT,
    TURN_REWRITE,
    TURN_ASK,
    TURN_ROUND,
    TURN_HEAR,
    TURN_CLOSE,
    TURN_RETRY,
    TURN_SHORTEN,
    TURN_ANSWER,
    TURN_RECORD,
    TURN_SAVE,
    TURN_CONCLUDE,
    TURN_DONE,
};

/* A server whose tools the request may use, in the arena. */
struct turn_server {
    struct turn *turn;
    struct mcp_declaration *declaration; /* NULL: injected */
    const struct mcp_server_view *view;  /* of a configured server, else NULL */
    const struct mcp_remote *remote;     /* of one that the request brought, else NULL */
    struct mcp_catalogue *tools;         /* a reference; NULL: not known yet */
    struct mcp_filter allowed;           /* by the request; while is_filtered */
    struct mcp_approval floor, asked;    /* of approvals; asked by the request if asks */
    bool is_filtered, asks;
    bool is_shown;            /* the client gets an item with its tools */
    struct output_item *item; /* its listing while that is under way; or NULL */
    struct mcp_task *task;    /* the same, until it has reported */
    str why_not;              /* what it has failed with; STR_NONE: it has not */
    struct turn_server *next;
};

/* What an upstream got wrong, for the log. */
struct turn_flaws {
    size_t skipped_chunks;
    unsigned n_repairs;
    const char *repair; /* the last one, a constant; NULL: there was none */
};

/* What the request that was written comes to, in tokens of the model (CONTRACT 14). */
struct turn_context {
    int64_t tokens; /* 0: not known, for nothing wants to know */
    bool is_exact;  /* counted, or told by the upstream; else estimated */
};

/* A response for the background is being stored, or its begin; turn_accept.c's own. */
struct turn_accepting {
    bool is_begun;
    str request; /* as it is stored, in t->kept */
};

/* How that is found out; turn_count.c's own. */
struct turn_counting {
    struct prefix_marks marks; /* of chat_body, and ... */
    struct token_key key;      /* ... made of them, when it has one */
    bool has_key;
    struct token_request request; /* of chat_body, once somebody is asked */
    struct http_header headers[1 + FLIGHT_HEADERS];
    struct token_count *count; /* under way; or NULL */
    bool has_begun;
    const struct err *failure; /* NULL: none */
};

/* What the model is asked, in which form, and how its answer is to be read. */
struct turn_question {
    const struct responses_request *request;
    const struct model_profile *profile;
    const struct chat_request_options *chat;
    const struct conversation *conversation;
};

/* The round before it, from which that is estimated. */
struct turn_last_round {
    int64_t tokens;        /* of its request and of its answer; 0: not told, or there is none */
    size_t outputs_weight; /* of the outputs that its conversation had; see conv/trim.h */
};

/* A summary in the place of the context (turn_summary.h). */
struct turn_compaction {
    struct turn_summary_call
        *summary;         /* that is being made, or was what the client asked for; or NULL */
    bool is_settled;      /* the round at hand has been compacted, or cannot be */
    int64_t least_tokens; /* the context is not compacted before it has so many */
    struct item_list
        replaced; /* the items that the first summary took the place of, if has_replaced */
    bool has_replaced;
};

/* What is counted of it; turn_metrics.c's own. */
struct turn_counted {
    size_t n_deltas;   /* of the round at hand */
    uint64_t first_ms; /* when the first was read, of all rounds; 0: none */
};

struct turn {
    struct flight flight; /* first; its call is this round's */
    str route_model; /* that decides who may serve it, plain; STR_NONE: not known, or of no matter */
    struct responses_request request;
    struct model_profile profile;  /* of its model, once there is a response */
    struct upstream_window window; /* the same */
    struct chat_request_options chat;
    struct conversation conversation;
    struct buf chat_body, echo;
    size_t slot_at;     /* where its slot stands in chat_body; 0: it is told none (turn_round.c) */
    struct buf opening; /* the first events, when they are large: written with the echo */
    struct buf large;   /* events, or an object, that were written on the pool */
    struct buf unread;  /* of the upstream's answer, to be read there */
    struct response response;
    struct round round;
    struct turn_context context; /* of chat_body, behind TURN_COUNT */
    struct turn_counting counting;
    struct turn_last_round last_round; /* zeroed when another conversation takes its place */
    struct turn_compaction compaction;
    enum response_dialect dialect; /* of its stream */
    unsigned n_shortened;          /* how often it was sent again with less of the conversation */
    size_t n_left_out;             /* messages of it that are not sent (conv/trim.h) */
    const struct err
        *no_route; /* why nobody may serve its model, which its limits are asked before; or NULL */
    bool awaits_upstream;         /* it is being found out what it is, or which models it has */
    bool is_compact;              /* it was asked of /v1/responses/compact */
    bool is_aimed;                /* it was cut by the upstream's numbers, and is under way */
    bool has_response, has_round; /* are initialised */
    bool is_begun;                /* the head of the stream has been sent */
    bool is_asked;                /* the request of this round has been sent */
    bool is_window_open;          /* see turn_open_window() */
    bool is_retried;              /* the round is asked again, of another upstream or of the same */
    bool is_count;                /* it is only counted: POST /v1/responses/input_tokens */
    bool is_rewritten;            /* for another upstream than it was written for first */
    bool is_read_for_many;        /* its fields are those that any of several upstreams takes */
    bool has_ended;               /* the response, with the round that has ended last */

    struct extra_fields_options
        *other_fields; /* of all candidates; NULL: no field asked for them */
    size_t n_other_fields;
    struct extra_fields_options taken_fields; /* what turn_taken_fields() returns */
    struct upstream_facts *facts; /* a reference, of the beginning; NULL: nothing was known */

    /* in the arena; the store works with them, in tasks of the flight */
    str previous_id, conversation_id; /* what the request continues, or STR_NONE */
    str lock_name, lock;              /* lock: the conversation is locked by that name */
    struct id key_lock;               /* that of its Idempotency-Key, while it is held; or empty */
    bool may_be_joined;               /* by who repeats its request with that key */
    struct request_references references;
    struct request_history_item *found; /* one for each of them */
    struct store_history history;
    struct store_response record;
    struct turn_accepting accepted;
    struct turn_left *left; /* what it goes on with when its client leaves; or NULL */
    struct turn_run
        *run; /* work in the background: its own; NULL: the client waits for the answer */
    struct running_entry entry; /* while others may read its events (turn_readers.c) */
    bool lets_readers_wait;     /* they have asked while it was on the pool */
    struct arena kept; /* of record: what was read of the request leaves it its full size */
    struct reasoning_source reasoning_source;
    struct owner_seal seal, compaction_seal;
    str memory_scope; /* whose reasoning and rounds they are, or STR_NONE: not asked for yet */
    struct store_task store_task;
    struct peer_context *before,
        *after;                   /* references, or NULL: what it continues, and what it leaves,
                                            at the client's */
    struct buf context_tail;      /* of what it is to leave */
    bool has_context;             /* that is record.items, and the tail */
    const struct err *not_stored; /* why, for the log */
    const struct err *failure;    /* of what was waited for last; or NULL */
    const struct err
        *retried; /* what the last attempt has failed with, if the round was asked again; or NULL */

    struct response_sources sources; /* what the answer may cite */

    /* MCP */
    struct mcp_snapshot *servers; /* or NULL */
    struct turn_server *first_server, *last_server;
    uint64_t tools_since_ms; /* when they were looked for first; 0: not yet */
    struct turn_calls calls;
    struct output_item **round_start;       /* where the output ended when the round began */
    unsigned n_listings;                    /* under way */
    unsigned n_rounds;                      /* that have begun */
    unsigned n_calls, n_call_errors;        /* that were run, and those of them that failed */
    struct turn_flaws flaws;                /* of the rounds before */
    struct history_repairs history_repairs; /* of the last request to the upstream */
    enum finish finish;                     /* of the round before the calls */
    struct chat_result result;              /* of the round that has ended last */

    uint64_t last_event_ms;
    struct turn_counted counted;
};

/* ---- turn.c */

extern const struct http_call_handler turn_call_handler;

/* The turn of work, which is yet to get that and to be woken. NULL when out of memory. */
struct turn *turn_new_run(struct worker *w, struct peer nobody, const struct http_request *r,
                          const struct caller *caller);

/* About how many bytes are gone through to read, write or store what the turn holds. */
size_t turn_weight(const void *arg);

/* If there was no memory because the turn has all that one may have, e says so afterwards. */
void turn_explain_size(const struct turn *t, struct err *e);

/* What is known of its upstream, and how that counts tokens; NULL: see upstream_live.h. */
static inline struct upstream_watch *turn_watch(const struct turn *t)
{
    return t->flight.upstream->live->watch;
}

static inline struct token_memory *turn_counts(const struct turn *t)
{
    return t->flight.upstream->live->counts;
}

/* Of which kind its upstream is. */
static inline const struct upstream_profile *turn_kind(const struct turn *t)
{
    return upstream_kind_profile(t->flight.upstream->config, t->facts);
}

/* What the upstream calls the model, plain, in the arena; STR_NONE when out of memory. */
str turn_upstream_model(struct turn *t);

/* Ends the response as the end of the worker would: it fails, or the turn gives up. It may have no client
 * afterwards. */
void turn_end_early(struct turn *t, const struct err *e);

/* The turn waits for the store alone from now on: not for the count, servers, calls. */
void turn_stop_waiting(struct turn *t);

/* Frees what is known of servers, and cancels what they are asked; in turn_tools.c. */
void turn_cancel_tools(struct turn *t);
void turn_free_tools(struct turn *t);

/* Closes the item of a call (turn_call.h); in turn_calls.c. */
void turn_close_call(struct turn_call *c);

/* The model has said something, perhaps: for the log and for metrics; in turn_metrics.c. */
void turn_note_heard(struct turn *t);

/* Writes the body for the upstream once more, of the conversation as it stands; in turn_round.c. */
int turn_write_body(struct turn *t, struct err *reterr);

/* The next bytes of the upstream's answer; in turn_round_end.c. Returns whether the turn has to go on
 * with TURN_ROUND, with what is in out. */
bool turn_hear(struct turn *t, str bytes, struct buf *out);

/* ---- turn_tool_set.c */

/* How requests are read here: injected tools may join each. */
struct responses_request_options turn_request_options(struct turn *t);

/* What all configured servers and declarations come to, without their tools: policies,
 * URLs, headers. Returns 0, or -1 with *reterr filled. */
int turn_choose_servers(struct turn *t, struct err *reterr);

/* All servers' tools are known: gives them to the request. Returns 0, or -1 with *reterr filled. */
int turn_add_tools(struct turn *t, struct err *reterr);

/* ---- turn_fields.c */

/* The fields of the request are to be read for all upstreams that may serve it: adds what the others know to what
 * the likely one does. */
void turn_join_fields(struct turn *t, struct extra_fields_options *extra);

/* Of these, what its upstream takes; NULL: all of them, since they were read for it alone. */
const struct extra_fields_options *turn_taken_fields(struct turn *t);

/* ---- turn_answer_mark.c */

/* The last round has ended well, with the response: notes that its upstream knows the answer. */
void turn_mark_answer(struct turn *t);

/* ---- turn_response.c */

/* Makes the response, which may be shown from then on. Returns 0, or -1 with *reterr filled. */
int turn_open_response(struct turn *t, struct err *reterr);

/* ---- turn_admit.c */

/* The client of a stream waits for its beginning no longer than early_error_window, from the first time on. */
void turn_open_window(struct turn *t);

/* An attempt has failed so: is the round to be asked again? Its place has been given back. Any thread. When it is
 * not, the failure tells when the client may try again. */
bool turn_plans_retry(struct turn *t, struct err *failure);

/* ---- turn_round.c */

/* How the messages of the next round are written: sets t->chat. */
void turn_plan_chat(struct turn *t);

/* Writes the body for the upstream: t->chat_body. Returns 0, or -1 with *reterr filled. */
int turn_write_question(struct turn *t, const struct turn_question *q, struct err *reterr);

/* Sends it, with the slot of its session where it has one. The same. */
int turn_start_question(struct turn *t, const struct turn_question *q, struct err *reterr);

/* How the answer is read. */
struct chat_stream_conf turn_stream_conf(struct turn *t, const struct turn_question *q);

/* ---- turn_count.c */

/* The request for the upstream has been written, or written anew: what its prompt is. Out of memory, no
 * count of it is known. */
void turn_note_written(struct turn *t);

/* A round has ended well: keeps what the upstream says of the request's tokens. */
void turn_keep_usage(struct turn *t);

void turn_cancel_count(struct turn *t);

/* ---- turn_compact.c */

/* The tokens from which on the context is to be replaced by a summary before a round; 0: it is not. */
int64_t turn_compact_threshold(const struct turn *t);

/* ---- turn_summary.c */

/* The next bytes of the upstream's answer. Returns whether the turn has to go on with TURN_SUMMARY. */
bool turn_hear_summary(struct turn *t, str bytes);

/* Has the upstream said all of a summary that the client had asked for? */
bool turn_has_heard_summary(const struct turn *t);

/* Appends the answer of /v1/responses/compact. */
void turn_write_compaction(const struct turn *t, struct buf *out);

void turn_fini_summary(struct turn *t);

/* ---- turn_truncate.c */

/* May turns be left out, as often as that has been done? */
bool turn_may_leave_out(const struct turn *t);

/* What a request without messages weighs, its tools above all (conv/trim.h). */
size_t turn_weigh_rest(const struct turn *t);

/* Does the request allow that turns are left out? */
bool turn_is_truncated(const struct turn *t);

/* Leaves out of the conversation what was left out before: in this turn, or when one like it was
 * cut. */
void turn_cut(struct turn *t);

/* A round came through: remembers where the conversation was cut for it. A cut that was no more than
 * a guess is not worth it. */
void turn_keep_cut(struct turn *t);

/* The upstream said e. Is it that there was too much, and may less be tried? */
bool turn_may_shorten(const struct turn *t, const struct err *e);

/* The upstream has failed: if it has said how much fits into the model, that is known from now on.
 * Any thread. */
void turn_learn_window(struct turn *t, const struct err *e);

/* Leaves out more, by what the upstream has said of its tokens. False when nothing is left to go. */
bool turn_shorten(struct turn *t, const struct err_tokens *n);

/* ---- turn_own_tools.c */

/* Which container the request's code runs in, if it has a code interpreter. Returns 0, or -1 with
 * *reterr filled. */
int turn_choose_container(struct turn *t, struct err *reterr);

/* What the answer may cite; NULL: the request has no web search. */
const struct response_sources *turn_sources(struct turn *t);

/* ---- turn_limit.c */

/* Takes what the request needs of its caller's limits. Returns 0, or -1 with *reterr filled. */
int turn_limit(struct turn *t, struct err *reterr);

/* The answer is about to be over: gives that back, with what the rounds have cost. */
void turn_give_back(struct turn *t);

/* ---- turn_accept.c */

/* Is its client not to wait for the answer? */
bool turn_is_background(const struct turn *t);

/* ---- turn_run.c; see turn_run.h */

/* Of a turn that is being freed. NULL is fine. */
void turn_run_free(struct worker *w, struct turn_run *run);

/* Tells the owner of the claim how it has ended, once: when the answer is complete, or the turn about to be
 * freed. */
void turn_run_report(struct turn *t);

/* Ends the turn at once, without a response that is stored. e: why; NULL: the claim is over. */
void turn_run_give_up(struct turn *t, const struct err *e);

/* Ends the response as cancelled, as soon as the turn is not on the pool; nothing when it has ended. The
 * turn may be gone afterwards. */
void turn_run_cancel(struct turn *t);

/* ---- turn_view.c: what operators see and end (flight.h) */

void turn_describe(const void *arg, struct flight_view *ret);
void turn_stop(void *arg, const struct err *e);

/* ---- turn_left.c */

/* Moves the body of the request into memory of the turn's own if this may go on without its client. On the
 * loop or the pool. Returns 0, or -1 with *reterr filled. */
int turn_left_keep(struct turn *t, str *body, struct err *reterr);

/* What a flight asks of its owner (flight.h). */
bool turn_left_may_go_on(const void *arg);
bool turn_left_go_on(void *arg);

void turn_left_free(struct turn *t);

/* ---- turn_readers.c */

/* Are the events of the turn's response kept, so that they can be read again? */
bool turn_keeps_cuts(const struct turn *t);

/* The cuts of these events, for the record; STR_NONE: they are not kept. */
str turn_kept_cuts(struct turn *t);

/* From now on others may read the events, up to entry.n_durable; until they may not any more. Leaves
 * nothing to do when it is called again. */
void turn_enter_table(struct turn *t);
void turn_leave_table(struct turn *t);

/* Readers that asked while the turn was on the pool get what they may have. */
static inline void turn_serve_readers(struct turn *t)
{
    if (!t->lets_readers_wait || t->flight.is_on_pool)
        return;
    t->lets_readers_wait = false;
    running_notify(&t->entry);
}

/* The client has been sent all that there is: so others may have it. */
static inline void turn_show_sent(struct turn *t)
{
    t->entry.n_durable = t->response.next_sequence_number;
    running_notify(&t->entry);
}

/* ---- turn_state.c */

/* The turn holds the key of its request in the store by this lock, or STR_NONE. */
void turn_hold_key(struct turn *t, str lock);

/* Unlocks the conversation, and frees the key, if they still are held; nobody waits for that. */
void turn_unlock(struct turn *t);

/* Starts the turn's task of the store. */
void turn_start_task(struct turn *t, enum store_access access,
                     int (*work)(struct store_session *s, void *arg, struct err *reterr),
                     void (*done)(void *arg, const struct err *failure));

/* The items of the request, behind those that nothing else keeps, then of the response, in t->kept; which
 * of the two. Returns 0, or -1 when out of memory. */
enum { TURN_INPUT = 1, TURN_OUTPUT = 2 };
int turn_keep_items(struct turn *t, unsigned which, struct store_items *items, struct err *reterr);

/* Writes down a response that is to be made later: t->record. Returns 0, or -1 with *reterr filled. */
int turn_compose_queued(struct turn *t, struct err *reterr);

/* SAVE once more: the store was away. */
void turn_save_again(struct turn *t);

/* ---- turn_context.c */

/* Looks whether the client's connection has what the request continues; then the store is not asked. */
void turn_find_context(struct turn *t);

/* Makes the history of it, if it has. Returns 0, or -1 when out of memory. */
int turn_read_context(struct turn *t, struct err *reterr);

/* Has the response to be left to the client's connection, since nothing else keeps it? */
bool turn_leaves_context(const struct turn *t);

/* Appends what the request continues: copies in t->kept (false when out of memory), or as items of the
 * request's own. */
bool turn_keep_history(struct turn *t, struct store_items *items);
void turn_record_history(const struct turn *t, struct store_items *items);

/* Writes down what is to be left there; then it is left, or only the name of what is stored. */
void turn_compose_context(struct turn *t);
void turn_leave_context(struct turn *t);

void turn_free_context(struct turn *t);

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

/* ---- turn_read_back.c */

/* What makes and reads encrypted_content of compaction items. */
const struct text_seal *turn_compaction_seal(struct turn *t);

/* How compaction items are read back. */
struct compact_reading turn_compact_reading(struct turn *t);

/* ---- turn_rounds.c */

/* Puts what the gateway has run before into a request that does not bring it along. Returns 0, or
 * -1 with *reterr filled. */
int turn_put_back(struct turn *t, struct err *reterr);

/* Remembers what it has run in a response that has ended. */
void turn_keep_rounds(struct turn *t);

/* ---- turn_answer.c; each may end the answer, after which the flight has no client */

/* Where events go, which leave before the turn waits; NULL when none are wanted. */
struct buf *turn_out(struct turn *t);

/* The buffer of turn_out(), emptied. */
struct buf *turn_fresh_out(struct turn *t);

/* Sends what is in that buffer, in one system call, and empties it; nothing before the stream has
 * begun. */
void turn_send_events(void *arg);

/* Sends what is in t->large, which was written on the pool. */
void turn_send_large(struct turn *t);

/* Sends the head of the stream, response.created and response.in_progress,
 * together with what the upstream may have said already; nothing when it has begun. */
void turn_begin_stream(struct turn *t);

/* Signs of life in a stream that says nothing; starts the timer for the next. */
void turn_keep_alive(struct turn *t);

/* Ends of answers: an error, a whole object, a stream whose last events are in the buffer. */
void turn_answer_error(struct turn *t, const struct err *e);
void turn_answer_object(struct turn *t, struct buf *object);
void turn_answer_stream(struct turn *t, const struct err *e);

/* Ends an answer that nobody waits for: the turn has ended; e: why badly, or NULL. */
void turn_answer_nobody(struct turn *t, const struct err *e);

/* The client is to read the events as others do: it is the turn's no more. */
void turn_give_to_reader(struct turn *t, const struct reader_want *want);

/* The flaws of all rounds until now. */
struct turn_flaws turn_flaws(const struct turn *t);

/* The turn's client left before its answer was complete: for the log, metrics and spans. */
void turn_tell_gone(struct turn *t);

#endif
