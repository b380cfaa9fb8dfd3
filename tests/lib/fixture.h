/* fixture.h -- what most tests need: recorded data, exact pieces of memory,
 * and chance that is the same in every run. */
#ifndef ANTIPHON_TESTS_LIB_FIXTURE_H
#define ANTIPHON_TESTS_LIB_FIXTURE_H

#include <stdint.h>

#include "base/buf.h"
#include "base/id.h"
#include "base/str.h"

/* "name" of the fixtures as a path: below tests/data, or below what the
 * environment variable ANTIPHON_TEST_DATA names. The view is valid until the
 * next call. */
const char *fixture_path(const char *name);

/* The bytes of a fixture; ends the process when it cannot be read. buf_fini() it. */
struct buf fixture_read(const char *name);

/* Names of the files in a folder of the fixtures that end in suffix, sorted and
 * prefixed with the folder; the list ends with NULL. fixture_list_free() it. */
char **fixture_list(const char *folder, const char *suffix);
void fixture_list_free(char **names);

/* A copy in a block of exactly its size, so that a sanitizer sees a read past
 * the end; never NULL. free() it. */
char *exact_copy(str s);

/* Hands bytes on in pieces, each an exact_copy(): the first piece is at most
 * `first` bytes, the others at most `piece`; 0 means all that is left. */
struct cutting {
    size_t first, piece;
};

#define UNCUT        ((struct cutting){0, 0})
#define CUT_AT(n)    ((struct cutting){(n), 0})
#define BYTE_BY_BYTE ((struct cutting){1, 1})

void feed_pieces(str bytes, struct cutting cutting, void (*feed)(void *arg, str piece), void *arg);

/* xorshift; a zeroed one is fine. */
struct chance {
    uint64_t state;
};

uint32_t chance_below(struct chance *c, uint32_t n); /* 0 .. n - 1 */

/* Ids that are the same in every run: reset to start again from the first. */
struct test_ids {
    struct id_source source;
    struct chance chance;
};

void test_ids_reset(struct test_ids *ids);

#endif
