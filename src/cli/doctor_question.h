/* doctor_question.h -- bodies of the requests of `antiphon doctor`. Pure. */
#ifndef ANTIPHON_CLI_DOCTOR_QUESTION_H
#define ANTIPHON_CLI_DOCTOR_QUESTION_H

#include "base/buf.h"

enum doctor_question {
#define QUESTION(symbol, max_tokens, is_stream, members) DOCTOR_ASKS_##symbol,
#include "cli/doctor_question.def"
    DOCTOR_QUESTIONS
};

struct doctor_asking {
    str model;               /* plain */
    const char *token_field; /* by which answers are kept short */
    bool has_seed;           /* the server knows the field */
};

/* Appends a request to /chat/completions. */
void doctor_question_write(enum doctor_question q, const struct doctor_asking *how,
                           struct buf *out);

#endif
