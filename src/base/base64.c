/* base64.c -- three bytes become four letters. */
#include "base/base64.h"

#include <stdint.h>

/* The digits for 62 and 63, behind letters and numbers. */
static const char plain_digits[2] = "+/", url_digits[2] = "-_";

static char digit_of(uint32_t value, const char last[2])
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

    return value < 62 ? digits[value] : last[value - 62];
}

/* The value of a digit, or 64. */
static uint32_t digit_value(char c, const char last[2])
{
    if (c >= 'A' && c <= 'Z')
        return (uint32_t)(c - 'A');
    if (c >= 'a' && c <= 'z')
        return (uint32_t)(c - 'a') + 26;
    if (c >= '0' && c <= '9')
        return (uint32_t)(c - '0') + 52;
    return c == last[0] ? 62 : c == last[1] ? 63 : 64;
}

/* Four letters of one to three bytes, of which the last may be missing. */
static void write_group(str bytes, const char last[2], char to[4])
{
    uint32_t bits = 0;

    for (size_t i = 0; i < 3; i++)
        bits = bits << 8 | (i < bytes.len ? (unsigned char)bytes.p[i] : 0);
    for (size_t i = 0; i < 4; i++)
        to[i] = i <= bytes.len ? digit_of(bits >> (18 - 6 * i) & 63, last) : '=';
}

void base64_write(str bytes, struct buf *out)
{
    char group[4];

    for (; bytes.len > 0; bytes = str_skip(bytes, 3)) {
        write_group(bytes, plain_digits, group);
        buf_append(out, str_from(group, 4));
    }
}

void base64url_write(str bytes, struct buf *out)
{
    char group[4];

    for (; bytes.len > 0; bytes = str_skip(bytes, 3)) {
        write_group(bytes, url_digits, group);
        buf_append(out, str_from(group, bytes.len < 3 ? bytes.len + 1 : 4));
    }
}

size_t base64url_letters(size_t n_bytes)
{
    return n_bytes / 3 * 4 + (n_bytes % 3 == 0 ? 0 : n_bytes % 3 + 1);
}

size_t base64url_bytes(size_t n_letters)
{
    return n_letters / 4 * 3 + n_letters % 4 * 3 / 4;
}

/* Decodes at most four letters; bits beyond the last whole byte must be zero. */
static bool read_group(str letters, const char last[2], char *to)
{
    size_t n = letters.len < 4 ? letters.len : 4, n_bytes = base64url_bytes(n);
    uint32_t bits = 0;

    for (size_t i = 0; i < n; i++) {
        uint32_t value = digit_value(letters.p[i], last);

        if (value == 64)
            return false;
        bits |= value << (18 - 6 * i);
    }
    for (size_t i = 0; i < n_bytes; i++)
        to[i] = (char)(unsigned char)(bits >> (16 - 8 * i));
    return n > 1 && (bits & (0xFFFFFFU >> (8 * n_bytes))) == 0;
}

static bool read_groups(str letters, const char last[2], char *to)
{
    for (; letters.len > 0; letters = str_skip(letters, 4), to += 3) {
        if (!read_group(letters, last, to))
            return false;
    }
    return true;
}

bool base64url_read(str letters, char *to)
{
    return read_groups(letters, url_digits, to);
}

str base64_unpadded(str letters)
{
    if (letters.len == 0 || letters.len % 4 != 0)
        return letters.len == 0 ? letters : STR_NONE;
    for (unsigned i = 0; i < 2 && letters.p[letters.len - 1] == '='; i++)
        letters.len--;
    return letters;
}

bool base64_read(str unpadded, char *to)
{
    return read_groups(unpadded, plain_digits, to);
}
