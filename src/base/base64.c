/* base64.c -- three bytes become four letters. */
#include "base/base64.h"

#include <stdint.h>

void base64_write(str bytes, struct buf *out)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

    while (bytes.len > 0) {
        size_t n = bytes.len < 3 ? bytes.len : 3;
        uint32_t bits = 0;

        for (size_t i = 0; i < 3; i++)
            bits = bits << 8 | (i < n ? (unsigned char)bytes.p[i] : 0);
        for (size_t i = 0; i < 4; i++)
            buf_char(out, i <= n ? digits[bits >> (18 - 6 * i) & 63] : '=');
        bytes = str_skip(bytes, n);
    }
}
