/* chat_merge.c -- rounds, framing, and how a round ends.
 *
 * Chunks are cut out of the body as chat_stream.c does it, with the same patience for
 * what servers get wrong, but not understood any further than chat_merge_chunk.c has to. */
#include "wire/chat_merge.h"

#include "wire/chat_loop_usage.h"
#include "wire/chat_merge_chunk.h"
#include "wire/chat_quiet.h"
#include "wire/upstream_error.h"
#include "json/json_copy.h"
#include "json/json_err.h"
#include "json/json_read.h"

enum { MAX_BROKEN_IN_A_ROW = 3 };

/* What the SSE parser hands through. */
struct feed {
    struct chat_merge *m;
    struct buf *out;
};

void chat_merge_init(struct chat_merge *m, const struct chat_merge_conf *conf)
{
    *m = (struct chat_merge){.conf = *conf};
    buf_init(&m->whole, conf->max_event_bytes);
    buf_init(&m->tail, conf->max_output_bytes);
    buf_init(&m->shown, conf->max_output_bytes);
    sse_parser_init(&m->sse, conf->max_event_bytes);
    chat_loop_said_init(&m->said, conf->max_output_bytes);
}

void chat_merge_fini(struct chat_merge *m)
{
    buf_fini(&m->id);
    buf_fini(&m->created);
    buf_fini(&m->model);
    buf_fini(&m->usage);
    chat_loop_said_fini(&m->said);
    sse_parser_fini(&m->sse);
    buf_fini(&m->whole);
    buf_fini(&m->round_usage);
    buf_fini(&m->tail);
    buf_fini(&m->shown);
    buf_fini(&m->chunk);
}

void chat_merge_begin(struct chat_merge *m)
{
    chat_loop_said_fini(&m->said);
    chat_loop_said_init(&m->said, m->conf.max_output_bytes);
    sse_parser_fini(&m->sse);
    sse_parser_init(&m->sse, m->conf.max_event_bytes);
    buf_reset(&m->whole);
    buf_reset(&m->round_usage);
    buf_reset(&m->tail);
    buf_reset(&m->shown);
    m->form = m->conf.is_stream ? CHAT_MERGE_UNKNOWN : CHAT_MERGE_WHOLE;
    m->has_finish = m->is_cut = m->is_done = false;
    m->n_broken = 0;
    m->quiet_bytes = 0;
    m->had_role = m->has_role;
}

bool chat_merge_is_over(const struct chat_merge *m)
{
    return m->is_done || m->failed;
}

/* ---- failure */

static void fail(struct chat_merge *m, const struct err *e)
{
    if (m->failed)
        return;
    m->failed = true;
    m->error = *e;
    sse_parser_stop(&m->sse);
}

static bool is_out_of_memory(const struct chat_merge *m)
{
    return buf_failed(&m->chunk) || buf_failed(&m->tail) || buf_failed(&m->shown) ||
           buf_failed(&m->id) || buf_failed(&m->created) || buf_failed(&m->model) ||
           buf_failed(&m->usage) || buf_failed(&m->round_usage);
}

/* Did a chunk bring more than there is room for? */
static void check_room(struct chat_merge *m)
{
    struct err e;

    if (m->said.failed) {
        err_set(&e, ERR_UPSTREAM_ERROR,
                "The upstream server sent more than %zu bytes of text or %d tool calls.",
                m->conf.max_output_bytes, CHAT_MAX_CALLS);
        fail(m, &e);
    } else if (m->shown.is_full || m->tail.is_full) {
        err_set(&e, ERR_UPSTREAM_ERROR,
                "The upstream server sent more than %zu bytes that were kept for the client.",
                m->conf.max_output_bytes);
        fail(m, &e);
    } else if (is_out_of_memory(m)) {
        err_set_no_memory(&e);
        fail(m, &e);
    }
}

/* ---- chunks */

/* A frame is one line, so a chunk on several becomes one. False when it is no JSON. */
static bool take_chunk(struct chat_merge *m, str json, str event, struct buf *out)
{
    struct buf repaired = {.limit = 0}, line = {.limit = 0};
    struct chat_chunk chunk;
    bool ok = chat_read_chunk(json, event, &repaired, &chunk);

    if (ok && m->conf.is_stream && !str_is_one_line(chunk.json)) {
        json_copy_value(chunk.json, &line);
        ok = chat_read_chunk(buf_str(&line), event, &repaired, &chunk);
    }
    if (buf_failed(&repaired) || buf_failed(&line))
        m->said.failed = ok = true;
    else if (ok)
        chat_merge_chunk(m, &chunk, out);
    if (ok)
        check_room(m);
    buf_fini(&repaired);
    buf_fini(&line);
    return ok;
}

/* Is it one complete payload? Then it has been dealt with. */
static bool take_payload(const struct feed *f, str payload, str event)
{
    struct chat_merge *m = f->m;

    if (str_eq(str_trim(payload), STR("[DONE]"))) {
        m->is_done = true;
        sse_parser_stop(&m->sse);
        return true;
    }
    if (!take_chunk(m, payload, event, f->out))
        return false;
    m->n_broken = 0;
    if (m->failed)
        sse_parser_stop(&m->sse);
    return true;
}

static bool on_data_line(void *arg, str data, str event)
{
    return take_payload(arg, data, event);
}

static void on_event(void *arg, str data, str event)
{
    const struct feed *f = arg;
    struct err e;

    if (str_trim(data).len == 0 || take_payload(f, data, event) ||
        ++f->m->n_broken < MAX_BROKEN_IN_A_ROW)
        return;
    err_set(&e, ERR_UPSTREAM_ERROR,
            UPSTREAM_SERVER_ERROR "The upstream server sent %d broken chunks in a row.",
            MAX_BROKEN_IN_A_ROW);
    fail(f->m, &e);
}

