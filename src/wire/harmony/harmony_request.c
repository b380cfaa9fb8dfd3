/* harmony_request.c -- what a prompt cannot say is refused, the rest goes into one JSON body. */
#include "wire/harmony/harmony_request.h"

#include "conv/reject.h"
#include "json/json_copy.h"
#include "json/json_text.h"
#include "wire/chat/chat_extra.h"
#include "wire/chat/upstream_fields.h"

/* ---- what a prompt cannot say */

static int refuse_request(const char *param, const char *why, struct err *reterr)
{
    err_set_param(reterr, ERR_UNSUPPORTED_PARAMETER, param,
                  "Unsupported parameter: '%s': this model is asked with a text prompt in the "
                  "Harmony format, which %s.",
                  param, why);
    return -1;
}

static int check_choice(const struct responses_request *r, enum chat_round round,
                        struct err *reterr)
{
    const struct tool_choice choice = upstream_tool_choice(&r->tool_choice, round);

    if (choice.mode == TOOL_CHOICE_REQUIRED || choice.mode == TOOL_CHOICE_SERVER)
        return refuse_request("tool_choice", "can require a call only of one named tool", reterr);
    return 0;
}

int harmony_request_check(const struct responses_request *r, const struct conversation *c,
                          enum chat_round round, struct err *reterr)
{
    if (r->top_logprobs > 0)
        return refuse_request("top_logprobs", "tells no log probabilities", reterr);
    if (r->include_logprobs)
        return refuse_request("include", "tells no log probabilities", reterr);
    for (const struct message *m = c->first; m != NULL; m = m->next) {
        if (message_has_media(m))
            return refuse_request("input", "cannot hold images, files or audio", reterr);
    }
    return check_choice(r, round, reterr);
}

/* ---- the body */

/* With these the markers of the format reach us, each server knowing some of them, and nothing is
 * put in front of the prompt. The tokens are <|return|> and <|call|>. */
static const struct {
    const char *name;
    str value;
} settings[] = {
    {"skip_special_tokens", STR_INIT("false")},
    {"spaces_between_special_tokens", STR_INIT("false")},
    {"add_special_tokens", STR_INIT("false")},
    {"stop_token_ids", STR_INIT("[200002,200012]")},
    {"preserved_tokens", STR_INIT("[\"<|start|>\",\"<|end|>\",\"<|message|>\",\"<|channel|>\","
                                  "\"<|constrain|>\"]")},
};

/* Without the field several servers would stop after sixteen tokens; null is no limit, where it is
 * understood. */
static void write_token_limit(const struct responses_request *r,
                              const struct chat_request_options *o,
                              const struct harmony_options *options, struct jw *w)
{
    const int64_t left = upstream_tokens_left(r, o);

    if (left > 0)
        jw_key_int(w, "max_tokens", left);
    else if (!str_is_none(chat_extra_get(r, o, STR("max_tokens"))))
        return;
    else if (options->max_tokens > 0)
        jw_key_int(w, "max_tokens", options->max_tokens);
    else
        jw_key_raw(w, "max_tokens", STR("null"));
}

static void write_body(const struct responses_request *r, const struct chat_request_options *o,
                       const struct harmony_options *options, str prompt, struct buf *out)
{
    struct jw writer = jw_to(out), *w = &writer;

    jw_object(w);
    upstream_write_model(r, o, w);
    jw_key_string(w, "prompt", prompt);
    upstream_write_stream(o, w);
    write_token_limit(r, o, options, w);
    upstream_write_sampling(r, w);
    json_copy_given_text(w, "user", r->user);
    for (size_t i = 0; i < COUNT_OF(settings); i++)
        jw_key_raw(w, settings[i].name, settings[i].value);
    chat_extra_write_for_prompt(r, o, w);
    jw_object_end(w);
}

int harmony_request_write(const struct responses_request *r, const struct conversation *c,
                          const struct chat_request_options *o,
                          const struct harmony_options *options, struct buf *out,
                          struct err *reterr)
{
    struct buf prompt;
    bool ok;

    if (harmony_request_check(r, c, o->round, reterr) == -1)
        return -1;
    buf_init(&prompt, out->limit);
    harmony_prompt_write(r, c, o->round, options, &prompt);
    ok = !buf_failed(&prompt);
    if (ok)
        write_body(r, o, options, buf_str(&prompt), out);
    buf_fini(&prompt);
    return ok && !buf_failed(out) ? 0 : err_set_no_memory(reterr);
}
