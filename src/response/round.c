/* round.c -- the reader of chunks joined to the response state machine. */
#include "response/round.h"

#include "response/response_hosted.h"

static void on_delta(void *arg, const struct delta *d)
{
    struct round *round = arg;

    round->n_deltas++;
    if (round->refused || round->response->has_enough)
        return;
    round->refused = !response_delta(round->response, d, round->out);
    /* What follows is not read, also what has come with the same read of the network. */
    if (round->refused || round->response->has_enough)
        chat_stream_stop(&round->stream);
}

void round_init(struct round *round, const struct chat_stream_conf *conf, struct response *response)
{
    *round = (struct round){.response = response};
    chat_stream_init(&round->stream, conf, on_delta, round);
}

void round_fini(struct round *round)
{
    chat_stream_fini(&round->stream);
}

bool round_is_over(const struct round *round)
{
    return round->refused || chat_stream_is_over(&round->stream);
}

bool round_is_cut_off(const struct round *round)
{
    return round->refused || round->response->has_enough ||
           model_text_is_cut_off(&round->stream.reader.text);
}

void round_feed(struct round *round, str bytes, struct buf *out)
{
    const size_t n_before = round->n_deltas;

    if (round_is_over(round))
        return;
    round->out = out;
    chat_stream_feed(&round->stream, bytes);
    if (round->n_deltas != n_before) {
        round->quiet_bytes = 0;
        return;
    }
    round->quiet_bytes += bytes.len;
    chat_stream_limit_quiet(&round->stream, round->quiet_bytes);
}

size_t round_unread_bytes(const struct round *round)
{
    const struct chat_body *b = &round->stream.body;

    return b->sse.line.len + b->sse.data.len + b->whole.len;
}

struct chat_result round_end(struct round *round, const struct err *failure, struct buf *out)
{
    struct chat_result result;

    round->out = out;
    result = chat_stream_end(&round->stream, failure);
    response_add_usage(round->response, &round->stream.reader.usage,
                       buf_str(&round->stream.reader.service_tier));
    if (round->refused) {
        result.failed = true;
        response_failure(round->response, &result.error);
    }
    return result;
}

bool round_end_response(struct round *round, const struct chat_result *result, int64_t now_s,
                        struct buf *out)
{
    struct response *r = round->response;

    if (result->failed) {
        response_fail(r, &result->error, out);
        return true;
    }
    response_end_round(r, result->finish, out);
    if (response_next_call(r, NULL) != NULL || response_goes_on(r) || response_lacks_answer(r))
        return false;
    response_finish(r, result->finish, now_s, out);
    return true;
}
