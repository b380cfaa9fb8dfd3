/* store_metrics.h -- what is counted of the store (OPERATIONS 1.3). Internal to it. */
#ifndef ANTIPHON_STORE_STORE_METRICS_H
#define ANTIPHON_STORE_STORE_METRICS_H

#include "store/store_thread.h"

/* A task has waited and was done; on the thread of its loop. */
void store_metrics_task(const struct store_task *t, const struct err *failure);

/* A piece of purging has taken so long. */
void store_metrics_purge(uint64_t passed_ms, bool is_good);

/* What was removed by limits. */
void store_metrics_removed(const struct store_purged *purged);

/* Looks how much there is, once a minute; on the thread of the session. */
void store_metrics_refresh(struct store_thread *t, uint64_t now_ms);

#endif
