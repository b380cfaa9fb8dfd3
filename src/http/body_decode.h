/* body_decode.h -- takes the content coding off a request body (RFC 9110, 8.4).
 *
 * gzip, x-gzip, deflate (in the zlib format, as RFC 9110 means it) and zstd with
 * windows of up to 8 MiB (RFC 9659). Bytes in, bytes out; any thread.
 *
 *     d = body_decoder_new(...)
 *     while (body_decoder_run(d, SLICE, &e) == BODY_DECODER_MORE) something else is done
 *     body_decoder_free(d) */
#ifndef ANTIPHON_HTTP_BODY_DECODE_H
#define ANTIPHON_HTTP_BODY_DECODE_H

#include "base/buf.h"
#include "base/err.h"

/* Codings that the Accept-Encoding of a 415 names. */
#define BODY_CODINGS "gzip, zstd"

struct body_decoder;

enum body_decoder_state { BODY_DECODER_FAILED = -1, BODY_DECODER_DONE, BODY_DECODER_MORE };

/* True when a value of Content-Encoding leaves the bytes as they are. */
bool body_is_plain(str coding);

/* Starts to decode bytes; they and out outlive the decoder. The limit of out bounds what is
 * decoded, and with it the work: a small body that swells stops there. So does max_ratio: no more
 * than so many times the bytes, or the first MiB if that is more; 0: any number. NULL with *reterr
 * filled: 415 for a coding that is not one of the above, or for several; 413 for what announces
 * more than is allowed; out of memory. */
struct body_decoder *body_decoder_new(str coding, str bytes, size_t max_ratio, struct buf *out,
                                      struct err *reterr);
void body_decoder_free(struct body_decoder *d); /* NULL is fine */

/* Appends decoded bytes to out, until they are all there or about `most` have come. Failed, it has
 * filled *reterr: 413 at a limit; 400 for bytes that are damaged, cut short or followed by others;
 * out of memory. Then, and when done, it may only be freed. */
enum body_decoder_state body_decoder_run(struct body_decoder *d, size_t most, struct err *reterr);

/* Decodes the whole body at once, with the limit of out only. Returns 0, or -1 with *reterr filled
 * and anything in out. */
int body_decode(str coding, str bytes, struct buf *out, struct err *reterr);

#endif
