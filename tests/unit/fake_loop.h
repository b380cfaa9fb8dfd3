/* fake_loop.h -- ev/loop.h with a clock of its own, so that a minute passes at once.
 *
 * Takes the place of ev/loop.c in a test program that includes it: the linker looks into
 * the library only for what is missing. Timers and deferred functions run in order when
 * the test lets time pass, never by themselves. */
#ifndef ANTIPHON_TESTS_UNIT_FAKE_LOOP_H
#define ANTIPHON_TESTS_UNIT_FAKE_LOOP_H

#include "ev/loop.h"
#include "lib/send_once.h"
#include "lib/test.h"

struct loop_timer {
    struct loop *loop;
    void (*fn)(void *arg);
    void *arg;
    uint64_t at_ms, order; /* of those at the same time, the first started runs first */
    bool is_running;
    struct loop_timer *next;
};

struct loop {
    uint64_t now_ms, order;
    struct loop_timer *timers;
    STAILQ_HEAD(messages, loop_message) messages;
    size_t n_expected;
};

struct loop *loop_new(struct err *reterr)
{
    struct loop *loop = calloc(1, sizeof(*loop));

    (void)reterr;
    loop->now_ms = 1000;
    STAILQ_INIT(&loop->messages);
    return loop;
}

static inline bool fake_loop_run_deferred(struct loop *loop)
{
    struct loop_message *m = STAILQ_FIRST(&loop->messages);

    if (m == NULL)
        return false;
    STAILQ_REMOVE_HEAD(&loop->messages, next);
    m->is_under_way = false;
    m->fn(m->arg);
    return true;
}

/* Nothing that was made on it may be left. */
void loop_free(struct loop *loop)
{
    assert_null(loop->timers);
    assert_true(STAILQ_EMPTY(&loop->messages));
    free(loop);
}

void loop_run(struct loop *loop)
{
    (void)loop;
    fail();
}

void loop_stop(struct loop *loop)
{
    (void)loop;
}

uv_loop_t *loop_uv(struct loop *loop)
{
    (void)loop;
    return NULL;
}

char *loop_scratch(struct loop *loop)
{
    (void)loop;
    return NULL;
}

uint64_t loop_now_ms(const struct loop *loop)
{
    return loop->now_ms;
}

void loop_defer(struct loop *loop, struct loop_message *m)
{
    if (m->is_under_way)
        return;
    m->is_under_way = true;
    STAILQ_INSERT_TAIL(&loop->messages, m, next);
}

void loop_post(struct loop *loop, struct loop_message *m)
{
    loop_defer(loop, m);
}

bool loop_message_is_under_way(const struct loop_message *m)
{
    return m->is_under_way;
}

static inline void fake_loop_run_job(void *arg)
{
    struct loop_job *job = arg;

    job->work(job->arg);
    job->done(job->arg);
}

/* There is one thread: the work is done when the test lets time pass, and its end told at once. */
void loop_offload(struct loop *loop, struct loop_job *job)
{
    defer_once(loop, fake_loop_run_job, job);
}

void loop_expect(struct loop *loop)
{
    loop->n_expected++;
}

void loop_receive(struct loop *loop)
{
    loop->n_expected--;
}

size_t loop_n_expected(const struct loop *loop)
{
    return loop->n_expected;
}

struct loop_timer *loop_timer_new(struct loop *loop, void (*fn)(void *arg), void *arg)
{
    struct loop_timer *t = calloc(1, sizeof(*t));

    if (t == NULL)
        return NULL;
    *t = (struct loop_timer){.loop = loop, .fn = fn, .arg = arg, .next = loop->timers};
    loop->timers = t;
    return t;
}

void loop_timer_start(struct loop_timer *t, uint64_t after_ms)
{
    t->at_ms = t->loop->now_ms + after_ms;
    t->order = t->loop->order++;
    t->is_running = true;
}

void loop_timer_stop(struct loop_timer *t)
{
    t->is_running = false;
}

void loop_timer_free(struct loop_timer *t)
{
    struct loop_timer **at;

    if (t == NULL)
        return;
    for (at = &t->loop->timers; *at != t;)
        at = &(*at)->next;
    *at = t->next;
    free(t);
}

static inline struct loop_timer *fake_loop_next_timer(const struct loop *loop)
{
    struct loop_timer *next = NULL;

    for (struct loop_timer *t = loop->timers; t != NULL; t = t->next) {
        if (t->is_running && (next == NULL || t->at_ms < next->at_ms ||
                              (t->at_ms == next->at_ms && t->order < next->order)))
            next = t;
    }
    return next;
}

/* Runs the next thing that is to happen by until_ms; false when there is none. */
static inline bool fake_loop_step(struct loop *loop, uint64_t until_ms)
{
    struct loop_timer *t;

    if (fake_loop_run_deferred(loop))
        return true;
    t = fake_loop_next_timer(loop);
    if (t == NULL || t->at_ms > until_ms)
        return false;
    if (t->at_ms > loop->now_ms)
        loop->now_ms = t->at_ms;
    t->is_running = false;
    t->fn(t->arg);
    return true;
}

/* Lets that time pass, with all that happens in it. 0: what is to happen now. */
static inline void fake_loop_pass(struct loop *loop, uint64_t ms)
{
    uint64_t until_ms = loop->now_ms + ms;

    while (fake_loop_step(loop, until_ms))
        ;
    loop->now_ms = until_ms;
}

#endif
