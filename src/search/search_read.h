/* search_read.h -- what search.h says of reading results, for services. Pure. */
#ifndef ANTIPHON_SEARCH_SEARCH_READ_H
#define ANTIPHON_SEARCH_SEARCH_READ_H

#include "search/search.h"

enum { SEARCH_MAX_RESULTS = 50 };

/* How many results a query asks for: at most SEARCH_MAX_RESULTS. */
unsigned search_max_results(const struct search_query *query);

/* Reads the JSON answer of a service. Returns 0, or -1 with *reterr filled: ERR_UPSTREAM_ERROR with
 * what is wrong as the end of a sentence, in words of ours; or out of memory. */
int search_list_read(str answer, const struct search_query *query, struct arena *a,
                     struct search_results *ret, struct err *reterr);

#endif
