/* id.c -- base-62 characters without bias: bytes that would skew are thrown away. */
#include "base/id.h"

#include <assert.h>

struct id id_make(const struct id_source *source, const char *prefix, size_t n_chars)
{
    static const char alphabet[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    struct id id = {.len = 0};
    unsigned char random[48];
    size_t left = 0, want;

    assert(strlen(prefix) <= 16 && n_chars <= 32);
    while (*prefix != '\0')
        id.text[id.len++] = *prefix++;
    want = id.len + n_chars;
    while (id.len < want) {
        unsigned char c;

        if (left == 0) {
            source->fill(source->arg, random, sizeof(random));
            left = sizeof(random);
        }
        c = random[--left] & 63;
        if (c < sizeof(alphabet) - 1)
            id.text[id.len++] = alphabet[c];
    }
    return id;
}
