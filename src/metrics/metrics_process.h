/* metrics_process.h -- what the system says of the process: the families process_*. */
#ifndef ANTIPHON_METRICS_METRICS_PROCESS_H
#define ANTIPHON_METRICS_METRICS_PROCESS_H

#include "metrics/metrics_page.h"

/* A source of a page; arg is unused. What the system does not say is left at 0. */
void metrics_process_tell(void *arg, struct metrics_page *page);

#endif
