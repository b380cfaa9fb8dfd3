/* json_err.h -- an error as clients read it (CONTRACT 7.1). */
#ifndef ANTIPHON_JSON_JSON_ERR_H
#define ANTIPHON_JSON_JSON_ERR_H

#include "base/buf.h"
#include "base/err.h"

/* Appends {"error":{...}} with all four members. */
void json_err_write(const struct err *e, struct buf *out);

#endif
