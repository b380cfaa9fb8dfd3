/* store_report.h -- the figures of a store, for people and for programs. */
#ifndef ANTIPHON_CLI_STORE_REPORT_H
#define ANTIPHON_CLI_STORE_REPORT_H

#include "base/buf.h"
#include "store/store.h"

/* Appends a line for each figure. */
void store_report_table(const struct store_stats *stats, struct buf *out);

/* Appends one line, an object; sizes are in bytes, times in seconds since 1970. */
void store_report_json(const struct store_stats *stats, struct buf *out);

/* "1.5 MiB" */
void store_report_size(uint64_t bytes, struct buf *out);

#endif
