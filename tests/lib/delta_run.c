/* delta_run.c -- the loop of the daemon without the daemon, and without an upstream. */
#include "lib/delta_run.h"

#include "lib/event_check.h"
#include "lib/hosted_script.h"
#include "lib/replay_check.h"
#include "lib/restore_check.h"
#include "lib/round_run.h"
#include "response/response_hosted.h"

struct run {
    struct response response;
    struct arena arena;
    struct buf *out;
    size_t n_items;
    struct restore_check *restore; /* NULL: none */
};

/* ---- seals */

static bool seal(void *arg, str text, struct buf *out)
{
    (void)arg;
    if (str_find_char(text, 'x') < text.len)
        return false;
    buf_c(out, "gw1.");
    buf_hex(out, (const unsigned char *)text.p, text.len);
    return !buf_failed(out);
}

const struct text_seal delta_seal = {.close = seal};

/* ---- rounds */

static bool fail(struct run *run)
{
    struct err e;

    response_failure(&run->response, &e);
    response_fail(&run->response, &e, run->out);
    return false;
}

static void plan(struct run *run, const struct delta_round *round)
{
    static const struct tool_choice none = {.mode = TOOL_CHOICE_NONE};
    const bool is_answer = response_lacks_answer(&run->response);
    const bool is_last = round->is_last || response_has_used_up(&run->response);

    response_begin_round(
        &run->response,
        &(struct response_plan){.choice = is_answer ? &none : NULL,
                                .withholds_text = round->withholds_text && !is_answer && !is_last});
    if (is_last)
        response_begin_last_round(&run->response);
}

static void step(struct run *run)
{
    if (run->restore != NULL)
        restore_check_step(run->restore, &run->response);
}

static bool ask(struct run *run, const struct delta_round *round)
{
    plan(run, round);
    for (size_t i = 0; i < round->n && !run->response.has_enough; i++) {
        if (!response_delta(&run->response, &round->deltas[i], run->out))
            return fail(run);
        step(run);
    }
    response_end_round(&run->response, round->finish, run->out);
    step(run);
    return hosted_script_play(STR_NONE, &run->response, &run->arena, run->out);
}

static bool replay(struct run *run)
{
    static const struct input_options options = {.seal = &delta_seal};
    struct item_list items = {.n = 0};
    struct err e;

    if (response_replay(&run->response, &options, &items, &run->arena, &e) == -1) {
        response_fail(&run->response, &e, run->out);
        return false;
    }
    run->n_items += items.n;
    return true;
}

static void play(struct run *run, const struct delta_round *rounds, size_t n_rounds)
{
    for (size_t i = 0; i < n_rounds; i++) {
        if (!ask(run, &rounds[i]))
            return;
        if (response_lacks_answer(&run->response))
            continue;
        if (!response_goes_on(&run->response)) {
            response_finish(&run->response, rounds[i].finish, TEST_NOW, run->out);
            return;
        }
        if (!replay(run))
            return;
    }
    response_finish(&run->response, FINISH_LENGTH, TEST_NOW, run->out);
}

static void begin(struct run *run, const struct response_conf *conf, struct test_ids *ids)
{
    struct response_conf whole = *conf;

    test_ids_reset(ids);
    whole.ids = &ids->source;
    whole.echo = str_from_c(round_plain_echo);
    whole.created_at = TEST_CREATED_AT;
    response_init(&run->response, &whole);
    response_start(&run->response, run->out);
    step(run);
}

const char *delta_run_restored(const struct response_conf *conf, const struct delta_round *rounds,
                               size_t n_rounds)
{
    struct restore_check check;
    struct run run = {.restore = &check};
    struct test_ids ids;

    restore_check_init(&check, conf->interleaved_calls ? event_check_interleaved : event_check);
    begin(&run, conf, &ids);
    play(&run, rounds, n_rounds);
    step(&run);
    response_end(&run.response, NULL);
    restore_check_end(&check, &run.response);
    response_fini(&run.response);
    arena_fini(&run.arena);
    restore_check_fini(&check);
    return check.fault;
}

void delta_run(const struct response_conf *conf, const struct delta_round *rounds, size_t n_rounds,
               bool streamed, struct delta_result *ret)
{
    struct run run = {.out = streamed ? &ret->events : NULL};
    struct replay_check check;
    struct test_ids ids;

    *ret = (struct delta_result){.n_items = 0};
    replay_check_init(&check);
    begin(&run, conf, &ids);
    play(&run, rounds, n_rounds);
    if (run.response.conf.keeps_cuts)
        replay_check_ending(&check, &run.response);
    response_end(&run.response, run.out);
    if (run.response.conf.keeps_cuts) {
        replay_check_step(&check, &run.response);
        replay_check_end(&check, &run.response, streamed ? buf_str(&ret->events) : STR_NONE);
    }
    response_object(&run.response, &ret->object);
    ret->n_items = run.n_items;
    ret->replay_fault = check.fault;
    replay_check_fini(&check);
    response_fini(&run.response);
    arena_fini(&run.arena);
}

void delta_result_fini(struct delta_result *r)
{
    buf_fini(&r->events);
    buf_fini(&r->object);
}
