/* base64.h -- bytes as letters (RFC 4648, 4). */
#ifndef ANTIPHON_BASE_BASE64_H
#define ANTIPHON_BASE_BASE64_H

#include "base/buf.h"
#include "base/str.h"

/* Appends the bytes in base64, padded. */
void base64_write(str bytes, struct buf *out);

#endif
