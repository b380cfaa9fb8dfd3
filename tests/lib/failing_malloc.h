/* failing_malloc.h -- memory that runs out when a test says so.
 *
 * Test programs are linked with --wrap: what a file of ours calls malloc, calloc, realloc, strdup
 * or strndup is failing_malloc.c, whichever library the file is in; what the C library and other
 * people's libraries allocate is not touched. A thread counts for itself. */
#ifndef ANTIPHON_TESTS_LIB_FAILING_MALLOC_H
#define ANTIPHON_TESTS_LIB_FAILING_MALLOC_H

#include <stdbool.h>
#include <stddef.h>

enum failing_malloc { FAILS_ONCE, FAILS_FOR_GOOD };

/* After n more allocations the next one fails, and for good all after it as well; n below 0: none. */
void failing_malloc_begin(long n, enum failing_malloc how);

/* From here on none fails. Returns whether one has since the beginning. */
bool failing_malloc_end(void);

/* All bytes that were asked for so far, freed or not. */
size_t failing_malloc_bytes(void);

/* What a test's own stage is made of, which does not fail; zeroed. */
void *sure_malloc(size_t n);

#endif
