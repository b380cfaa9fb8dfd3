/* chat_stream.c -- framing of upstream answers.
 *
 * A data line that is complete JSON is read at once: servers that forget the
 * blank line work, and the others are one line faster. */
#include "wire/chat_stream.h"

#include "wire/chat_quiet.h"
#include "wire/upstream_error.h"
#include "json/json_read.h"

enum { MAX_BROKEN_IN_A_ROW = 3 };

void chat_stream_init(struct chat_stream *s, const struct chat_stream_conf *conf,
                      chat_on_delta *on_delta, void *arg)
{
    *s = (struct chat_stream){.form = CHAT_BODY_UNKNOWN};
    chat_space_init(&s->space, conf->space, &s->reader, on_delta, arg);
    if (conf->space != CHAT_SPACE_KEPT)
        chat_reader_init(&s->reader, &conf->text, conf->wants_logprobs, chat_space_delta,
                         &s->space);
    else
        chat_reader_init(&s->reader, &conf->text, conf->wants_logprobs, on_delta, arg);
    sse_parser_init(&s->sse, conf->max_event_bytes);
    buf_init(&s->whole, conf->max_event_bytes);
}

void chat_stream_fini(struct chat_stream *s)
{
    chat_reader_fini(&s->reader);
    chat_space_fini(&s->space);
    sse_parser_fini(&s->sse);
    buf_fini(&s->whole);
}

bool chat_stream_is_over(const struct chat_stream *s)
{
    return s->done || s->reader.failed || model_text_is_cut_off(&s->reader.text);
}

void chat_stream_stop(struct chat_stream *s)
{
    s->done = true;
    sse_parser_stop(&s->sse);
}

/* ---- events */

/* Is value one complete payload? Then it has been dealt with. */
static bool read_payload(struct chat_stream *s, str value, str event)
{
    if (str_eq(str_trim(value), STR("[DONE]"))) {
        chat_stream_stop(s);
        return true;
    }
    if (!chat_reader_chunk(&s->reader, value, event))
        return false;
    s->broken = 0;
    if (s->reader.failed)
        sse_parser_stop(&s->sse);
    return true;
}

static bool on_data_line(void *arg, str data, str event)
{
    return read_payload(arg, data, event);
}

static void on_event(void *arg, str data, str event)
{
    struct chat_stream *s = arg;
    struct err e;

    if (str_trim(data).len == 0 || read_payload(s, data, event))
        return;
    s->skipped++;
    if (++s->broken < MAX_BROKEN_IN_A_ROW)
        return;
    err_set(&e, ERR_UPSTREAM_ERROR,
            UPSTREAM_SERVER_ERROR "The upstream server sent %d broken chunks in a row.",
            MAX_BROKEN_IN_A_ROW);
    chat_reader_fail(&s->reader, &e);
    sse_parser_stop(&s->sse);
}

/* error: {...} as an SSE field, from llama.cpp before September 2025 */
static void on_other_field(void *arg, str name, str value)
{
    struct chat_stream *s = arg;
    struct err e;

    if (!str_eq(name, STR("error")))
        return;
    if (jr_is_valid(value))
        upstream_error_from_value(value, &e);
    else
        upstream_error_from_text(value, &e);
    chat_reader_fail(&s->reader, &e);
    sse_parser_stop(&s->sse);
}

static const struct sse_handler handler = {
    .on_data_line = on_data_line, .on_event = on_event, .on_other_field = on_other_field};

/* ---- bodies */

static void feed_events(struct chat_stream *s, str bytes)
{
    struct err e;

    if (sse_parser_feed(&s->sse, bytes, &handler, s, &e) == -1)
        chat_reader_fail(&s->reader, &e);
}

static void feed_whole(struct chat_stream *s, str bytes)
{
    struct err e;

    buf_append(&s->whole, bytes);
    if (!buf_failed(&s->whole))
        return;
    err_set(&e, ERR_UPSTREAM_ERROR, "The upstream server sent more than %zu bytes.",
            s->whole.limit);
    chat_reader_fail(&s->reader, &e);
}

void chat_stream_feed(struct chat_stream *s, str bytes)
{
    if (s->form == CHAT_BODY_UNKNOWN) {
        /* White space before the body says nothing; the first other byte tells
         * an event stream from a JSON body. */
        bytes = str_trim_start(bytes);
        if (bytes.len > 0)
            s->form = bytes.p[0] == '{' ? CHAT_BODY_WHOLE : CHAT_BODY_EVENTS;
    }
    if (s->form == CHAT_BODY_EVENTS)
        feed_events(s, bytes);
    else if (s->form == CHAT_BODY_WHOLE)
        feed_whole(s, bytes);
}

void chat_stream_limit_quiet(struct chat_stream *s, size_t quiet_bytes)
{
    struct err e;

    if (chat_stream_is_over(s) || chat_quiet_check(quiet_bytes, s->sse.line.limit, &e) == 0)
        return;
    chat_reader_fail(&s->reader, &e);
    sse_parser_stop(&s->sse);
}

static void end_whole(struct chat_stream *s)
{
    if (!s->reader.failed && chat_reader_chunk(&s->reader, buf_str(&s->whole), STR("")))
        s->done = true;
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

    if (s->form == CHAT_BODY_WHOLE)
        end_whole(s);
    else if (sse_parser_end(&s->sse, &handler, s, &e) == -1)
        chat_reader_fail(&s->reader, &e);
    chat_reader_end(&s->reader);
    if (s->form == CHAT_BODY_WHOLE)
        s->reader.usage.tells_reasoning = true; /* its one delta is no token to be counted */
    chat_space_end(&s->space);
    if (model_text_is_cut_off(&s->reader.text))
        s->done = true;
    if (!s->done && failure != NULL)
        chat_reader_fail(&s->reader, failure);
    if (!s->done && s->reader.finish == FINISH_NONE) {
        err_set(&e, ERR_UPSTREAM_ERROR,
                UPSTREAM_CONNECTION_ERROR
                "The upstream server ended its answer without a finish reason.");
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
