/* store_dump.h -- a whole store as JSON lines.
 *
 *     {"owner":"...","response":{...},"input":[...]}        one for each response
 *     {"owner":"...","conversation":{...},"items":[...]}    and each conversation
 *
 * Objects are those of the API; what no answer shows is not among them. */
#ifndef ANTIPHON_CLI_STORE_DUMP_H
#define ANTIPHON_CLI_STORE_DUMP_H

#include <stdio.h>

#include "base/err.h"

struct store_session;

/* Blocks. ERR_INTERNAL when the file takes no more, or what store_export() says. */
int store_dump(struct store_session *s, FILE *to, struct err *reterr);

#endif
