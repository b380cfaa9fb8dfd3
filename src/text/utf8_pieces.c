/* utf8_pieces.c -- at most three bytes wait; all others are looked at once. */
#include "text/utf8_pieces.h"

#include "base/utf8.h"

/* True when a character can begin with all of s, which is one to three bytes. */
static bool is_beginning(str s)
{
    const unsigned char first = (unsigned char)s.p[0];
    char whole[4] = {'\x80', '\x80', '\x80', '\x80'};
    size_t n = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;

    if (s.len == 1)
        return first >= 0xC2 && first <= 0xF4;
    memcpy(whole, s.p, s.len);
    return s.len < n && utf8_char(str_from(whole, n)) == n;
}

/* Length of the longest beginning of a character in s, which begins with no whole one. */
static size_t beginning_length(str s)
{
    size_t n = 0;

    while (n < s.len && n < 3 && is_beginning(str_from(s.p, n + 1)))
        n++;
    return n;
}

/* Appends s but for a beginning at its end, which is kept. */
static void add_bytes(struct utf8_pieces *u, str s, struct buf *out)
{
    while (s.len > 0) {
        size_t n = utf8_valid_prefix(s);

        buf_append(out, str_from(s.p, n));
        s = str_skip(s, n);
        n = beginning_length(s);
        if (n == s.len)
            break;
        buf_append(out, STR(UTF8_REPLACEMENT));
        s = str_skip(s, n == 0 ? 1 : n);
    }
    if (s.len > 0)
        memcpy(u->begun, s.p, s.len);
    u->n_begun = s.len;
}

void utf8_pieces_add(struct utf8_pieces *u, str bytes, struct buf *out)
{
    /* A byte that does not go on with the beginning is one of its own: both are settled. */
    while (u->n_begun > 0 && bytes.len > 0) {
        char joined[4];
        size_t n = u->n_begun;

        memcpy(joined, u->begun, n);
        joined[n] = bytes.p[0];
        add_bytes(u, str_from(joined, n + 1), out);
        bytes = str_skip(bytes, 1);
    }
    if (bytes.len > 0)
        add_bytes(u, bytes, out);
}

void utf8_pieces_end(struct utf8_pieces *u, struct buf *out)
{
    if (u->n_begun > 0)
        buf_append(out, STR(UTF8_REPLACEMENT));
    u->n_begun = 0;
}
