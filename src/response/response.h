/* response.h -- the response state machine (CONTRACT 3, 4). Pure: deltas in,
 * event bytes out, nothing else.
 *
 *     response_start -> round* -> response_finish -> response_end
 *     round: response_delta* -> response_end_round (response_hosted.h)
 *
 * and from anywhere response_fail -> response_end. Most responses take one round; what happens
 * between two is told in response_hosted.h.
 *
 * Promise: no event about an item before its added, none after its done, every added gets its
 * done, between the two no event of another item (but for conf.interleaved_calls), indexes and
 * sequence numbers contiguous, whatever the upstream sent. Streaming or not, the same machine runs;
 * without streaming every out is NULL and response_object() gives the same bytes that the terminal
 * event carries. */
#ifndef ANTIPHON_RESPONSE_RESPONSE_H
#define ANTIPHON_RESPONSE_RESPONSE_H

#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/id.h"
#include "conv/text_seal.h"
#include "response/argument_end.h"
#include "response/argument_text.h"
#include "response/cuts.h"
#include "response/event.h"
#include "response/output_item.h"
#include "text/cite.h"
#include "wire/chunk/delta.h"
#include "wire/tools/tool_choice.h"
#include "wire/tools/tool_set.h"

/* How reasoning is shown (CONTRACT 4.4). What is not shown is kept in hidden
 * items, since the model may want it back (CONTRACT 2.4). */
enum reasoning_mode {
    REASONING_TEXT,
    REASONING_SUMMARY,
    REASONING_NONE,
    REASONING_OPEN_RESPONSES, /* like text, with the event names of the Open Responses spec */
};

/* Which events a stream has: those of the OpenAI API, or those of open-responses-server
 * (CONTRACT 4.9), where the response also ends with the round in which a tool of MCP was called;
 * what came of code and searches is only to be seen in the answer. That one is for streams only;
 * response_object() knows nothing of it. */
enum response_dialect { RESPONSE_DIALECT_OPENAI, RESPONSE_DIALECT_ORS };

/* What a model may cite. */
struct response_sources {
    /* What the marker means: url and title (escaped), or false when it means nothing. */
    bool (*find)(void *arg, const struct cite_marker *marker, struct citation *ret);
    void *arg;
};

/* Everything pointed to must live as long as the response. */
struct response_conf {
    const struct id_source *ids;
    const struct tool_set *tools;
    str echo;         /* members that repeat the request (response_echo.h) */
    str service_tier; /* escaped; STR_NONE: "default" */
    int64_t created_at;
    enum reasoning_mode reasoning;
    str container_id;        /* escaped: of code_interpreter_call items; "": "auto" */
    bool shows_code_outputs; /* else their outputs are null */
    const struct response_sources *sources; /* NULL: markers are text */
    const struct text_seal *seal;           /* makes encrypted_content; NULL: there is none */
    enum response_dialect dialect;
    bool error_event;        /* send `error` before `response.failed` */
    bool obfuscation;        /* pad deltas */
    bool interleaved_calls;  /* items may be open side by side (response_order.c) */
    size_t max_output_bytes; /* of all texts together; 0: no limit */
    int64_t max_tool_calls;  /* of hosted tools; 0: no limit */
    bool single_call;        /* parallel_tool_calls is false: a round ends with its first call */
    uint64_t max_events;     /* of kept ones; from then on deltas are merged. 0: no limit */
    bool is_background;      /* it is queued before it is in progress */
    bool keeps_cuts;         /* its events are noted as cuts, whether or not they are sent; not in
                                the legacy dialect */
};

/* Merged deltas have as much text, but for the last of a text. */
enum { RESPONSE_MERGED_BYTES = 1024 };

enum response_status {
    RESPONSE_IN_PROGRESS,
    RESPONSE_COMPLETED,
    RESPONSE_INCOMPLETE,
    RESPONSE_FAILED,
    RESPONSE_QUEUED,    /* of the background: not taken up yet */
    RESPONSE_CANCELLED, /* its terminal event tells of a failed one (CONTRACT 4.8) */
};

/* The end of the open text, which may become a marker that cites a source. */
struct response_held {
    struct buf text;     /* escaped; at most CITE_MAX_BYTES */
    struct buf logprobs; /* of all that no delta has carried yet */
};

/* What no delta of the open part has carried yet, because deltas are being merged: its text and logprobs
 * from here on. */
struct response_unsaid {
    bool is_any;
    size_t from, logprobs_from;
};

/* One call of the current round, by the number the upstream's reader gave it. */
struct response_call {
    struct output_item *item; /* NULL until it is announced */
    const struct tool *tool;  /* NULL: a name the request did not declare */
    struct buf name;          /* escaped, as far as the upstream has sent it */
    str call_id;              /* escaped, the upstream's; in the arena */
    enum builtin_tool builtin;
    str server_label;          /* escaped, in the arena; empty unless of an unknown MCP tool */
    struct buf arguments;      /* escaped; all of them */
    struct argument_end end;   /* are they complete? */
    size_t unread;             /* arguments of which text has not seen anything start here */
    struct argument_text text; /* of a call of which one member is shown */
    bool is_old_form;
    bool is_plain;   /* it is announced, and its arguments are shown as they are */
    bool is_closed;  /* it takes no more arguments */
    bool suppressed; /* the round allows no such call: the client never hears of it */
};

/* What a round came to. */
struct response_round {
    bool has_shown;    /* a message or a call; reasoning does not count */
    bool has_dropped;  /* calls, because it was the last */
    bool is_nameless;  /* a call had no name */
    bool goes_on;      /* the model is to be asked again */
    bool lacks_answer; /* what it said was withheld: it is to be asked for the answer */
};

