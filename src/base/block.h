/* block.h -- sixteen bytes at a time.
 *
 * For loops that look for a few special bytes in long plain text. A block is a
 * vector of the compiler's: `b == 'x'` compares all bytes at once and marks
 * those for which it is true, on whatever the processor has for that.
 *
 *     size_t n = block_first((block_load(p) == '"') | (block_load(p) == '\\'));
 *
 * The bytes are signed: b < ' ' is true for control characters and for all
 * that is not ASCII. Where char is unsigned, a constant above 127 needs a cast. */
#ifndef ANTIPHON_BASE_BLOCK_H
#define ANTIPHON_BASE_BLOCK_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { BLOCK_BYTES = 16 };

typedef signed char block __attribute__((vector_size(BLOCK_BYTES)));

static inline block block_load(const char *p)
{
    block b;

    memcpy(&b, p, sizeof(b));
    return b;
}

/* Index of the first of eight bytes that is not zero; there is one. */
static inline size_t block_first_of_half(uint64_t half)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    return (size_t)__builtin_ctzll(half) / 8;
#else
    return (size_t)__builtin_clzll(half) / 8;
#endif
}

/* Index of the first marked byte; BLOCK_BYTES when none is. */
static inline size_t block_first(block marks)
{
    uint64_t halves[2];

    memcpy(halves, &marks, sizeof(halves));
    if (halves[0] != 0)
        return block_first_of_half(halves[0]);
    if (halves[1] != 0)
        return 8 + block_first_of_half(halves[1]);
    return BLOCK_BYTES;
}

#endif
