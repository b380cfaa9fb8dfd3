/* fuzz_body.c -- any bytes as a compressed body: what comes out never passes the
 * limit, is the same every time, and is what was packed unless it was damaged.
 *
 * Chance alone finds no way past a header and a checksum, so most inputs are
 * packed first and damaged in one byte:
 *
 *     coding | where to damage, two bytes | how; 0: not at all, from 128: not packed | text */
#include <zlib.h>
#include <zstd.h>

#include "base/buf.h"
#include "fuzz/fuzz.h"
#include "http/body_decode.h"

enum { LIMIT_BYTES = 4096, HEAD_BYTES = 4 };

static int decode(const char *coding, str bytes, struct buf *out)
{
    struct err e;

    buf_init(out, LIMIT_BYTES);
    return body_decode(str_from_c(coding), bytes, out, &e);
}

/* In pieces, and with a limit by ratio that cannot be reached: it is the same. */
static int decode_in_pieces(const char *coding, str bytes, struct buf *out)
{
    enum body_decoder_state state = BODY_DECODER_FAILED;
    struct body_decoder *d;
    struct err e;

    buf_init(out, LIMIT_BYTES);
    d = body_decoder_new(str_from_c(coding), bytes, 1, out, &e);
    if (d == NULL)
        return -1;
    do
        state = body_decoder_run(d, 100, &e);
    while (state == BODY_DECODER_MORE);
    body_decoder_free(d);
    return state == BODY_DECODER_DONE ? 0 : -1;
}

static size_t pack(bool zstd, str text, char *to, size_t room)
{
    uLongf n = room;

    if (zstd)
        return ZSTD_compress(to, room, text.p, text.len, 3);
    fuzz_promise(compress((Bytef *)to, &n, (const Bytef *)text.p, text.len) == Z_OK, "it packs");
    return n;
}

static void check(const char *coding, str body, str packed_text)
{
    struct buf first, second;
    int rc = decode(coding, body, &first);

    fuzz_promise(first.len <= LIMIT_BYTES, "the limit holds");
    fuzz_promise(rc == -1 || !buf_failed(&first), "what did not fit is an error");
    fuzz_promise(decode_in_pieces(coding, body, &second) == rc, "the verdict is the same");
    fuzz_promise(str_eq(buf_str(&first), buf_str(&second)), "and so are the bytes");
    if (!str_is_none(packed_text) && packed_text.len <= LIMIT_BYTES)
        fuzz_promise(rc == 0 && str_eq(buf_str(&first), packed_text), "packed text comes back");
    buf_fini(&first);
    buf_fini(&second);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    static const char *const codings[] = {"deflate", "zstd", "gzip", "br"};
    str text = str_skip(fuzz_input(bytes, n), HEAD_BYTES);
    size_t room = text.len + text.len / 64 + 128, len;
    const char *coding;
    char *body;

    if (n < HEAD_BYTES)
        return 0;
    coding = codings[bytes[0] % 4];
    if (bytes[3] >= 128 || bytes[0] % 4 >= 2) {
        check(coding, text, STR_NONE);
        return 0;
    }
    body = malloc(room);
    fuzz_promise(body != NULL, "there is memory");
    len = pack(bytes[0] % 4 == 1, text, body, room);
    body[(bytes[1] * 256u + bytes[2]) % len] ^= (char)bytes[3];
    check(coding, str_from(body, len), bytes[3] == 0 ? text : STR_NONE);
    free(body);
    return 0;
}
