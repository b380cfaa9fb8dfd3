/* metrics_page.h -- what GET /metrics answers: all families with their series, as text.
 *
 * Families stand in the order of their names, series in that of the values of their labels, so that two
 * pages differ in numbers alone. Nothing is locked: each number is what its thread has counted at some
 * moment of the writing. Any thread, one page at a time. */
#ifndef ANTIPHON_METRICS_METRICS_PAGE_H
#define ANTIPHON_METRICS_METRICS_PAGE_H

#include "base/buf.h"
#include "metrics/metrics.h"
#include "metrics/metrics_accept.h"

struct metrics_page;

/* Tells what is not counted but found out when somebody asks. On the thread that writes the page. */
struct metrics_source {
    void (*tell)(void *arg, struct metrics_page *page);
    void *arg;
};

/* Adds n, which may be below 0, to the series of a counter or gauge. */
void metrics_page_add(struct metrics_page *page, enum metric m, const struct metric_labels *labels,
                      int64_t n);

/* The same of a family whose labels are closed, or of one without any: index 0. */
void metrics_page_add_at(struct metrics_page *page, enum metric m, unsigned index, int64_t n);

/* Appends a page. Returns 0, or -1 when out of memory. */
int metrics_page_write(enum metrics_format format, const struct metrics_source *sources,
                       size_t n_sources, struct buf *out);

/* Writes the value of a label, with what it may not hold escaped. */
void metrics_page_escape(str value, struct buf *out);

#endif
