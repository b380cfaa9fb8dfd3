/* round_run.h -- the upstream's answers through the pure core, from the first event of a
 * response to the last, and what came of them. */
#ifndef ANTIPHON_TESTS_LIB_ROUND_RUN_H
#define ANTIPHON_TESTS_LIB_ROUND_RUN_H

#include <jansson.h>

#include "lib/fixture.h"
#include "lib/hosted_script.h"
#include "lib/replay_check.h"
#include "lib/restore_check.h"
#include "response/round.h"

/* What a request that asked for nothing special is repeated as. */
extern const char round_plain_echo[];

enum { TEST_CREATED_AT = 1767225600, TEST_NOW = TEST_CREATED_AT + 2 };

/* A zeroed one: text reasoning, no tools, an answer that ends as it should. */
struct round_conf {
    enum reasoning_mode reasoning;
    enum response_dialect dialect;
    struct model_text_conf text;
    enum chat_space_mode space;
    bool logprobs;
    bool no_error_event;
    bool shows_code_outputs;
    bool interleaved_calls;
    bool forgetful; /* the chunk before is forgotten at every piece: each is read in full */
    const struct tool_set *tools;
    const struct tool_choice *choice; /* of the first round; NULL: auto */
    bool single_call;                 /* parallel_tool_calls is false */
    bool defers_format; /* text is no answer while the model may call; then comes a round for it */
    const struct hosted_script *script;       /* NULL: there is one round */
    int64_t max_tool_calls;                   /* 0: no limit */
    str container_id;                         /* empty: "auto" */
    const struct err *failure;                /* how the body ended, NULL: as it should */
    const struct err *refusal;                /* the upstream refused: there is no body */
    str echo;                                 /* empty: a fixed one */
    size_t max_output_bytes, max_event_bytes; /* 0: no limit */
    uint64_t max_events;                      /* behind so many deltas are merged; 0: no limit */
    bool is_background;
    struct replay_check *replay;   /* what is checked at every step; NULL: no cuts are kept */
    struct restore_check *restore; /* the same */
};

struct round_result {
    struct buf events;       /* empty when not streamed */
    struct buf object;       /* the response object at the end */
    struct chat_result chat; /* of the last round */
    bool spoiled;            /* a buf ran out of memory: its bytes were not sent */
};

/* body is the upstream's first answer; more are in the script. When the model is to be asked
 * again and there are no more, it ends as if no tokens were left. Ids are the same in every
 * call. */
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
