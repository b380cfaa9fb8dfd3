/* schema_ts.h -- a JSON schema as the TypeScript type that Harmony prompts show (HARMONY 4). */
#ifndef ANTIPHON_TEXT_SCHEMA_TS_H
#define ANTIPHON_TEXT_SCHEMA_TS_H

#include "base/buf.h"

/* Schemas inside of so many others are `any`. It keeps the time linear: each level is passed
 * once more than the one around it. And it bounds the indentation, and with it the output. */
enum { SCHEMA_TS_MAX_DEPTH = 16 };

/* Appends the type, as plain text, for valid JSON; its texts as they are. Anything that is no
 * schema is `any`. */
void schema_ts_write(str schema, struct buf *out);

#endif
