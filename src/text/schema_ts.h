/* schema_ts.h -- a JSON schema as the TypeScript type that Harmony prompts show (HARMONY 4). */
#ifndef ANTIPHON_TEXT_SCHEMA_TS_H
#define ANTIPHON_TEXT_SCHEMA_TS_H

#include "base/buf.h"

/* Appends the type, as plain text, for a valid JSON schema; its texts as they are. Anything that
 * is no schema is `any`. */
void schema_ts_write(str schema, struct buf *out);

#endif
