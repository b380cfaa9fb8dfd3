/* compact_text.c -- texts are cut between characters. */
#include "compact/compact_text.h"

#include "base/utf8.h"

int64_t compact_tokens(size_t n_bytes)
{
    const size_t n = n_bytes / COMPACT_BYTES_A_TOKEN + (n_bytes % COMPACT_BYTES_A_TOKEN != 0);

    return n == 0 ? 1 : (int64_t)n;
}

static void write_mark(size_t n_left_out, struct buf *out)
{
    buf_c(out, "\n[… ");
    buf_uint(out, n_left_out);
    buf_c(out, " characters left out …]\n");
}

/* Where the longest end of at most limit bytes begins that does not begin inside a character. */
static size_t end_of_text(str text, size_t limit)
{
    size_t start = text.len - limit;

    while (start < text.len && ((unsigned char)text.p[start] & 0xC0) == 0x80)
        start++;
    return start;
}

static void write_ends(str text, size_t head, size_t tail, struct buf *out)
{
    const str middle = str_from(text.p + head, tail - head);

    buf_append(out, str_from(text.p, head));
    write_mark(utf8_count(middle), out);
    buf_append(out, str_skip(text, tail));
}

void compact_cut_bytes(str text, size_t n_bytes, struct buf *out)
{
    const size_t half = n_bytes / 2;

    if (text.len <= n_bytes)
        buf_append(out, text);
    else
        write_ends(text, utf8_cut(text, half), end_of_text(text, half), out);
}

/* The bytes of the first n characters. */
static size_t first_chars(str text, size_t n)
{
    size_t at = 0;

    for (; n > 0 && at < text.len; n--) {
        at++;
        while (at < text.len && ((unsigned char)text.p[at] & 0xC0) == 0x80)
            at++;
    }
    return at;
}

static size_t last_chars(str text, size_t n)
{
    size_t at = text.len;

    for (; n > 0 && at > 0; n--) {
        at--;
        while (at > 0 && ((unsigned char)text.p[at] & 0xC0) == 0x80)
            at--;
    }
    return at;
}

void compact_cut_chars(str text, size_t n, struct buf *out)
{
    const size_t head = first_chars(text, n), tail = last_chars(text, n);
    struct buf mark = {.limit = 0};
    bool is_shorter;

    if (tail > head)
        write_mark(utf8_count(str_from(text.p + head, tail - head)), &mark);
    is_shorter = tail > head && tail - head > mark.len;
    buf_fini(&mark);
    if (is_shorter)
        write_ends(text, head, tail, out);
    else
        buf_append(out, text);
}
