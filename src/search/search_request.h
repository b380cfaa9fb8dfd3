/* search_request.h -- a query as the HTTP request of a service. Pure. */
#ifndef ANTIPHON_SEARCH_SEARCH_REQUEST_H
#define ANTIPHON_SEARCH_SEARCH_REQUEST_H

#include "base/buf.h"
#include "search/search_service.h"

/* A request, zeroed before it is written. */
struct search_request {
    const char *method;
    struct buf url, body;
    struct http_header headers[SEARCH_MAX_FIELDS + 3]; /* views, some into what is below */
    size_t n_headers;

    struct buf words, key;
    char country[3], count[12];
};

/* Returns 0, or -1 with *reterr filled: an empty query, no address, or out of memory. The request
 * holds views into conf and the query; it must not be moved. */
int search_request_write(const struct search_http_conf *conf, const struct search_query *query,
                         struct search_request *ret, struct err *reterr);
void search_request_fini(struct search_request *r); /* a zeroed one is fine */

/* Appends the words to search for, at most so many characters. with_sites: domains go along, as
 * operators. */
void search_words_write(const struct search_query *query, size_t limit_chars, bool with_sites,
                        struct buf *out);

#endif
