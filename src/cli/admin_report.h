/* admin_report.h -- what a running gateway tells operators, as tables for people. Pure. */
#ifndef ANTIPHON_CLI_ADMIN_REPORT_H
#define ANTIPHON_CLI_ADMIN_REPORT_H

#include "base/buf.h"

/* Appends the answer of GET /admin/upstreams: a line for each, and below it its last error. False when that is no
 * such answer. Members that are missing or of another type are shown as "-" or 0. *out may have failed. */
bool admin_report_upstreams(str json, struct buf *out);

/* A table of the answer of GET /admin/keys, a line for each name; returns as the one above. */
bool admin_report_keys(str json, struct buf *out);

#endif
