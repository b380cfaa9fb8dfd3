/* chat_stream.c -- chunks of a body go to the reader, and how the answer ends. */
#include "wire/chunk/chat_stream.h"

#include "wire/chunk/chat_quiet.h"

static bool on_chunk(void *arg, str json, str event)
{
    struct chat_stream *s = arg;
    bool ok = chat_reader_chunk(&s->reader, json, event);

    if (s->reader.failed)
        chat_body_stop(&s->body);
    return ok;
}

static void on_error(void *arg, const struct err *e)
{
    struct chat_stream *s = arg;

    chat_reader_fail(&s->reader, e);
    chat_body_stop(&s->body);
}

static const struct chat_body_handler handler = {on_chunk, on_error, on_error};

void chat_stream_init(struct chat_stream *s, const struct chat_stream_conf *conf,
                      chat_on_delta *on_delta, void *arg)
{
    chat_space_init(&s->space, conf->space, &s->reader, on_delta, arg);
    if (conf->space != CHAT_SPACE_KEPT)
        chat_reader_init(&s->reader, &conf->text, conf->wants_logprobs, chat_space_delta,
                         &s->space);
    else
        chat_reader_init(&s->reader, &conf->text, conf->wants_logprobs, on_delta, arg);
    chat_body_init(&s->body, CHAT_BODY_UNKNOWN, conf->max_event_bytes, &handler, s);
}

void chat_stream_fini(struct chat_stream *s)
{
    chat_reader_fini(&s->reader);
    chat_space_fini(&s->space);
    chat_body_fini(&s->body);
}

bool chat_stream_is_over(const struct chat_stream *s)
{
    return s->body.is_done || s->reader.failed || model_text_is_cut_off(&s->reader.text);
}

void chat_stream_stop(struct chat_stream *s)
{
    s->body.is_done = true;
    chat_body_stop(&s->body);
}

void chat_stream_feed(struct chat_stream *s, str bytes)
{
    chat_body_feed(&s->body, bytes);
}

void chat_stream_limit_quiet(struct chat_stream *s, size_t quiet_bytes)
{
    struct err e;

    if (!chat_stream_is_over(s) && chat_quiet_check(quiet_bytes, s->body.sse.line.limit, &e) == -1)
        on_error(s, &e);
}

/* ---- the end */

static enum finish final_finish(const struct chat_stream *s)
{
    bool has_calls = false;

    for (size_t i = 0; i < s->reader.calls.n; i++)
        has_calls = has_calls || s->reader.calls.calls[i].name.len > 0;
    if (s->reader.finish == FINISH_NONE || s->reader.finish == FINISH_STOP ||
        s->reader.finish == FINISH_TOOL_CALLS)
        return has_calls ? FINISH_TOOL_CALLS : FINISH_STOP;
    return s->reader.finish;
}

struct chat_result chat_stream_end(struct chat_stream *s, const struct err *failure)
{
    struct chat_result result = {.failed = false};
    struct err e;

    chat_body_end(&s->body);
    chat_reader_end(&s->reader);
    if (s->body.form == CHAT_BODY_WHOLE)
        s->reader.usage.tells_reasoning = true; /* its one delta is no token to be counted */
    chat_space_end(&s->space);
    if (model_text_is_cut_off(&s->reader.text))
        s->body.is_done = true;
    if (!s->body.is_done && failure != NULL)
        chat_reader_fail(&s->reader, failure);
    if (!s->body.is_done && s->reader.finish == FINISH_NONE) {
        chat_body_err_unfinished(&s->body, &e);
        chat_reader_fail(&s->reader, &e);
    }
    result.failed = s->reader.failed;
    if (s->reader.failed && s->reader.error != NULL)
        result.error = *s->reader.error;
    else if (s->reader.failed)
        err_set_no_memory(&result.error);
    else
        result.finish = final_finish(s);
    return result;
}
