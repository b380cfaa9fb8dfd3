/* metrics_desk.h -- where a scrape asks: what is told besides what is counted, and whose turn it is. */
#ifndef ANTIPHON_METRICS_METRICS_DESK_H
#define ANTIPHON_METRICS_METRICS_DESK_H

#include <stdatomic.h>

#include "metrics/metrics_page.h"

enum { METRICS_SOURCES = 8 };

/* The sources are set before the first scrape, and may be asked from any thread. A scrape asks the store
 * besides, and leaves here what it has said last. */
struct metrics_desk {
    struct metrics_source sources[METRICS_SOURCES];
    size_t n_sources;
    atomic_flag is_taken;                     /* by a scrape; there is one at a time */
    atomic_uint_fast64_t n_queued, n_running; /* responses in the background */
};

#endif
