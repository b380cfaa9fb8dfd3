/* http_metrics.h -- what is counted of connections and exchanges (OPERATIONS 1.3). Internal to the server,
 * on its loop. Each of these does nothing when nothing is counted. */
#ifndef ANTIPHON_HTTP_HTTP_METRICS_H
#define ANTIPHON_HTTP_HTTP_METRICS_H

#include "http/http_conn.h"
#include "metrics/metrics.h"

/* The listener's series are there before anybody comes. */
void http_metrics_listen(const struct http_listener *listener);

/* A connection was accepted; its state may have changed, or it is closed. */
void http_metrics_accept(const struct http_conn *c);
void http_metrics_note_state(struct http_conn *c);

/* The head of a request is there; its answer is out, or will never be. The second of two calls about the
 * end does nothing. */
void http_metrics_begin(struct http_exchange *x);
void http_metrics_end(struct http_exchange *x);

/* The head of an answer is written. */
void http_metrics_answer(struct http_exchange *x, int status, const struct http_header *headers,
                         size_t n_headers);

/* A request is refused before its owner sees it. */
void http_metrics_refuse(const struct err *e);

#endif
