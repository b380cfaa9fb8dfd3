/* spelling.c -- distances between words: one row of the classic table. */
#include "config/spelling.h"

enum { MAX_LETTERS = 63 };

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static char joined(char c)
{
    return c == '-' ? '_' : c;
}

static size_t distance(str a, str b)
{
    size_t row[MAX_LETTERS + 1];

    for (size_t j = 0; j <= b.len; j++)
        row[j] = j;
    for (size_t i = 1; i <= a.len; i++) {
        size_t corner = row[0];

        row[0] = i;
        for (size_t j = 1; j <= b.len; j++) {
            size_t swap = corner + (joined(a.p[i - 1]) != joined(b.p[j - 1]));

            corner = row[j];
            row[j] = least(swap, least(row[j], row[j - 1]) + 1);
        }
    }
    return row[b.len];
}

struct spelling spelling_of(str word, size_t max_distance)
{
    return (struct spelling){.word = word, .distance = max_distance + 1};
}

bool spelling_try(struct spelling *s, const char *known)
{
    str name = str_from_c(known);
    size_t d;

    if (s->word.len > MAX_LETTERS || name.len > MAX_LETTERS)
        return false;
    d = distance(s->word, name);
    if (d >= s->distance)
        return false;
    s->distance = d;
    s->best = known;
    return true;
}
