/* sse_parse.h -- cut a byte stream into Server-Sent Events (WHATWG HTML, 9.2).
 *
 * Tolerates what servers send (CONTRACT 5.1): CR, LF and CRLF, a BOM, data:
 * without a space, unknown fields, an end without a blank line. */
#ifndef ANTIPHON_SSE_SSE_PARSE_H
#define ANTIPHON_SSE_SSE_PARSE_H

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

/* Views die when the function returns. Any of the functions may be NULL. */
struct sse_handler {
    /* A data line, as soon as it ends; event is the event: line before it or
     * "". Return true when it has been dealt with; else it is kept and handed
     * to on_event with the other data lines of its event. Not called for
     * further lines once one has been kept. */
    bool (*on_data_line)(void *arg, str data, str event);
    /* A blank line ended an event that has data: its lines joined with LF. */
    void (*on_event)(void *arg, str data, str event);
    /* A field that is none of event, data, id, retry. */
    void (*on_other_field)(void *arg, str name, str value);
    /* A blank line ended an event that has an id, with data or without; comes before its
     * on_event. An event that the stream's end cut short keeps its id to itself. */
    void (*on_id)(void *arg, str id);
    /* A retry: line. */
    void (*on_retry)(void *arg, str value);
};

struct sse_parser {
    struct buf line;  /* the start of a line that crosses a read */
    struct buf data;  /* kept data lines of the current event */
    struct buf event; /* the event: line of the current event */
    struct buf id;    /* the id: line of the current event, if somebody asks for it */
    bool started;     /* the first line has been seen */
    bool skip_lf;     /* the last read ended in CR */
    bool has_data, has_id, stopped;
    bool failed;        /* no handler runs from then on */
    bool has_no_memory; /* why it failed; else something was too large */
};

/* Lines and events beyond max_bytes end the parse: no handler hears of what follows. */
void sse_parser_init(struct sse_parser *p, size_t max_bytes);
void sse_parser_fini(struct sse_parser *p);

/* Feed the next bytes. Returns 0, or -1 with *reterr filled when a line or an
 * event passed the limit or memory ran out; then the parser is spent and every
 * later call returns -1 as well. */
int sse_parser_feed(struct sse_parser *p, str bytes, const struct sse_handler *handler, void *arg,
                    struct err *reterr);

/* The stream ended: a last line and event without their line ends count. */
int sse_parser_end(struct sse_parser *p, const struct sse_handler *handler, void *arg,
                   struct err *reterr);

/* Ignores everything from now on; from inside a handler or between calls. */
void sse_parser_stop(struct sse_parser *p);

#endif
