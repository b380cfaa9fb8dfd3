/* round_run.h -- one upstream answer through the pure core, from the first
 * event to the last, and what came of it. */
#ifndef ANTIPHON_TESTS_LIB_ROUND_RUN_H
#define ANTIPHON_TESTS_LIB_ROUND_RUN_H

#include <jansson.h>

#include "lib/fixture.h"
#include "response/round.h"

enum { TEST_CREATED_AT = 1767225600, TEST_NOW = TEST_CREATED_AT + 2 };

/* A zeroed one: text reasoning, no tools, an answer that ends as it should. */
struct round_conf {
    enum reasoning_mode reasoning;
    bool think_tags, logprobs, hold_leading_space;
    bool no_error_event;
    bool forgetful; /* the chunk before is forgotten at every piece: each is read in full */
    const struct tool_set *tools;
    const struct err *failure;                /* how the body ended, NULL: as it should */
    const struct err *refusal;                /* the upstream refused: there is no body */
    str echo;                                 /* empty: a fixed one */
    size_t max_output_bytes, max_event_bytes; /* 0: no limit */
};

struct round_result {
    struct buf events; /* empty when not streamed */
    struct buf object; /* the response object at the end */
    struct chat_result chat;
    bool spoiled; /* a buf ran out of memory: its bytes were not sent */
};

/* Ids are the same in every call. */
void round_run(const struct round_conf *conf, str body, struct cutting cutting, bool streamed,
               struct round_result *ret);
void round_result_fini(struct round_result *r);

/* The response object as a tree: a new reference. */
json_t *round_response(const struct round_result *r);

/* ---- reading a response object */

/* Texts of all parts of this type, joined: a new string. */
char *response_text(json_t *response, const char *part_type);

/* Items that are calls, in order: a new array of borrowed items. */
json_t *response_calls(json_t *response);

#endif
