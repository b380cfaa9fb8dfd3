/* restore_fixture.h -- a response of the background, and what a store has of it while it runs. */
#ifndef ANTIPHON_TESTS_UNIT_RESTORE_FIXTURE_H
#define ANTIPHON_TESTS_UNIT_RESTORE_FIXTURE_H

#include "lib/test.h"

#include "lib/round_run.h"
#include "response/replay.h"
#include "response/response_hosted.h"
#include "response/response_restore.h"

static const struct response_conf restore_conf = {.error_event = true};

/* A response under way, and what is kept of it. */
struct live_response {
    struct test_ids ids;
    struct response r;
    struct buf echo;
    struct buf head, tail; /* as it was accepted */
    struct replay journal;
    struct journal_row row; /* the last one */
};

static inline struct err crash(void)
{
    struct err e;

    err_set(&e, ERR_INTERNAL, "The gateway stopped while the response was in progress.");
    return e;
}

static inline void live_begin(struct live_response *l, const struct response_conf *given)
{
    struct response_conf conf = *given;

    *l = (struct live_response){.row = {.first = 0}};
    test_ids_reset(&l->ids);
    replay_init(&l->journal);
    conf.ids = &l->ids.source;
    conf.created_at = TEST_CREATED_AT;
    conf.is_background = conf.keeps_cuts = conf.error_event = true;
    buf_c(&l->echo, "\"background\":true,");
    buf_append(&l->echo, str_skip(str_from_c(round_plain_echo), STR("\"background\":false,").len));
    conf.echo = buf_str(&l->echo);
    response_init(&l->r, &conf);
    response_queue(&l->r, NULL);
    response_object_head(&l->r, &l->head);
    response_object_tail(&l->r, &l->tail);
}

static inline void live_fini(struct live_response *l)
{
    response_fini(&l->r);
    journal_row_fini(&l->row);
    buf_fini(&l->echo);
    buf_fini(&l->head);
    buf_fini(&l->tail);
}

static inline void say(struct live_response *l, enum delta_kind kind, const char *text)
{
    const struct delta d = {.kind = kind, .text = str_from_c(text)};

    assert_true(response_delta(&l->r, &d, NULL));
}

static inline void call(struct live_response *l, unsigned number, const char *name,
                        const char *arguments)
{
    const struct delta d = {.kind = DELTA_CALL,
                            .call = number,
                            .name = str_from_c(name),
                            .call_id = STR(""),
                            .text = str_from_c(arguments)};

    assert_true(response_delta(&l->r, &d, NULL));
}

static inline void write_row(struct live_response *l)
{
    journal_row_fini(&l->row);
    assert_int_equal(replay_journal(&l->journal, &l->r, buf_str(&l->r.cuts.bytes), &l->row), 0);
}

static inline void begin_restore(const struct live_response *l, struct response_restore *ret)
{
    struct err e;

    assert_int_equal(
        response_restore_begin(&restore_conf, buf_str(&l->head), buf_str(&l->tail), ret, &e), 0);
}

static inline int read_row(const struct live_response *l, struct response_restore *to,
                           struct err *reterr)
{
    return response_restore_row(to, l->row.cuts, buf_str(&l->row.done), buf_str(&l->row.pieces),
                                reterr);
}

static inline void restore(struct live_response *l, struct response_restore *to)
{
    struct err e;

    write_row(l);
    assert_int_equal(read_row(l, to, &e), 0);
}

static inline void write_events(const struct response *r, struct buf *out)
{
    struct replay p;

    replay_init(&p);
    assert_int_equal(
        replay_events(&p, r, buf_str(&r->cuts.bytes), UINT64_MAX, -1, false, SIZE_MAX, out), 0);
}

/* ---- steps */

static inline void think(struct live_response *l)
{
    say(l, DELTA_REASONING, "why");
}

static inline void answer(struct live_response *l)
{
    say(l, DELTA_TEXT, "text");
}

static inline void refuse(struct live_response *l)
{
    say(l, DELTA_REFUSAL, "no");
}

static inline void call_first(struct live_response *l)
{
    call(l, 0, "f", "{\\\"a\\\":");
}

static inline void call_second(struct live_response *l)
{
    call(l, 1, "f", "{\\\"b\\\":");
}

#endif
