/* body_decode.h -- takes the content coding off a request body (RFC 9110, 8.4).
 *
 * gzip, x-gzip, deflate (in the zlib format, as RFC 9110 means it) and zstd with
 * windows of up to 8 MiB (RFC 9659). Bytes in, bytes out; any thread. */
#ifndef ANTIPHON_HTTP_BODY_DECODE_H
#define ANTIPHON_HTTP_BODY_DECODE_H

#include "base/buf.h"
#include "base/err.h"

/* What the Accept-Encoding of a 415 names. */
#define BODY_CODINGS "gzip, zstd"

/* Does a value of Content-Encoding leave the bytes as they are? */
bool body_is_plain(str coding);

/* Appends the decoded bytes to out, whose limit bounds them and with them the
 * work: a small body that swells stops there.
 *
 * Returns 0, or -1 with *reterr filled and anything in out: 415 for a coding
 * that is not one of the above, or for several; 413 at the limit; 400 for bytes
 * that are damaged, cut short or followed by others; 500 when out of memory. */
int body_decode(str coding, str bytes, struct buf *out, struct err *reterr);

#endif
