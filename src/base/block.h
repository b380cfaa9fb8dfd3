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
#ifdef __SSE2__
#include <emmintrin.h>
#endif

enum { BLOCK_BYTES = 16 };

typedef signed char block __attribute__((vector_size(BLOCK_BYTES)));

static inline block block_load(const char *p)
{
    block b;

    memcpy(&b, p, sizeof(b));
    return b;
}

/* A bit for each marked byte, the lowest for the first. */
static inline unsigned block_mask(block marks)
{
#ifdef __SSE2__
    return (unsigned)_mm_movemask_epi8((__m128i)marks);
#else
    unsigned mask = 0;

    for (unsigned i = 0; i < BLOCK_BYTES; i++)
        mask |= (unsigned)(marks[i] != 0) << i;
    return mask;
#endif
}

/* Index of the first marked byte; BLOCK_BYTES when none is. */
static inline size_t block_first(block marks)
{
    return (size_t)__builtin_ctz(block_mask(marks) | 1U << BLOCK_BYTES);
}

/* Up to eight bytes, zeros behind them; a copy of a length that is not constant would cost more than the rest. */
static inline uint64_t block_load_few(const char *p, size_t n)
{
    uint64_t bytes = 0;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    uint32_t first, last;

    if (n >= 8) {
        memcpy(&bytes, p, 8);
    } else if (n >= 4) {
        memcpy(&first, p, 4);
        memcpy(&last, p + n - 4, 4);
        bytes = first | (uint64_t)last << (8 * (n - 4));
    } else {
        for (size_t i = 0; i < n; i++)
            bytes |= (uint64_t)(unsigned char)p[i] << (8 * i);
    }
#else
    memcpy(&bytes, p, n < 8 ? n : 8);
#endif
    return bytes;
}

/* The last bytes of a text, fewer than a block; zeros behind them. */
static inline block block_load_rest(const char *p, size_t n)
{
    const uint64_t halves[2] = {block_load_few(p, n), n > 8 ? block_load_few(p + 8, n - 8) : 0};

    return block_load((const char *)halves);
}

/* Shows the marked bytes from p to end one after the other to see(), which returns where to go on, at most
 * BLOCK_BYTES behind it, or NULL to stop there. What it passed is not shown. Returns where it stopped, or
 * end. Both functions are to be known where this is called, since only inlined this is quick. */
__attribute__((always_inline)) static inline const char *
block_walk(const char *p, const char *end, block (*marks)(block b),
           const char *(*see)(const char *p, const char *end, void *arg), void *arg)
{
    while (p < end) {
        const char *const start = p;
        const size_t n = (size_t)(end - start);
        unsigned left = n < BLOCK_BYTES ? block_mask(marks(block_load_rest(start, n))) & ~(~0U << n)
                                        : block_mask(marks(block_load(start)));

        while (left != 0) {
            const char *const at = start + __builtin_ctz(left);

            p = see(at, end, arg);
            if (p == NULL)
                return at;
            left &= ~0U << (p - start);
        }
        if (p - start < BLOCK_BYTES)
            p = n < BLOCK_BYTES ? end : start + BLOCK_BYTES;
    }
    return end;
}

#endif
