/* token_count.h -- ask the upstream how many tokens a request is (CONTRACT 14).
 *
 *     the first way that may count it -> asked -> read -> reported
 *               ^                          |       |
 *               +-- the next one ----------+-------+   it does not know this way, or fails
 *
 * Runs on the loop of the client; large answers are read on the pool. What is learnt of the upstream's
 * ways, and the count, go into the memory of all workers. */
#ifndef ANTIPHON_UPSTREAM_TOKEN_COUNT_H
#define ANTIPHON_UPSTREAM_TOKEN_COUNT_H

#include "http/http_client.h"
#include "upstream/token_memory.h"

struct token_count;

/* All that is pointed to lives as long as the count. */
struct token_count_conf {
    struct token_memory *memory;
    const struct token_request *request;
    const struct token_key *key; /* by which the count is kept; NULL: it is not */
    str base;                    /* of the upstream, without a slash at its end */
    enum upstream_kind kind;
    const struct http_header *headers;
    size_t n_headers;
    struct http_call_conf call; /* the times of an ordinary call, which the model is asked with */
    uint64_t timeout_ms;        /* for a server to count without the model; 0: none */
    size_t max_answer_bytes;
    bool passes_key;              /* the client's own key is among the headers */
    bool asks_server, asks_model; /* which ways may be gone */
};

struct token_count_result {
    int64_t tokens; /* above 0 */
    int64_t window; /* the most that a request may have, as the server told; 0: it did not */
};

/* What came of it: result is NULL when there is none, and failure says why: what the upstream said, or
 * ERR_NOT_IMPLEMENTED when it knows no way. Once, on the loop, never from inside token_count_start();
 * the count is gone. */
typedef void token_count_done(void *arg, const struct token_count_result *result,
                              const struct err *failure);

/* NULL with *reterr filled, which is ERR_NOT_IMPLEMENTED as well when it is known that there is no way. */
struct token_count *token_count_start(struct http_client *client,
                                      const struct token_count_conf *conf, token_count_done *done,
                                      void *arg, struct err *reterr);

/* No report. NULL is fine. */
void token_count_cancel(struct token_count *c);

#endif
