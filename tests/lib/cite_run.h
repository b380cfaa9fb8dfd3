/* cite_run.h -- markers of a text that comes in pieces, as a reader finds them who holds back what
 * may become one. */
#ifndef ANTIPHON_TESTS_LIB_CITE_RUN_H
#define ANTIPHON_TESTS_LIB_CITE_RUN_H

#include "lib/fixture.h"

struct cite_run {
    struct buf text; /* with "{cursor first last}" in place of each marker */
    size_t n_markers;
    size_t most_held; /* bytes held back between two pieces */
};

void cite_run(str escaped, struct cutting cutting, struct cite_run *ret);
void cite_run_fini(struct cite_run *r);

#endif
