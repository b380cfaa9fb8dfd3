/* test_seed.h -- where chance begins: always at the same place, unless ANTIPHON_TEST_SEED says another. */
#ifndef ANTIPHON_TESTS_TEST_SEED_H
#define ANTIPHON_TESTS_TEST_SEED_H

#include <stdlib.h>
#include <string.h>
#include <time.h>

static inline unsigned test_seed(void)
{
    const char *given = getenv("ANTIPHON_TEST_SEED");

    if (given == NULL)
        return 1;
    return strcmp(given, "random") == 0 ? (unsigned)time(NULL) : (unsigned)strtoul(given, NULL, 10);
}

#endif
