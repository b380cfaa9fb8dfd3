/* body_decode.c -- zlib and libzstd behind one function.
 *
 * Both formats may be several in a row (members, frames), and the whole of them
 * is the body. Decoded bytes take the way over a piece of stack, so that the
 * buffer grows by what there is and refuses what passes its limit. */
#include "http/body_decode.h"

#include <stdint.h>
#define ZLIB_CONST
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "base/budget.h"

enum {
    PIECE_BYTES = 16 * 1024,
    ALWAYS_BYTES = 1024 * 1024, /* whatever the ratio is: short texts that repeat themselves */
    ZLIB_WINDOW_BITS = 15,
    ZLIB_GZIP = 16,         /* added to the window: a gzip header and trailer */
    ZLIB_BYTES = 48 * 1024, /* what zlib allocates */
    ZSTD_WINDOW_BITS = 23   /* a frame that asks for more would have us allocate it */
};

struct coding {
    str name;
    int (*open)(struct body_decoder *d, struct err *reterr);
    enum body_decoder_state (*decode_piece)(struct body_decoder *d, struct err *reterr);
    void (*close)(struct body_decoder *d);
    int window_bits;
};

struct body_decoder {
    const struct coding *coding;
    str bytes;
    struct buf *out;
    size_t max_ratio, ratio_bytes; /* no more than ratio_bytes because of max_ratio; 0: any */
    size_t n_decoded;
    size_t counted; /* of the budget, for the library */
    z_stream zlib;
    ZSTD_DCtx *zstd;
    ZSTD_inBuffer zstd_in;
    size_t zstd_verdict; /* 0: a frame has ended here */
    bool is_open;
};

static enum body_decoder_state fail_damaged(const struct body_decoder *d, const char *why,
                                            struct err *reterr)
{
    err_set(reterr, ERR_BAD_REQUEST, "The request body is not valid %.*s data: %s.",
            STR_ARG(d->coding->name), why);
    return BODY_DECODER_FAILED;
}

static enum body_decoder_state fail_no_memory(struct err *reterr)
{
    err_set_no_memory(reterr);
    return BODY_DECODER_FAILED;
}

/* ---- limits */

static bool passes_ratio(const struct body_decoder *d, unsigned long long n)
{
    return d->ratio_bytes != 0 && n > d->ratio_bytes;
}

/* Refuses a body that has n bytes or more when decoded. */
static enum body_decoder_state fail_too_large(const struct body_decoder *d, unsigned long long n,
                                              struct err *reterr)
{
    const struct buf *out = d->out;

    if (passes_ratio(d, n) && (out->limit == 0 || d->ratio_bytes < out->limit))
        err_set(reterr, ERR_REQUEST_TOO_LARGE,
                "The request body is more than %zu times larger when decoded (max_body_ratio).",
                d->max_ratio);
    else
        err_set(reterr, ERR_REQUEST_TOO_LARGE,
                "The request body is larger than %zu bytes when decoded.", out->limit);
    return BODY_DECODER_FAILED;
}

/* Appends a decoded piece; false when the body fails by it. */
static bool take_piece(struct body_decoder *d, const void *piece, size_t n, struct err *reterr)
{
    d->n_decoded += n;
    if (!passes_ratio(d, d->n_decoded))
        buf_append(d->out, str_from(piece, n));
    if (passes_ratio(d, d->n_decoded) || d->out->is_full)
        (void)fail_too_large(d, d->n_decoded, reterr);
    else if (buf_failed(d->out))
        err_set_no_memory(reterr);
    else
        return true;
    return false;
}

/* ---- zlib */

static int zlib_open(struct body_decoder *d, struct err *reterr)
{
    if (d->bytes.len > UINT32_MAX) {
        err_set(reterr, ERR_REQUEST_TOO_LARGE, "The request body is larger than 4 GiB.");
        return -1;
    }
    if (!budget_take(ZLIB_BYTES))
        return (int)fail_no_memory(reterr);
    d->counted = ZLIB_BYTES;
    d->zlib.next_in = (const unsigned char *)d->bytes.p;
    d->zlib.avail_in = (uInt)d->bytes.len;
    if (inflateInit2(&d->zlib, d->coding->window_bits) != Z_OK)
        return (int)fail_no_memory(reterr);
    d->is_open = true;
    return 0;
}

