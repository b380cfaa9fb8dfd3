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

#endif
