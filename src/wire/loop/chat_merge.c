/* chat_merge.c -- rounds, and how a round ends. */
#include "wire/loop/chat_merge.h"

#include "json/json_copy.h"
#include "json/json_err.h"
#include "wire/chunk/chat_quiet.h"
#include "wire/loop/chat_loop_usage.h"
#include "wire/loop/chat_merge_chunk.h"

void chat_merge_init(struct chat_merge *m, const struct chat_merge_conf *conf)
{
    *m = (struct chat_merge){.conf = *conf};
    buf_init(&m->tail, conf->max_output_bytes);
    buf_init(&m->shown, conf->max_output_bytes);
    chat_loop_said_init(&m->said, conf->max_output_bytes);
}

void chat_merge_fini(struct chat_merge *m)
{
    buf_fini(&m->id);
    buf_fini(&m->created);
    buf_fini(&m->model);
    buf_fini(&m->usage);
    chat_loop_said_fini(&m->said);
    chat_body_fini(&m->body);
    buf_fini(&m->round_usage);
    buf_fini(&m->tail);
    buf_fini(&m->shown);
    buf_fini(&m->chunk);
}

bool chat_merge_is_over(const struct chat_merge *m)
{
    return m->body.is_done || m->failed;
}

/* ---- failure */

static void fail_merge(struct chat_merge *m, const struct err *e)
{
    if (m->failed)
        return;
    m->failed = true;
    m->error = *e;
    chat_body_stop(&m->body);
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
        fail_merge(m, &e);
    } else if (m->shown.is_full || m->tail.is_full) {
        err_set(&e, ERR_UPSTREAM_ERROR,
                "The upstream server sent more than %zu bytes that were kept for the client.",
                m->conf.max_output_bytes);
        fail_merge(m, &e);
    } else if (is_out_of_memory(m)) {
        err_set_no_memory(&e);
        fail_merge(m, &e);
    }
}

/* ---- chunks */

/* A frame is one line, so a chunk on several becomes one. */
static bool on_chunk(void *arg, str json, str event)
{
    struct buf repaired = {.limit = 0}, line = {.limit = 0};
    struct chat_merge *m = arg;
    struct chat_chunk chunk;
    bool ok = chat_read_chunk(json, event, &repaired, &chunk);

    if (ok && m->conf.is_stream && !str_is_one_line(chunk.json)) {
        json_copy_value(chunk.json, &line);
        ok = chat_read_chunk(buf_str(&line), event, &repaired, &chunk);
    }
    if (buf_failed(&repaired) || buf_failed(&line))
        m->said.failed = ok = true;
    else if (ok)
        chat_merge_chunk(m, &chunk, m->out);
    if (ok)
        check_room(m);
    if (m->failed)
        chat_body_stop(&m->body);
    buf_fini(&repaired);
    buf_fini(&line);
    return ok;
}

static void on_error(void *arg, const struct err *e)
{
    struct chat_merge *m = arg;

    if (!m->has_finish)
        fail_merge(m, e);
}

static void on_unreadable(void *arg, const struct err *e)
{
    fail_merge(arg, e);
}

static const struct chat_body_handler body_handler = {on_chunk, on_error, on_unreadable};

void chat_merge_begin(struct chat_merge *m)
{
    chat_loop_said_fini(&m->said);
    chat_loop_said_init(&m->said, m->conf.max_output_bytes);
    chat_body_fini(&m->body);
    chat_body_init(&m->body, m->conf.is_stream ? CHAT_BODY_UNKNOWN : CHAT_BODY_WHOLE,
                   m->conf.max_event_bytes, &body_handler, m);
    buf_reset(&m->round_usage);
    buf_reset(&m->tail);
    buf_reset(&m->shown);
    m->has_finish = m->is_cut = false;
    m->quiet_bytes = 0;
    m->had_role = m->has_role;
}

/* What is for the client, now or later, or of the calls. */
static size_t count_said(const struct chat_merge *m, const struct buf *out)
{
    return out->len + m->shown.len + m->tail.len + chat_loop_said_bytes(&m->said);
}

void chat_merge_feed(struct chat_merge *m, str bytes, struct buf *out)
{
    const size_t n_before = count_said(m, out);
    struct err e;

    m->out = out;
    chat_body_feed(&m->body, bytes);
    m->quiet_bytes = count_said(m, out) == n_before ? m->quiet_bytes + bytes.len : 0;
    if (!chat_merge_is_over(m) && m->body.form != CHAT_BODY_WHOLE &&
        chat_quiet_check(m->quiet_bytes, m->conf.max_event_bytes, &e) == -1)
        fail_merge(m, &e);
}

/* ---- the end of a round */

static void end_body(struct chat_merge *m, const struct err *failure, struct buf *out)
{
    struct err e;

    m->out = out;
    if (failure == NULL || m->conf.is_stream)
        chat_body_end(&m->body);
    /* What nobody understands is the client's to judge, unless it was broken off. */
    if (failure == NULL && !m->conf.is_stream && !chat_merge_is_over(m))
        buf_append(&m->tail, buf_str(&m->body.whole));
    chat_merge_decide_all(m, out);
    check_room(m);
    if (m->body.is_done || m->has_finish)
        return;
    if (failure != NULL) {
        fail_merge(m, failure);
    } else if (m->conf.is_stream) {
        chat_body_err_unfinished(&m->body, &e);
        fail_merge(m, &e);
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
static enum chat_round_end judge_round(const struct chat_merge *m)
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
    end = judge_round(m);
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