static void zlib_close(struct body_decoder *d)
{
    if (d->is_open)
        (void)inflateEnd(&d->zlib);
}

static enum body_decoder_state zlib_decode_piece(struct body_decoder *d, struct err *reterr)
{
    unsigned char piece[PIECE_BYTES];
    z_stream *z = &d->zlib;
    int verdict;

    z->next_out = piece;
    z->avail_out = sizeof(piece);
    verdict = inflate(z, Z_NO_FLUSH);
    if (!take_piece(d, piece, sizeof(piece) - z->avail_out, reterr))
        return BODY_DECODER_FAILED;
    if (verdict == Z_STREAM_END && z->avail_in == 0)
        return BODY_DECODER_DONE;
    if (verdict == Z_STREAM_END && d->coding->window_bits < ZLIB_GZIP)
        return fail_damaged(d, "something follows its end", reterr);
    if (verdict == Z_STREAM_END)
        verdict = inflateReset(z);
    if (verdict == Z_OK)
        return BODY_DECODER_MORE;
    if (verdict == Z_MEM_ERROR)
        return fail_no_memory(reterr);
    return fail_damaged(d, verdict == Z_BUF_ERROR ? "it is cut short" : "it is damaged", reterr);
}

/* ---- zstd */

/* The size that the first frame announces, which need not be decoded when it is too much; else
 * 0. */
static unsigned long long announced_bytes(str bytes)
{
    unsigned long long size = ZSTD_getFrameContentSize(bytes.p, bytes.len);

    return size == ZSTD_CONTENTSIZE_UNKNOWN || size == ZSTD_CONTENTSIZE_ERROR ? 0 : size;
}

static int zstd_open(struct body_decoder *d, struct err *reterr)
{
    unsigned long long announced = announced_bytes(d->bytes);

    if (passes_ratio(d, announced) || (d->out->limit != 0 && announced > d->out->limit))
        return (int)fail_too_large(d, announced, reterr);
    d->zstd_in = (ZSTD_inBuffer){d->bytes.p, d->bytes.len, 0};
    d->zstd_verdict = 1;
    d->zstd = ZSTD_createDCtx();
    if (d->zstd == NULL)
        return (int)fail_no_memory(reterr);
    if (ZSTD_isError(
            ZSTD_DCtx_setParameter(d->zstd, ZSTD_d_windowLogMax, d->coding->window_bits))) {
        err_set(reterr, ERR_INTERNAL, "zstd takes no limit of %d bits for its window.",
                d->coding->window_bits);
        return -1;
    }
    return 0;
}

static void zstd_close(struct body_decoder *d)
{
    (void)ZSTD_freeDCtx(d->zstd);
}

static enum body_decoder_state fail_zstd(const struct body_decoder *d, size_t verdict,
                                         struct err *reterr)
{
    switch (ZSTD_getErrorCode(verdict)) {
    case ZSTD_error_memory_allocation:
        return fail_no_memory(reterr);
    case ZSTD_error_frameParameter_windowTooLarge:
        return fail_damaged(d, "its window is larger than 8 MiB", reterr);
    default:
        return fail_damaged(d, "it is damaged", reterr);
    }
}

/* Counts the window, which libzstd allocates when a frame has said how large it is. */
static bool count_window(struct body_decoder *d, struct err *reterr)
{
    size_t now = ZSTD_sizeof_DCtx(d->zstd);

    if (now <= d->counted)
        return true;
    if (!budget_take(now - d->counted)) {
        err_set_no_memory(reterr);
        return false;
    }
    d->counted = now;
    return true;
}

static enum body_decoder_state zstd_decode_piece(struct body_decoder *d, struct err *reterr)
{
    char piece[PIECE_BYTES];
    ZSTD_outBuffer to = {piece, sizeof(piece), 0};
    size_t before = d->zstd_in.pos;

