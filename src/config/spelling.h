/* spelling.h -- the word that was probably meant.
 *
 *     struct spelling s = spelling_of(word, max_distance);
 *
 *     spelling_try(&s, "serve");
 *     spelling_try(&s, "help");
 *     if (s.best != NULL) ...           did you mean s.best? */
#ifndef ANTIPHON_CONFIG_SPELLING_H
#define ANTIPHON_CONFIG_SPELLING_H

#include "base/str.h"

struct spelling {
    str word;
    size_t distance; /* only what is nearer than this counts */
    const char *best;
};

/* max_distance is the number of letters that may be inserted, dropped or
 * replaced. word is borrowed; one that is longer than any we know has no best. */
struct spelling spelling_of(str word, size_t max_distance);

/* known is kept when it is the nearest so far. Dashes count as underscores.
 * Returns whether it was kept. */
bool spelling_try(struct spelling *s, const char *known);

#endif
