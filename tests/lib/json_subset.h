/* json_subset.h -- does JSON hold at least what was expected? */
#ifndef ANTIPHON_TESTS_LIB_JSON_SUBSET_H
#define ANTIPHON_TESTS_LIB_JSON_SUBSET_H

#include <jansson.h>
#include <stdbool.h>

/* Objects have the expected members and maybe others; lists have as many
 * elements as expected, each holding what is expected of it; all else is equal. */
bool json_holds(json_t *got, json_t *expected);

#endif