    if (d->zstd_in.pos == d->zstd_in.size && d->zstd_verdict == 0)
        return BODY_DECODER_DONE;
    d->zstd_verdict = ZSTD_decompressStream(d->zstd, &to, &d->zstd_in);
    if (ZSTD_isError(d->zstd_verdict))
        return fail_zstd(d, d->zstd_verdict, reterr);
    if (!count_window(d, reterr) || !take_piece(d, piece, to.pos, reterr))
        return BODY_DECODER_FAILED;
    if (d->zstd_in.pos == before && to.pos == 0)
        return fail_damaged(d, "it is cut short", reterr);
    return BODY_DECODER_MORE;
}

/* ---- which one */

static const struct coding codings[] = {
    {STR_INIT("gzip"), zlib_open, zlib_decode_piece, zlib_close, ZLIB_WINDOW_BITS + ZLIB_GZIP},
    {STR_INIT("x-gzip"), zlib_open, zlib_decode_piece, zlib_close, ZLIB_WINDOW_BITS + ZLIB_GZIP},
    {STR_INIT("deflate"), zlib_open, zlib_decode_piece, zlib_close, ZLIB_WINDOW_BITS},
    {STR_INIT("zstd"), zstd_open, zstd_decode_piece, zstd_close, ZSTD_WINDOW_BITS},
};

bool body_is_plain(str coding)
{
    return coding.len == 0 || str_eq_nocase(coding, STR("identity"));
}

static const struct coding *find_coding(str name)
{
    for (size_t i = 0; i < COUNT_OF(codings); i++) {
        if (str_eq_nocase(name, codings[i].name))
            return &codings[i];
    }
    return NULL;
}

static size_t bytes_by_ratio(size_t n, size_t max_ratio)
{
    size_t most = max_ratio > 0 && n > SIZE_MAX / max_ratio ? SIZE_MAX : n * max_ratio;

    return max_ratio > 0 && most < ALWAYS_BYTES ? ALWAYS_BYTES : most;
}

struct body_decoder *body_decoder_new(str coding, str bytes, size_t max_ratio, struct buf *out,
                                      struct err *reterr)
{
    const struct coding *known = find_coding(coding);
    struct body_decoder *d;

    if (known == NULL) {
        err_set(reterr, ERR_UNSUPPORTED_MEDIA_TYPE,
                "Content-Encoding must be one of " BODY_CODINGS ", or absent.");
        return NULL;
    }
    d = budget_alloc(sizeof(*d), sizeof(*d));
    if (d == NULL) {
        err_set_no_memory(reterr);
        return NULL;
    }
    d->coding = known;
    d->bytes = bytes;
    d->out = out;
    d->max_ratio = max_ratio;
    d->ratio_bytes = bytes_by_ratio(bytes.len, max_ratio);
    if (known->open(d, reterr) == 0)
        return d;
    body_decoder_free(d);
    return NULL;
}

void body_decoder_free(struct body_decoder *d)
{
    if (d == NULL)
        return;
    d->coding->close(d);
    budget_give(d->counted);
    budget_free(d, sizeof(*d));
}

enum body_decoder_state body_decoder_run(struct body_decoder *d, size_t most, struct err *reterr)
{
    enum { LEAST_COST = 256 }; /* of a piece that brings little, as an empty frame */
    enum body_decoder_state state;
    size_t before, spent = 0;

    do {
        before = d->n_decoded;
        state = d->coding->decode_piece(d, reterr);
        spent += d->n_decoded - before + LEAST_COST;
    } while (state == BODY_DECODER_MORE && spent < most);
    return state;
}

int body_decode(str coding, str bytes, struct buf *out, struct err *reterr)
{
    struct body_decoder *d = body_decoder_new(coding, bytes, 0, out, reterr);
    enum body_decoder_state state = BODY_DECODER_FAILED;

    if (d != NULL)
        state = body_decoder_run(d, SIZE_MAX, reterr);
    body_decoder_free(d);
    return state == BODY_DECODER_DONE ? 0 : -1;
}
