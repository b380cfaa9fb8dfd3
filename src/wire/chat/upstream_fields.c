/* upstream_fields.c -- a few members, and the rule that belongs to each. */
#include "wire/chat/upstream_fields.h"

#include <assert.h>

#include "json/json_copy.h"

void upstream_write_model(const struct responses_request *r, const struct chat_request_options *o,
                          struct jw *w)
{
    if (o->model.len > 0)
        jw_key_string(w, "model", o->model);
    else
        json_copy_key_text(w, "model", r->model);
}

/* Always streamed, whatever the client asked for: there is one way to read an answer. */
void upstream_write_stream(const struct chat_request_options *o, struct jw *w)
{
    jw_key_bool(w, "stream", true);
    if (o->omit_usage)
        return;
    jw_key(w, "stream_options");
    jw_object(w);
    jw_key_bool(w, "include_usage", true);
    jw_object_end(w);
}

void upstream_write_sampling(const struct responses_request *r, struct jw *w)
{
    json_copy_given_value(w, "temperature", r->temperature);
    json_copy_given_value(w, "top_p", r->top_p);
    json_copy_given_value(w, "presence_penalty", r->presence_penalty);
    json_copy_given_value(w, "frequency_penalty", r->frequency_penalty);
}

int64_t upstream_tokens_left(const struct responses_request *r,
                             const struct chat_request_options *o)
{
    const int64_t left = r->max_output_tokens - o->spent_tokens;

    if (r->max_output_tokens == 0)
        return 0;
    assert(left > 0);
    return o->most_tokens > 0 && o->most_tokens < left ? o->most_tokens : left;
}

/* A tool that is forced in every round would be called for ever. What the client did not
 * say is not said later either. */
struct tool_choice upstream_tool_choice(const struct tool_choice *c, enum chat_round round)
{
    if (round == CHAT_LAST_ROUND)
        return (struct tool_choice){.mode = TOOL_CHOICE_NONE};
    if (round == CHAT_FIRST_ROUND || c->mode == TOOL_CHOICE_NOT_GIVEN ||
        c->mode == TOOL_CHOICE_NONE)
        return *c;
    return (struct tool_choice){.mode = TOOL_CHOICE_AUTO};
}
