/* word.h -- eight bytes at a time.
 *
 * For loops that look for a few special bytes in long plain text: load eight,
 * ask whether any of them is special, and only then look at each. The answers
 * are exact, whatever the byte order. */
#ifndef ANTIPHON_BASE_WORD_H
#define ANTIPHON_BASE_WORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { WORD_BYTES = 8 };

#define WORD_LOW_BITS  0x0101010101010101U
#define WORD_HIGH_BITS 0x8080808080808080U

static inline uint64_t word_load(const char *p)
{
    uint64_t word;

    memcpy(&word, p, sizeof(word));
    return word;
}

/* Not zero when one of the bytes is c. */
static inline uint64_t word_find(uint64_t word, unsigned char c)
{
    uint64_t x = word ^ (WORD_LOW_BITS * c);

    return (x - WORD_LOW_BITS) & ~x & WORD_HIGH_BITS;
}

/* Not zero when one of the bytes is less than c, which is at most 128. */
static inline uint64_t word_find_below(uint64_t word, unsigned char c)
{
    return (word - WORD_LOW_BITS * c) & ~word & WORD_HIGH_BITS;
}

/* Not zero when one of the bytes is not ASCII. */
static inline uint64_t word_find_high(uint64_t word)
{
    return word & WORD_HIGH_BITS;
}

#endif
