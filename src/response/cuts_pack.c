/* cuts_pack.c -- cuts of a response that has ended, in less room (cuts.h).
 *
 * Of a text nearly all cuts are a byte for a delta, and that a small one: two of them go into one byte.
 *
 *     255        the first byte of all
 *     1..47      a delta of so many bytes
 *     48..191    two deltas, of 1 to 12 bytes each
 *     others     as they were
 *
 * Only whole cuts are packed, where nobody reads along any more: a cursor counts the bytes of cuts that
 * were not. A delta of 48 to 191 bytes is written like a longer one. */
#include "response/cuts.h"

enum {
    PACKED = 255,
    FIRST_PAIR = 48,
    MAX_OF_PAIR = 12,
    FIRST_TYPE = 192, /* no delta that follows another */
    NUMBER_BITS = 7,
};

/* True where a byte may stand for a delta, and nothing follows it. */
static bool is_in_text(const struct cuts_reader *r)
{
    return r->place.delta != EVENT_NONE && !r->place.has_logprobs;
}

static unsigned char byte_at(str bytes, size_t at)
{
    return (unsigned char)bytes.p[at];
}

static bool is_in_pair(unsigned char byte)
{
    return byte >= 1 && byte <= MAX_OF_PAIR;
}

/* ---- packing */

static void write_long_delta(unsigned char len, struct buf *out)
{
    buf_char(out, 0);
    if (len >= 1U << NUMBER_BITS) {
        buf_char(out, (char)len); /* its low bits, and that a byte follows */
        len = 1;
    }
    buf_char(out, (char)len);
}

/* An event that stands at `from`. */
static void pack_event(str bytes, size_t from, size_t to, struct buf *out)
{
    const unsigned char byte = byte_at(bytes, from);

    if (byte >= FIRST_PAIR && byte < FIRST_TYPE) {
        write_long_delta(byte, out);
        from++;
    }
    buf_append(out, str_from(bytes.p + from, to - from));
}

static void pack_pair(unsigned char first, unsigned char second, struct buf *out)
{
    buf_char(out, (char)(FIRST_PAIR + (first - 1) * MAX_OF_PAIR + second - 1));
}

void cuts_pack(str bytes, struct buf *out)
{
    struct cuts_reader r = {.at = 0};
    struct event_cut cut;

    buf_char(out, (char)PACKED);
    while (r.at < bytes.len) {
        const size_t from = r.at;
        const bool is_pair = is_in_text(&r) && from + 1 < bytes.len &&
                             is_in_pair(byte_at(bytes, from)) &&
                             is_in_pair(byte_at(bytes, from + 1));

        if (is_pair) {
            pack_pair(byte_at(bytes, from), byte_at(bytes, from + 1), out);
            r.at += 2;
        } else if (cuts_next(&r, bytes, &cut)) {
            pack_event(bytes, from, r.at, out);
        } else {
            out->failed = true;
            return;
        }
    }
}

/* ---- unpacking */

bool cuts_are_packed(str bytes)
{
    return bytes.len > 0 && byte_at(bytes, 0) == PACKED;
}

static void unpack_pair(unsigned char byte, struct buf *out)
{
    buf_char(out, (char)(1 + (byte - FIRST_PAIR) / MAX_OF_PAIR));
    buf_char(out, (char)(1 + (byte - FIRST_PAIR) % MAX_OF_PAIR));
}

static void unpack_event(str event, const struct event_cut *cut, struct buf *out)
{
    const bool was_short =
        byte_at(event, 0) == 0 && cut->len >= FIRST_PAIR && cut->len < FIRST_TYPE;
    const size_t head = cut->len >= 1U << NUMBER_BITS ? 3 : 2;

    if (was_short) {
        buf_char(out, (char)cut->len);
        event = str_skip(event, head);
    }
    buf_append(out, event);
}

bool cuts_unpack(str packed, struct buf *out)
{
    struct cuts_reader r = {.at = 1};
    struct event_cut cut;

    while (r.at < packed.len) {
        const size_t from = r.at;
        const unsigned char byte = byte_at(packed, from);

        if (is_in_text(&r) && byte >= FIRST_PAIR && byte < FIRST_TYPE) {
            unpack_pair(byte, out);
            r.at++;
        } else if (cuts_next(&r, packed, &cut)) {
            unpack_event(str_from(packed.p + from, r.at - from), &cut, out);
        } else {
            return false;
        }
    }
    return true;
}
