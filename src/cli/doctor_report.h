/* doctor_report.h -- what `antiphon doctor` prints. */
#ifndef ANTIPHON_CLI_DOCTOR_REPORT_H
#define ANTIPHON_CLI_DOCTOR_REPORT_H

#include "cli/doctor_visit.h"

/* Appends a line for each finding, and below what to set. all_forms: in all forms that a key has. */
void doctor_report_text(const struct doctor_visit *v, bool all_forms, struct buf *out);

/* Appends the same as an object, in one line. */
void doctor_report_json(const struct doctor_visit *v, struct buf *out);

/* The exit status: 0 all is good, 1 something is to be set or is bad, 2 the upstream is of no use, 3
 * nobody answers. */
int doctor_report_status(const struct doctor_visit *v);

/* The line of model_settings that does all that is proposed for the model, appended; nothing when there is
 * nothing to set. */
void doctor_report_line(const struct doctor_visit *v, struct buf *out);

#endif
