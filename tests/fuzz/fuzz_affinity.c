/* fuzz_affinity.c -- any row of notes, questions, ejections and times: what is remembered is what plain
 * lists remember, within the same bounds. */
#include "fuzz/fuzz.h"

#include "lib/affinity_play.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    const char *difference = affinity_play(fuzz_input(bytes, n));

    fuzz_promise(difference == NULL, difference);
    return 0;
}
