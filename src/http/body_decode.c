/* body_decode.c -- zlib and libzstd behind one function.
 *
 * Both formats may be several in a row (members, frames), and the whole of them
 * is the body. Decoded bytes take the way over a piece of stack, so that the
 * buffer grows by what there is and refuses what passes its limit. */
#include "http/body_decode.h"

#define ZLIB_CONST
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

enum {
    PIECE_BYTES = 16 * 1024,
    ZLIB_WINDOW_BITS = 15,
    ZLIB_GZIP = 16,       /* added to the window: a gzip header and trailer */
    ZSTD_WINDOW_BITS = 23 /* a frame that asks for more would have us allocate it */
};

struct coding {
    str name;
    int (*decode)(const struct coding *coding, str bytes, struct buf *out, struct err *reterr);
    int window_bits;
};

static int fail_damaged(const struct coding *coding, const char *why, struct err *reterr)
{
    err_set(reterr, ERR_BAD_REQUEST, "The request body is not valid %.*s data: %s.",
            STR_ARG(coding->name), why);
    return -1;
}

static int fail_too_large(const struct buf *out, struct err *reterr)
{
    err_set(reterr, ERR_REQUEST_TOO_LARGE,
            "The request body is larger than %zu bytes when decoded.", out->limit);
    return -1;
}

static int fail_append(const struct buf *out, struct err *reterr)
{
    if (out->is_full)
        return fail_too_large(out, reterr);
    err_set_no_memory(reterr);
    return -1;
}

/* ---- zlib */

/* One call of inflate() with its output appended; returns its verdict. */
static int inflate_piece(z_stream *z, struct buf *out)
{
    unsigned char piece[PIECE_BYTES];
    int verdict;

    z->next_out = piece;
    z->avail_out = sizeof(piece);
    verdict = inflate(z, Z_NO_FLUSH);
    buf_append(out, str_from((const char *)piece, sizeof(piece) - z->avail_out));
    return verdict;
}

static int inflate_all(const struct coding *coding, z_stream *z, struct buf *out,
                       struct err *reterr)
{
    int verdict;

    for (;;) {
        verdict = inflate_piece(z, out);
        if (buf_failed(out))
            return fail_append(out, reterr);
        if (verdict == Z_STREAM_END && z->avail_in == 0)
            return 0;
        if (verdict == Z_STREAM_END && coding->window_bits < ZLIB_GZIP)
            return fail_damaged(coding, "something follows its end", reterr);
        if (verdict == Z_STREAM_END)
            verdict = inflateReset(z);
        if (verdict == Z_OK)
            continue;
        if (verdict == Z_MEM_ERROR)
            err_set_no_memory(reterr);
        else
            (void)fail_damaged(coding, verdict == Z_BUF_ERROR ? "it is cut short" : "it is damaged",
                               reterr);
        return -1;
    }
}

static int decode_zlib(const struct coding *coding, str bytes, struct buf *out, struct err *reterr)
{
    z_stream z = {.next_in = (const unsigned char *)bytes.p, .avail_in = (uInt)bytes.len};
    int rc;

    if (bytes.len > UINT32_MAX) {
        err_set(reterr, ERR_REQUEST_TOO_LARGE, "The request body is larger than 4 GiB.");
        return -1;
    }
    if (inflateInit2(&z, coding->window_bits) != Z_OK) {
        err_set_no_memory(reterr);
        return -1;
    }
    rc = inflate_all(coding, &z, out, reterr);
    (void)inflateEnd(&z);
    return rc;
}

/* ---- zstd */

static int fail_zstd(const struct coding *coding, size_t verdict, struct err *reterr)
{
    switch (ZSTD_getErrorCode(verdict)) {
    case ZSTD_error_memory_allocation:
        err_set_no_memory(reterr);
        return -1;
    case ZSTD_error_frameParameter_windowTooLarge:
        return fail_damaged(coding, "its window is larger than 8 MiB", reterr);
    default:
        return fail_damaged(coding, "it is damaged", reterr);
    }
}

static int decode_frames(const struct coding *coding, ZSTD_DCtx *z, str bytes, struct buf *out,
                         struct err *reterr)
{
    ZSTD_inBuffer in = {bytes.p, bytes.len, 0};
    char piece[PIECE_BYTES];
    size_t verdict = 1; /* 0: a frame has ended here */

    for (;;) {
        ZSTD_outBuffer to = {piece, sizeof(piece), 0};
        size_t before = in.pos;

        if (in.pos == in.size && verdict == 0)
            return 0;
        verdict = ZSTD_decompressStream(z, &to, &in);
        if (ZSTD_isError(verdict))
            return fail_zstd(coding, verdict, reterr);
        buf_append(out, str_from(piece, to.pos));
        if (buf_failed(out))
            return fail_append(out, reterr);
        if (in.pos == before && to.pos == 0)
            return fail_damaged(coding, "it is cut short", reterr);
    }
}

/* Does the first frame announce more than fits? Then nothing needs to be decoded. */
static bool is_announced_too_large(str bytes, const struct buf *out)
{
    unsigned long long size = ZSTD_getFrameContentSize(bytes.p, bytes.len);

    return size != ZSTD_CONTENTSIZE_UNKNOWN && size != ZSTD_CONTENTSIZE_ERROR && out->limit != 0 &&
           size > out->limit;
}

static int decode_zstd(const struct coding *coding, str bytes, struct buf *out, struct err *reterr)
{
    ZSTD_DCtx *z;
    int rc = -1;

    if (is_announced_too_large(bytes, out))
        return fail_too_large(out, reterr);
    z = ZSTD_createDCtx();
    if (z == NULL)
        err_set_no_memory(reterr);
    else if (ZSTD_isError(ZSTD_DCtx_setParameter(z, ZSTD_d_windowLogMax, coding->window_bits)))
        err_set(reterr, ERR_INTERNAL, "zstd takes no limit of %d bits for its window.",
                coding->window_bits);
    else
        rc = decode_frames(coding, z, bytes, out, reterr);
    (void)ZSTD_freeDCtx(z);
    return rc;
}

/* ---- which one */

static const struct coding codings[] = {
    {STR_INIT("gzip"), decode_zlib, ZLIB_WINDOW_BITS + ZLIB_GZIP},
    {STR_INIT("x-gzip"), decode_zlib, ZLIB_WINDOW_BITS + ZLIB_GZIP},
    {STR_INIT("deflate"), decode_zlib, ZLIB_WINDOW_BITS},
    {STR_INIT("zstd"), decode_zstd, ZSTD_WINDOW_BITS},
};

bool body_is_plain(str coding)
{
    return coding.len == 0 || str_eq_nocase(coding, STR("identity"));
}

int body_decode(str coding, str bytes, struct buf *out, struct err *reterr)
{
    for (size_t i = 0; i < sizeof(codings) / sizeof(*codings); i++) {
        if (str_eq_nocase(coding, codings[i].name))
            return codings[i].decode(&codings[i], bytes, out, reterr);
    }
    err_set(reterr, ERR_UNSUPPORTED_MEDIA_TYPE,
            "Content-Encoding must be one of " BODY_CODINGS ", or absent.");
    return -1;
}
