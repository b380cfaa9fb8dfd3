/* upstream_report.h -- which upstreams there are and what they are, for `antiphon serve --check-config`. */
#ifndef ANTIPHON_CLI_UPSTREAM_REPORT_H
#define ANTIPHON_CLI_UPSTREAM_REPORT_H

#include "upstream/upstream_table.h"

/* Appends comments: of a table from a file what it says of each upstream, then of every upstream what it is,
 * for which it is asked, once and for no longer than upstream_probe_timeout; nothing for the demo. */
void upstream_report_show(const struct upstream_table *t, struct buf *out);

/* The same, and every model that an upstream lists. False when one of them did not answer, or was not
 * asked. */
bool upstream_report_probe(const struct upstream_table *t, struct buf *out);

#endif
