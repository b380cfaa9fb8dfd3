/* doctor_question.c -- the rows of doctor_question.def, with what is the same in all of them. */
#include "cli/doctor_question.h"

#include "json/json_write.h"

static const struct {
    unsigned max_tokens;
    bool is_stream;
    const char *members;
} questions[] = {
#define QUESTION(symbol, max_tokens, is_stream, members) {max_tokens, is_stream, members},
#include "cli/doctor_question.def"
};

/* About 2,000 tokens that no other prompt begins with. */
static void write_long_messages(struct buf *out)
{
    enum { SENTENCES = 160 };

    buf_c(out, "\"messages\":[{\"role\":\"user\",\"content\":\"This is a list. ");
    for (uint64_t i = 1; i <= SENTENCES; i++) {
        buf_c(out, "Line ");
        buf_uint(out, i);
        buf_c(out, " says that nothing has happened yet. ");
    }
    buf_c(out, "How many lines are there?\"}]");
}

void doctor_question_write(enum doctor_question q, const struct doctor_asking *how, struct buf *out)
{
    struct jw w = jw_to(out);

    jw_object(&w);
    jw_key_string(&w, "model", how->model);
    jw_key_int(&w,
               q == DOCTOR_ASKS_MAX_TOKENS              ? "max_tokens"
               : q == DOCTOR_ASKS_MAX_COMPLETION_TOKENS ? "max_completion_tokens"
                                                        : how->token_field,
               questions[q].max_tokens);
    if (how->has_seed)
        jw_key_int(&w, "seed", 1);
    jw_key_int(&w, "temperature", 0);
    jw_key_bool(&w, "stream", questions[q].is_stream);
    buf_char(out, ',');
    if (questions[q].members != NULL)
        buf_c(out, questions[q].members);
    else
        write_long_messages(out);
    jw_object_end(&w);
}
