/* metrics_setup.h -- whether anything is counted, and what is asked of the gateway at each scrape. */
#ifndef ANTIPHON_DAEMON_METRICS_SETUP_H
#define ANTIPHON_DAEMON_METRICS_SETUP_H

#include "base/err.h"
#include "config/config.h"
#include "metrics/metrics_desk.h"

struct tls_listener;
struct worker;

/* Begins to count, unless metrics are off; before there are other threads. Returns 0, or -1 with *reterr
 * filled. metrics_close() either way, when they have ended. */
int metrics_set_up(const struct config *c, struct err *reterr);

/* The configuration is another one: names of models that it has are counted from now on. On the main
 * thread. */
void metrics_learn_models(const struct config *c);

/* A part of the configuration was read again: a word of METRIC_DOMAIN_PART. On the main thread. */
void metrics_note_reload(str part, bool is_good);

/* What is told besides what is counted. All that it points to outlives the desk's last scrape. */
struct metrics_told {
    const struct worker *worker; /* any: for what all have in common */
    struct tls_listener *tls;    /* or NULL */
    struct metrics_desk desk;
};

/* Fills the desk. told stays where it is. */
void metrics_tell(struct metrics_told *told);

#endif