/* What the model may say in a round. Zeroed: everything. */
struct response_plan {
    const struct tool_choice *choice; /* calls that it does not leave are dropped; NULL: it leaves
                                         all. It lives as long as the response */
    bool withholds_text; /* text is no answer yet: the client does not see it, the model does, if
                            there are calls beside it */
};

/* What was begun last, and has not been said to be complete: a call is that with the highest
 * number. */
enum response_begun { BEGUN_NOTHING, BEGUN_PROSE, BEGUN_HIDDEN, BEGUN_CALL };

struct response {
    struct response_conf conf;
    struct arena arena;
    struct id id;
    enum response_status status;
    const char *incomplete_reason;
    struct err *error; /* when failed; in the arena */
    int64_t completed_at;
    uint64_t next_sequence_number; /* 0 for good when nobody gets events and no cuts are kept */
    uint32_t n_events
        [EVENT_COUNT]; /* that were written, by enum event_type; the owner may set them to 0 */
    struct cuts cuts;  /* of the events so far; only with conf.keeps_cuts */
    struct usage usage;
    unsigned n_rounds;    /* that have ended, refusals in a stream among them */
    unsigned n_summaries; /* calls for one that have ended (response_compaction.h) */
    unsigned n_dropped_calls, n_answer_rounds; /* for the log: calls that their round did not allow;
                                                  rounds whose text was withheld for another one */
    int64_t n_reasoning;                       /* deltas of it in the current round */
    str service_tier;

    struct output_item *first, **end; /* in the order in which they began, hidden ones as well */
    unsigned n_items;                 /* without hidden ones */
    struct output_item **round_begin; /* the items of the current round start here */
    struct output_item **replayed;    /* those that were not replayed yet start here */
    struct output_item *current;      /* that is open and whose events are sent as they come */
    struct output_item *newest;       /* of those that are seen */
    struct output_item *prose;        /* the open message or reasoning item */
    struct response_held held;        /* only with conf.sources */
    struct response_unsaid unsaid;    /* of prose; what calls have not said stands in their items */
    struct output_item *hidden;       /* the open hidden one */
    struct output_item **withheld;    /* while the answer is lacking: what was withheld is among
                                         the items from here on */
    enum response_begun begun;
    struct response_call *calls;
    size_t n_calls, cap_calls;
    int64_t n_hosted; /* calls of tools that the gateway runs, as far as the client sees them */
    bool is_last_round;
    struct response_plan plan;  /* of this round */
    bool has_enough;            /* of this round: what follows in it is dropped */
    struct response_round last; /* the round that ended last */
    size_t used_bytes;
    enum err_code broken; /* why nothing more fits: ERR_INTERNAL: no memory; ERR_UPSTREAM_ERROR:
                             past max_output_bytes */
};

/* The status is the last one that the response will have, but that it fails if it could not be kept. */
static inline bool response_has_ended(const struct response *r)
{
    return r->status != RESPONSE_QUEUED && r->status != RESPONSE_IN_PROGRESS;
}

void response_init(struct response *r, const struct response_conf *conf);
void response_fini(struct response *r);

/* response.created and response.in_progress. One of the background is queued between them: it may have
 * been before, with response_queue(). */
void response_start(struct response *r, struct buf *out);

/* response.created and response.queued: a response of the background was accepted, and waits. */
void response_queue(struct response *r, struct buf *out);

/* What the upstream said next. Returns false when the output has grown past
 * its limit or memory ran out: then end the response with response_failure(). */
bool response_delta(struct response *r, const struct delta *d, struct buf *out);
void response_failure(const struct response *r, struct err *ret);

/* A round ended: its tokens are added up, its service tier (escaped, "" when
 * unknown) is the response's. Where the upstream counts output but says nothing of reasoning, the
 * deltas of reasoning are its tokens, as many as there was output; where it counts nothing, there
 * are none. From the first round on the response that has ended has a usage, of zeros if nothing
 * is known: clients take a turn without one for unfinished, and ask again. */
void response_add_usage(struct response *r, const struct usage *usage, str service_tier);

/* `keepalive`, for clients that do not count comments (CONTRACT 4.1). */
void response_keepalive(struct response *r, struct buf *out);

/* Ends of a response: all items are closed and its status is set. It is finished after
 * response_end_round(), when no call is open any more; finish: how that round ended, or
 * FINISH_LENGTH when there is no room for another one. What was finished may still fail, when it
 * could not be kept. now_s: seconds since 1970. */
void response_finish(struct response *r, enum finish finish, int64_t now_s, struct buf *out);
void response_fail(struct response *r, const struct err *e, struct buf *out);

/* As response_fail(), for a response whose end was wished for: the object says cancelled and has no
 * error, the events of its end say ERR_RESPONSE_CANCELLED. */
void response_cancel(struct response *r, struct buf *out);

/* Completes a response of which nothing was to be generated: no items, and a usage of zeros. */
void response_finish_empty(struct response *r, int64_t now_s);

/* The terminal event and [DONE], as the last call. */
void response_end(struct response *r, struct buf *out);

/* The cuts of a response that has ended, with those of its last events, which response_end() is yet to
 * send: they are stored before. */
void response_whole_cuts(const struct response *r, struct cuts *ret);

/* The response object as it stands. */
void response_object(const struct response *r, struct buf *out);

/* The object in pieces: what stands before the output's items, joined by commas, and what behind. */
void response_object_head(const struct response *r, struct buf *out);
void response_object_tail(const struct response *r, struct buf *out);

#endif
