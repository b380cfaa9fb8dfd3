/* flight_metrics.h -- what is counted of calls of the upstream (OPERATIONS 1.3): attempts, chunks, tokens.
 *
 * All series of one model at the upstream hang on one struct, which a worker finds once for a call: its
 * own list, the last used first. Nothing of this does anything when nothing is counted. On the worker's
 * loop. */
#ifndef ANTIPHON_FLIGHT_FLIGHT_METRICS_H
#define ANTIPHON_FLIGHT_FLIGHT_METRICS_H

#include "flight/reach.h"
#include "metrics/metrics.h"
#include "wire/chunk/delta.h"

struct err;
struct flight;
struct http_call_handler;
struct upstream_entry;

/* Pauses between chunks that were not counted yet: those of one bucket, and chunks without any, which came in
 * one read with another. A stream stays in one bucket for long, so they are summed up here, and reach the
 * cells with the first of another bucket, and with the end of the call. */
struct flight_pace {
    uint64_t least_ms, end_ms; /* of the bucket: [least, end); nothing is in a zeroed one */
    uint64_t sum_ms;
    size_t n, n_close;
};

/* What is noted of a flight's call. */
struct flight_counted {
    str model;         /* that is asked for, plain, as long as the flight; its owner's to set */
    uint16_t model_id; /* as it is counted; 0: not yet */
    uint16_t operation;
    bool is_called;   /* the call is among those that run */
    bool is_said;     /* the upstream has said all: what is left of the call does not matter */
    bool is_paused;   /* among those that are not read */
    bool has_body;    /* some of it */
    int status;       /* of its answer; 0: none */
    uint64_t call_ms; /* when it began */
    uint64_t chunk_ms;
    struct flight_pace pace;
    struct flight_series *series; /* of the call; NULL: not needed yet */
};

/* A call has begun: path is that below the upstream's URL. */
void flight_metrics_begin(struct flight *f, str path);
void flight_metrics_head(struct flight *f, int status);
void flight_metrics_end(struct flight *f, const struct err *failure);
void flight_metrics_cancel(struct flight *f); /* it is not waited for any more */

/* The first chunk of an answer, or a pause that is not of the bucket at hand. */
void flight_metrics_pace(struct flight *f, uint64_t passed_ms);

/* So many chunks have come in one read, at this time of the loop: what comes in the same read has no time
 * between it. counted is that of the flight. */
static inline void flight_metrics_chunks(struct flight *f, struct flight_counted *counted, size_t n,
                                         uint64_t now_ms)
{
    struct flight_pace *p = &counted->pace;
    const uint64_t passed_ms = now_ms - counted->chunk_ms;

    counted->chunk_ms = now_ms;
    p->n_close += n - 1;
    if (passed_ms < p->least_ms || passed_ms >= p->end_ms) {
        flight_metrics_pace(f, passed_ms);
        return;
    }
    p->n++;
    p->sum_ms += passed_ms;
}

/* The call is being paused, or not any more. */
void flight_metrics_pause(struct flight *f, bool is_paused);

/* A round is over: what the upstream says of its tokens. */
void flight_metrics_usage(struct flight *f, const struct usage *usage);

/* The series of the flight's model, and that as it is counted by now. NULL: nothing is counted. */
struct flight_series *flight_metrics_series(struct flight *f);
uint16_t flight_metrics_model(struct flight *f);

/* The owner as a label: 0 unless metrics_owner. */
uint16_t flight_metrics_owner(const struct flight *f);

/* The series of a duration that ended with an error, by its word; of a turn, or of a round. */
metric_cell *flight_metrics_failed(struct flight *f, enum metric m, str error);

/* Connections to an upstream, arg is the reach of it, come, go and change (struct http_connection_count). */
void flight_metrics_connection(void *arg, bool is_idle, int n);

/* The labels of an upstream; and the end of what they gathered. */
void flight_metrics_label(struct flight_labels *l, const struct upstream_entry *u);
void flight_metrics_forget(struct flight_labels *l);

#endif