/* error: {...} as a field of SSE, from old servers */
static void on_other_field(void *arg, str name, str value)
{
    const struct feed *f = arg;
    struct err e;

    if (!str_eq(name, STR("error")) || f->m->has_finish)
        return;
    if (jr_is_valid(value))
        upstream_error_from_value(value, &e);
    else
        upstream_error_from_text(value, &e);
    fail(f->m, &e);
}

static const struct sse_handler handler = {
    .on_data_line = on_data_line, .on_event = on_event, .on_other_field = on_other_field};

/* What is for the client, now or later, or of the calls. */
static size_t count_said(const struct chat_merge *m, const struct buf *out)
{
    return out->len + m->shown.len + m->tail.len + chat_loop_said_bytes(&m->said);
}

static void feed_body(struct chat_merge *m, str bytes, struct buf *out)
{
    struct feed f = {m, out};
    struct err e;

    if (m->form == CHAT_MERGE_UNKNOWN) {
        bytes = str_trim_start(bytes);
        if (bytes.len > 0)
            m->form = bytes.p[0] == '{' ? CHAT_MERGE_WHOLE : CHAT_MERGE_EVENTS;
    }
    if (m->form == CHAT_MERGE_WHOLE) {
        buf_append(&m->whole, bytes);
        if (!buf_failed(&m->whole))
            return;
        err_set(&e, ERR_UPSTREAM_ERROR, "The upstream server sent more than %zu bytes.",
                m->whole.limit);
        fail(m, &e);
    } else if (m->form == CHAT_MERGE_EVENTS &&
               sse_parser_feed(&m->sse, bytes, &handler, &f, &e) == -1) {
        fail(m, &e);
    }
}

void chat_merge_feed(struct chat_merge *m, str bytes, struct buf *out)
{
    const size_t n_before = count_said(m, out);
    struct err e;

    feed_body(m, bytes, out);
    m->quiet_bytes = count_said(m, out) == n_before ? m->quiet_bytes + bytes.len : 0;
    if (!chat_merge_is_over(m) && m->form != CHAT_MERGE_WHOLE &&
        chat_quiet_check(m->quiet_bytes, m->conf.max_event_bytes, &e) == -1)
        fail(m, &e);
}

/* ---- the end of a round */

/* A body that nobody understands is the client's to judge. */
static void end_whole(struct chat_merge *m, struct buf *out)
{
    str body = buf_str(&m->whole);

    if (m->failed)
        return;
    if (take_chunk(m, body, STR(""), out))
        m->is_done = true;
    else if (!m->conf.is_stream)
        buf_append(&m->tail, body);
}

static void end_body(struct chat_merge *m, const struct err *failure, struct buf *out)
{
    struct feed f = {m, out};
    struct err e;

    if (m->form == CHAT_MERGE_WHOLE && (failure == NULL || m->conf.is_stream))
        end_whole(m, out);
    else if (m->form == CHAT_MERGE_EVENTS && sse_parser_end(&m->sse, &handler, &f, &e) == -1)
        fail(m, &e);
    chat_merge_decide_all(m, out);
    check_room(m);
    if (m->is_done || m->has_finish)
        return;
    if (failure != NULL) {
        fail(m, failure);
    } else if (m->conf.is_stream) {
        err_set(&e, ERR_UPSTREAM_ERROR,
                UPSTREAM_CONNECTION_ERROR
                "The upstream server ended its answer without a finish reason.");
        fail(m, &e);
    }
}

static void add_usage(struct chat_merge *m)
{
    struct buf sum = {.limit = 0};

    if (m->round_usage.len == 0)
        return;
    chat_loop_usage_write(buf_str(&m->usage), buf_str(&m->round_usage), &sum);
    buf_fini(&m->usage);
    m->usage = sum;
}

/* Is there something for us to do in this round? */
static enum chat_round_end judge(const struct chat_merge *m)
{
    if (m->failed)
        return CHAT_ROUND_FAILED;
    if (m->is_cut || chat_loop_said_count(&m->said, CHAT_CALL_OURS) == 0)
        return CHAT_ROUND_LAST;
    return chat_loop_said_count(&m->said, CHAT_CALL_CLIENTS) > 0 ? CHAT_ROUND_MIXED
                                                                 : CHAT_ROUND_CALLS;
}

enum chat_round_end chat_merge_end(struct chat_merge *m, const struct err *failure, struct buf *out)
{
    enum chat_round_end end;

    end_body(m, failure, out);
    add_usage(m);
    if (!m->failed) {
        chat_loop_said_end(&m->said, m->conf.ids);
        check_room(m);
    }
    end = judge(m);
    if (end == CHAT_ROUND_CALLS && m->conf.hides_rounds)
        m->has_role = m->had_role;
    else
        buf_append(out, buf_str(&m->shown));
    buf_reset(&m->shown);
    return end;
}

void chat_merge_finish(struct chat_merge *m, struct buf *out)
{
    buf_append(out, buf_str(&m->tail));
    if (m->conf.is_stream)
        buf_append(out, STR("data: [DONE]\n\n"));
}

void chat_merge_fail(struct chat_merge *m, const struct err *e, struct buf *out)
{
    if (!m->is_told) {
        buf_append(out, STR("data: "));
        json_err_write(e, out);
        buf_append(out, STR("\n\n"));
    }
    buf_append(out, STR("data: [DONE]\n\n"));
}
