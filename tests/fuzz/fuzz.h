/* fuzz.h -- what the fuzz targets share.
 *
 * A target is a promise: fuzz_promise() ends the process, and libFuzzer keeps
 * the input that broke it. */
#ifndef ANTIPHON_TESTS_FUZZ_FUZZ_H
#define ANTIPHON_TESTS_FUZZ_FUZZ_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/str.h"
#include "base/utf8.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

static inline void fuzz_promise(bool kept, const char *what)
{
    if (kept)
        return;
    (void)fprintf(stderr, "broken promise: %s\n", what);
    abort();
}

static inline str fuzz_input(const uint8_t *bytes, size_t n)
{
    return str_from(n == 0 ? "" : (const char *)bytes, n);
}

/* True for a line of text that a terminal can show: UTF-8 without control characters, not empty. */
static inline bool fuzz_is_shown(str s)
{
    for (size_t i = 0; i < s.len; i++) {
        if ((unsigned char)s.p[i] < ' ' || s.p[i] == 0x7F)
            return false;
    }
    return s.len > 0 && utf8_is_valid(s);
}

#endif
