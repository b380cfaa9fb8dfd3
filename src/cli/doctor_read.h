/* doctor_read.h -- what a server said, put together: a whole completion, a stream of chunks, or a
 * refusal.
 *
 * Unlike the gateway's own decoder it hides nothing: how the server said it is what is wanted. Pure. */
#ifndef ANTIPHON_CLI_DOCTOR_READ_H
#define ANTIPHON_CLI_DOCTOR_READ_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"

enum { DOCTOR_MAX_CALLS = 4 };

/* Fields that reasoning came in, as bits. */
enum doctor_reasoning { DOCTOR_REASONING_CONTENT = 1, DOCTOR_REASONING = 2 };

struct doctor_call {
    int64_t index;
    struct buf id, name, arguments; /* plain */
};

struct doctor_answer {
    int status;              /* of HTTP; 0: there was no answer */
    bool is_completion;      /* there was a choice */
    bool is_stream, is_done; /* events, and [DONE] at their end */
    unsigned n_chunks;
    struct buf text, reasoning; /* plain */
    unsigned reasoning_fields;  /* of enum doctor_reasoning */
    struct doctor_call calls[DOCTOR_MAX_CALLS];
    size_t n_calls; /* all of them; the first ones are kept */
    char finish[32];
    bool has_usage;
    int64_t prompt_tokens, output_tokens, cached_tokens; /* -1: not told */
    struct buf error;                                    /* the message of a refusal, plain */
    uint64_t total_ms;
};

/* Any body. Texts beyond 256 KiB fail their bufs. Finish *ret with doctor_answer_fini(). */
void doctor_read(int status, str body, struct doctor_answer *ret);
void doctor_answer_fini(struct doctor_answer *a);

/* A completion was sent with status 200. */
static inline bool doctor_is_good(const struct doctor_answer *a)
{
    return a->status == 200 && a->is_completion;
}

/* The request was not taken: 4xx, or what servers answer when the template fails (500). */
static inline bool doctor_is_refused(const struct doctor_answer *a)
{
    return (a->status >= 400 && a->status < 600) || (a->status == 200 && a->error.len > 0);
}

#endif
