/* upstream_report.h -- what kind of server the upstream is, for `antiphon serve --check-config`. */
#ifndef ANTIPHON_CLI_UPSTREAM_REPORT_H
#define ANTIPHON_CLI_UPSTREAM_REPORT_H

#include "base/buf.h"
#include "config/config.h"

/* Appends the kind, and what fits into its models, as comments of the shown configuration. Asks the server when it is to be
 * recognised, for upstream_probe_timeout at most; nothing for the demo. */
void upstream_report_show(const struct config *c, struct buf *out);

/* Reports for --probe, which wants the name of every model that is served. False when the upstream could
 * not be asked. */
bool upstream_report_probe(const struct config *c, struct buf *out);

#endif
