/* flight_spans.h -- the spans of a flight, whatever its front (OPERATIONS 2.3).
 *
 *     server                     from flight_new() to the end of the answer
 *      |- stage                  of the stages that name one (turn_drive.h), if they waited
 *      |- round                  one question to the model: from its first call to its end
 *      |   `- attempt            each call of the upstream
 *      `- call                   of a tool
 *
 * A flight of which nothing is traced has no struct flight_spans, and all functions here return at once;
 * its context goes on to others all the same. Spans go to the exporter when they end, what is still open
 * with its flight. */
#ifndef ANTIPHON_FLIGHT_FLIGHT_SPANS_H
#define ANTIPHON_FLIGHT_FLIGHT_SPANS_H

#include "flight/flight.h"
#include "flight/worker.h"
#include "trace/export/tracer.h"

/* Of a flight that is traced; in its arena. */
struct flight_spans {
    uint64_t unix_ns, steady_ns; /* one moment by two clocks */
    struct span *server, *round, *attempt;
    struct {
        const char *name; /* NULL: none */
        uint64_t start_ns;
        unsigned char id[SPAN_ID_BYTES];
        bool has_waited;
    } stage;
    unsigned n_attempts; /* of the round */
    bool has_outcome;
};

/* The flight begins: which trace it belongs to, and whether that is kept. */
void flight_spans_begin(struct flight *f);

/* The answer has, or will have, this status (0: none); why: the code of what went wrong, or STR_NONE. The
 * first call counts. */
void flight_spans_outcome(struct flight *f, int status, str why);

/* The flight has ended: all spans go, those that are still open as well. why: if nothing was said of an
 * outcome yet. */
void flight_spans_end(struct flight *f, str why);

/* Another flight answers in this one's place: its spans are forgotten. */
void flight_spans_forget(struct flight *f);

/* The span of the flight itself, for attributes; NULL: there is none. */
static inline struct span *flight_span(const struct flight *f)
{
    return f->spans == NULL ? NULL : f->spans->server;
}

/* ---- stages */

/* Another stage begins; name: of its span, or NULL. One that is called the same goes on. */
void flight_spans_stage(struct flight *f, const char *name);

/* The stage waits for somebody. */
static inline void flight_spans_wait(struct flight *f)
{
    if (f->spans != NULL && !f->is_on_pool)
        f->spans->stage.has_waited = true;
}

/* ---- questions to the upstream */

/* A question begins: "chat", model (plain, or STR_NONE). Returns its span, for attributes, or NULL. */
struct span *flight_spans_round(struct flight *f, const char *operation, str model);

/* The question has ended, and its span tells of the upstream that was asked last; why: what went wrong, or
 * STR_NONE. */
void flight_spans_round_end(struct flight *f, str why);

static inline struct span *flight_round_span(const struct flight *f)
{
    return f->spans == NULL ? NULL : f->spans->round;
}

/* A call begins: to the n headers in out, which has room for two more, are added those of its context, unless
 * its upstream is to get none. What a client has sent of that is taken out. Returns how many there are. */
size_t flight_spans_attempt(struct flight *f, const char *method, struct http_header *out,
                            size_t n);

/* The head of the call's answer is there; its first bytes are (answer.n_bytes is 0); its end is. */
void flight_spans_head(struct flight *f, int status);
void flight_spans_first_bytes(struct flight *f, str bytes);
void flight_spans_attempt_end(struct flight *f, str why);

/* The call has reported its end. */
static inline void flight_spans_call_ended(struct flight *f, const struct err *failure)
{
    if (f->spans != NULL)
        flight_spans_attempt_end(f,
                                 failure == NULL ? STR_NONE : str_from_c(err_wire_code(failure)));
}

/* ---- anything else */

/* A span below that of the flight, which the caller gives back to flight_spans_give(). NULL: there is none.
 * Loop or pool. */
struct span *flight_spans_child(struct flight *f, enum span_kind kind, str name);

/* The span has ended. NULL is fine; on the loop. */
void flight_spans_give(struct flight *f, struct span *s);

/* The context that others may be given: of s, or of the flight when that is NULL. False: there is none to
 * be passed on. */
bool flight_spans_context(const struct flight *f, const struct span *s, struct trace_context *ret);

/* The tracestate that came with the request, or STR_NONE. A view. */
str flight_spans_state(const struct flight *f);

/* A connection was upgraded: a span of its own. False when there are no traces; else *ret is its context. */
bool flight_spans_upgrade(struct worker *w, const struct http_request *r,
                          struct trace_context *ret);

#endif
