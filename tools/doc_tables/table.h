/* table.h -- the tables of the documents, each made from a .def of src/. */
#ifndef ANTIPHON_TOOLS_TABLE_H
#define ANTIPHON_TOOLS_TABLE_H

#include "base/buf.h"

/* ---- Markdown */

void table_aliases(struct buf *out); /* variables of open-responses-server, and what they set */
void table_endpoints(struct buf *out);
void table_errors(struct buf *out);
void table_events(struct buf *out);
void table_keys(struct buf *out); /* of the configuration: a section for each */
void table_mcp_keys(struct buf *out);
void table_model_families(struct buf *out);
void table_model_settings(struct buf *out); /* a section for each */
void table_token_ways(struct buf *out);
void table_upstream_fields(struct buf *out);
void table_upstream_images(struct buf *out);
void table_upstream_windows(struct buf *out);
void table_upstream_kinds(struct buf *out);

/* ---- the man page */

void man_commands(struct buf *out);
void man_endpoints(struct buf *out);
void man_model_settings(struct buf *out);
void man_options(struct buf *out);
void man_synopsis(struct buf *out);
void man_title(struct buf *out);
void man_variables(struct buf *out);

#endif
