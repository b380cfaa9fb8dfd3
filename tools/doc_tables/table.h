/* table.h -- the tables of the documents, each made from a .def of src/. */
#ifndef ANTIPHON_TOOLS_TABLE_H
#define ANTIPHON_TOOLS_TABLE_H

#include "base/buf.h"

/* ---- Markdown */

void table_admin_routes(struct buf *out);
void table_audit(struct buf *out); /* what requests do, for the audit */
void table_endpoints(struct buf *out);
void table_errors(struct buf *out);
void table_events(struct buf *out);
void table_history_repairs(struct buf *out);
void table_keys(struct buf *out); /* of the configuration: a section for each */
void table_listen_marks(struct buf *out);
void table_mcp_keys(struct buf *out);
void table_doctor_checks(struct buf *out);
void table_doctor_findings(struct buf *out);
void table_moved_ors(struct buf *out); /* variables of open-responses-server, and what they set */
void table_moved_vr(struct buf *out);  /* those of vllm-responses */
void table_preset_ors(struct buf *out);
void table_preset_vr(struct buf *out);
void table_metric_buckets(struct buf *out);
void table_metrics(struct buf *out);
void table_model_families(struct buf *out);
void table_model_settings(struct buf *out); /* a section for each */
void table_schema(struct buf *out);         /* versions of the tables of a store */
void table_token_ways(struct buf *out);
void table_reject_reasons(struct buf *out);
void table_retry_words(struct buf *out);
void table_key_settings(struct buf *out);
void table_turn_line(struct buf *out);
void table_trace_variables(struct buf *out);
void table_upstream_fields(struct buf *out);
void table_upstream_images(struct buf *out);
void table_upstream_members(struct buf *out);   /* of an upstream in upstreams_file */
void table_upstream_overrides(struct buf *out); /* keys of the configuration among them */
void table_upstream_policies(struct buf *out);
void table_upstream_windows(struct buf *out);
void table_upstream_kinds(struct buf *out);

/* ---- completions of shells */

void completion_commands(struct buf *out);
void completion_flags(struct buf *out);
void completion_fish(struct buf *out);

/* ---- the man page */

void man_commands(struct buf *out);
void man_endpoints(struct buf *out);
void man_model_settings(struct buf *out);
void man_options(struct buf *out);
void man_synopsis(struct buf *out);
void man_title(struct buf *out);
void man_variables(struct buf *out);

#endif
