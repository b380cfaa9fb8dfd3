/* compact_question.h -- what the model is asked for a summary, and how long it may be
 * (CONTRACT 13.5).
 *
 * The text has slots, each of which may stand anywhere in it, or nowhere: {kept}, {words},
 * {earlier} and {extra}. What is put in is not looked at again, and other braces are text. */
#ifndef ANTIPHON_COMPACT_COMPACT_QUESTION_H
#define ANTIPHON_COMPACT_COMPACT_QUESTION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

/* Longest text of an operator. */
enum { COMPACT_MAX_PROMPT_BYTES = 64 << 10 };

struct compact_question {
    str prompt;         /* the operator's text with slots, plain; STR_NONE: ours */
    str note;           /* the operator's line, plain; STR_NONE or empty: there is none */
    int64_t max_tokens; /* of the summary; {words} is the half */
    size_t n_kept;      /* so many messages stay */
    bool keeps_all;     /* all of the user's do, however many: n_kept says nothing */
    bool keeps_tail;    /* what stays are the last messages, whoever's they are */
    bool has_earlier;   /* an own summary is part of the context */
};

/* Appends the text, plain, without white space at its end. */
void compact_question_write(const struct compact_question *q, struct buf *out);

/* Is it a text to ask with? It must be UTF-8, not empty and not too long. Returns 0, or -1 with
 * *reterr filled, whose words go on after the name of the file. */
int compact_prompt_check(str prompt, struct err *reterr);

/* The tokens that a summary may have. configured: compaction_tokens, or 0; window: 0 when it is not
 * known; max_output_tokens: 0 when there is no limit. */
int64_t compact_summary_tokens(int64_t configured, int64_t window, int64_t max_output_tokens);

/* The tokens that the user's messages may keep. configured: compaction_keep, or 0. */
int64_t compact_keep_tokens(int64_t configured, int64_t window);

#endif
