/* admission_fixture.h -- the worker of flight_fixture.h gets a real pool of upstreams, with two of them: "default",
 * that is always asked there, and "other". A table is made of both, or of the first alone. */
#ifndef ANTIPHON_TESTS_UNIT_ADMISSION_FIXTURE_H
#define ANTIPHON_TESTS_UNIT_ADMISSION_FIXTURE_H

#include "chat_turn_fixture.h"

#include "upstream/upstream_pool_internal.h"

enum { UPSTREAMS = 2 };

static struct places {
    struct upstream_live other_live;
    struct upstream_entry entries[UPSTREAMS];
    struct upstream_model_rule rules[UPSTREAMS]; /* each has "m" */

    /* Whoever has the only place of the first. */
    struct upstream_ticket occupant;
    struct upstream_want want;
    struct upstream_route route;
    struct upstream_candidate candidate;
    struct arena arena;
} places;

uint64_t upstream_pool_now_ms(void)
{
    return stage.worker.loop->now_ms;
}

static inline void give_model(size_t i, str name, str sent)
{
    places.rules[i] = (struct upstream_model_rule){.name = name, .model = sent, .weight = 1};
    places.entries[i].models = &places.rules[i];
    places.entries[i].n_models = 1;
}

static inline void know_live(struct upstream_live *l, size_t i)
{
    struct upstream_pool *p = stage.worker.pool;

    l->pool = p;
    l->name = l->base = places.entries[i].name;
    l->entry = &places.entries[i];
    l->number = (uint16_t)i;
    l->next = p->lives;
    p->lives = l;
    places.entries[i].live = l;
}

/* There are so many upstreams from now on, each with one place and one attempt for each. */
static inline void stage_places(size_t n)
{
    struct err e;

    places = (struct places){.candidate = {.model = STR_NONE, .weight = 1}};
    stage.worker.pool = upstream_pool_new(stage.worker.loop, &e);
    assert_non_null(stage.worker.pool);
    for (size_t i = 0; i < UPSTREAMS; i++) {
        places.entries[i] = stage.upstream;
        places.entries[i].weight = places.entries[i].max_concurrency = 1;
        places.entries[i].retry_attempts = n > 1 ? 3 : 1;
        places.entries[i].retry_on = ~0u;
        give_model(i, STR("m"), STR_NONE);
    }
    places.entries[1].name = STR("other");
    places.entries[1].base = STR("http://other");
    places.other_live.counts = NULL;
    know_live(&places.other_live, 1);
    know_live(&stage.live, 0);
    stage.worker.pool->config = &stage.load.config;
    stage.upstreams = (struct upstream_table){
        .entries = places.entries,
        .n = n,
        .is_from_file = n > 1,
        .config = &stage.load.config,
        .other_policy = {.name = STR_NONE,
                         .kind = ROUTING_FIRST,
                         .queue_limit = 1,
                         .queue_owner = 1,
                         .queue_timeout_ms = 20000},
    };
}

/* Somebody else has the place of the first upstream. */
static inline void stage_occupy(void)
{
    struct err e;

    places.route = (struct upstream_route){.name = STR("m"),
                                           .candidates = &places.candidate,
                                           .n = 1,
                                           .group = STR("default"),
                                           .policy = &stage.upstreams.other_policy};
    places.want = (struct upstream_want){.table = &stage.upstreams,
                                         .route = &places.route,
                                         .owner = STR("somebody"),
                                         .weight = 1,
                                         .priority = FAIR_CLASS_NORMAL,
                                         .session = STR(""),
                                         .session_next = STR_NONE,
                                         .body = STR("")};
    places.occupant.loop = stage.worker.loop;
    assert_int_equal(
        upstream_pool_admit(stage.worker.pool, &places.occupant, &places.want, &places.arena, &e),
        UPSTREAM_TICKET_GRANTED);
}

/* No longer. */
static inline void stage_vacate(void)
{
    upstream_pool_leave(stage.worker.pool, &places.occupant);
    stage_settle();
}

static inline unsigned n_at(size_t i)
{
    return places.entries[i].live->in_flight;
}

/* Nothing was lost. In front of stage_close(). */
static inline void stage_end_places(void)
{
    struct upstream_pool *p = stage.worker.pool;

    stage_vacate();
    assert_int_equal(n_at(0), 0);
    assert_int_equal(n_at(1), 0);
    assert_int_equal(p->n_rounds, 0);
    assert_int_equal(p->n_retrying, 0);
    assert_int_equal(p->n_waiting, 0);
    assert_int_equal(p->waiting_bytes, 0);
    p->lives = NULL; /* which are not its own */
    p->config = NULL;
    upstream_pool_free(p);
    arena_fini(&places.arena);
    stage.worker.pool = NULL;
}

/* ---- ways to the stages that wait */

static inline void reach_admit(void)
{
    stage_places(1);
    stage_occupy();
    (void)stage_begin(UNKEPT);
}

static inline void reach_admit_summary(void)
{
    stage_places(1);
    stage_occupy();
    begin_long(LONG_TEXT_BYTES, TRIGGER, "\"stream\":true,\"store\":false");
}

/* What is large is written again, as the other upstream calls the model. */
static inline void reach_rewrite(void)
{
    stage_places(2);
    give_model(1, STR("m"), STR("another"));
    stage_occupy();
    begin_large(UNKEPT);
    for (int i = 0; i < 9 && strcmp(stage_name(), "rewrite") != 0; i++)
        assert_true(fake_loop_step(stage.worker.loop, stage.worker.loop->now_ms));
}

/* An upstream that is busy is to be asked again. */
/* For a second, as for every model that is being loaded; a backoff may be drawn as none. */
static inline void reach_retry(void)
{
    stage_places(1);
    places.entries[0].retry_attempts = 2;
    (void)stage_begin(UNKEPT);
    upstream_begins(503);
    upstream_says("{\"error\":{\"message\":\"Loading model\"}}");
    upstream_ends(NULL);
}

static inline void reach_chat_admit(void)
{
    stage_places(1);
    stage_occupy();
    begin_chat(STREAM);
}

#endif
