/* search.h -- one web search, whoever answers it (CONTRACT 1.2).
 *
 * A searcher is what turns a query into results: an HTTP service (search_http_new()), or whatever
 * else has these two functions, such as a tool of an MCP server. Everything runs on one loop's
 * thread. */
#ifndef ANTIPHON_SEARCH_SEARCH_H
#define ANTIPHON_SEARCH_SEARCH_H

#include "base/arena.h"
#include "base/err.h"
#include "http/http_client.h"

enum search_size { SEARCH_MEDIUM, SEARCH_LOW, SEARCH_HIGH }; /* search_context_size */

/* All plain text; STR_NONE: not given. */
struct search_query {
    str query;
    unsigned max_results; /* 0: as the size says */
    enum search_size size;
    const str *allowed_domains,
        *blocked_domains; /* "example.org" stands for all below it as well */
    size_t n_allowed, n_blocked;
    str country, region, city, timezone; /* user_location; the country as two letters */
};

/* Plain UTF-8 without control characters; url is http or https. */
struct search_result {
    str title, url, snippet;
    str date; /* as the service wrote it; "" when it gave none */
};

struct search_results {
    struct search_result *v; /* in the arena, best first; none of a domain that is not allowed */
    size_t n;
    str text; /* a searcher's answer that is no list, for the model as it is; STR_NONE: there is
                 a list */
};

struct search_handler {
    /* Called once, never from inside start, with either failure, for the model and the log without
     * secrets, or the results, which die with the report. The call is gone when it returns. */
    void (*on_results)(void *arg, const char *failure, const struct search_results *results);
};

struct searcher {
    void *self;
    /* Starts a call, or returns NULL with *reterr filled. The query is copied or used before it
     * returns. */
    void *(*start)(void *self, const struct search_query *query,
                   const struct search_handler *handler, void *arg, struct err *reterr);
    void (*cancel)(void *self, void *call); /* no report follows */
};

/* True when the host of url belongs to an allowed domain, and to none that is blocked. */
bool search_allows(const struct search_query *query, str url);

/* ---- HTTP services */

enum search_service { SEARCH_SEARXNG, SEARCH_BRAVE, SEARCH_TAVILY, SEARCH_EXA };

/* Texts must outlive the searcher, as must the client. */
struct search_http_conf {
    enum search_service service;
    const char *url; /* NULL: the service's own; needed for SEARXNG */
    const char *key; /* or NULL */
    uint64_t timeout_ms;
    size_t max_answer_bytes;
};

struct search_http;

/* Makes the searcher of a service, or returns NULL when out of memory. */
struct search_http *search_http_new(struct http_client *client,
                                    const struct search_http_conf *conf);
void search_http_free(struct search_http *s); /* no call may be under way; NULL is fine */
struct searcher search_http_searcher(struct search_http *s);

/* Fills *ret with what a searcher gave back, read as a list if it is one in any of the usual forms:
 * an array, or an object with results, of objects with url (link, href), title (name) and snippet
 * (content, description, text); or such objects one after the other. Else ret->text is the answer,
 * well-formed UTF-8 as it was. Returns 0, or -1 when out of memory. */
int search_results_read(str answer, const struct search_query *query, struct arena *a,
                        struct search_results *ret);

#endif
