/* test_replay_order.c -- replays of items that are open side by side, and of citations: what an event was
 * about is not that of the one before. */
#include "lib/test.h"

#include "lib/event_check.h"
#include "lib/fixture.h"
#include "lib/replay_check.h"
#include "lib/restore_check.h"
#include "lib/round_run.h"
#include "response/response_hosted.h"

#define LOGPROB "{\"token\":\"a\",\"logprob\":0,\"bytes\":[],\"top_logprobs\":[]}"

struct fixture {
    struct test_ids ids;
    struct response r;
    struct buf out; /* what was sent first */
    struct replay_check replay;
    struct restore_check restore;
};

static void step(struct fixture *f)
{
    replay_check_step(&f->replay, &f->r);
    restore_check_step(&f->restore, &f->r);
}

static void begin(struct fixture *f, bool interleaved)
{
    const struct response_conf conf = {.ids = &f->ids.source,
                                       .echo = str_from_c(round_plain_echo),
                                       .created_at = TEST_CREATED_AT,
                                       .interleaved_calls = interleaved,
                                       .keeps_cuts = true};

    *f = (struct fixture){.out = {.limit = 0}};
    test_ids_reset(&f->ids);
    replay_check_init(&f->replay);
    restore_check_init(&f->restore, interleaved ? event_check_interleaved : event_check);
    response_init(&f->r, &conf);
    response_start(&f->r, &f->out);
    step(f);
}

static void end(struct fixture *f)
{
    response_end_round(&f->r, FINISH_STOP, &f->out);
    step(f);
    response_finish(&f->r, FINISH_STOP, TEST_NOW, &f->out);
    step(f);
    replay_check_ending(&f->replay, &f->r);
    response_end(&f->r, &f->out);
    replay_check_step(&f->replay, &f->r);
    replay_check_end(&f->replay, &f->r, buf_str(&f->out));
    restore_check_end(&f->restore, &f->r);
    if (f->replay.fault != NULL || f->restore.fault != NULL)
        fail_msg("%s", f->replay.fault != NULL ? f->replay.fault : f->restore.fault);
    assert_str_eq(buf_str(&f->replay.live), buf_str(&f->out));
}

static void fini(struct fixture *f)
{
    replay_check_fini(&f->replay);
    restore_check_fini(&f->restore);
    response_fini(&f->r);
    buf_fini(&f->out);
}

static void say(struct fixture *f, const struct delta *d)
{
    assert_true(response_delta(&f->r, d, &f->out));
    step(f);
}

static void say_text(struct fixture *f, enum delta_kind kind, str text, str logprobs)
{
    say(f, &(const struct delta){.kind = kind, .text = text, .logprobs = logprobs});
}

static void call(struct fixture *f, unsigned number, str arguments)
{
    say(f, &(const struct delta){.kind = DELTA_CALL,
                                 .call = number,
                                 .name = STR("f"),
                                 .call_id = STR(""),
                                 .text = arguments});
}

static void cite(struct fixture *f, str url)
{
    say(f, &(const struct delta){.kind = DELTA_CITATION,
                                 .citation = {.url = url, .title = STR("t"), .end = 1}});
}

static size_t count(const struct fixture *f, str what)
{
    str rest = buf_str(&f->out);
    size_t n = 0, at;

    while ((at = str_find(rest, what)) < rest.len) {
        rest = str_skip(rest, at + what.len);
        n++;
    }
    return n;
}

/* ---- side by side */

static void calls_in_turns_are_replayed_in_turns(void **state)
{
    struct fixture f;

    (void)state;
    begin(&f, true);
    for (unsigned round = 0; round < 4; round++) {
        for (unsigned i = 0; i < 5; i++)
            call(&f, i, round == 0 ? STR("{\\\"a\\\":") : STR("12"));
    }
    for (unsigned i = 5; i > 0; i--)
        call(&f, i - 1, STR("}"));
    end(&f);
    assert_int_equal(count(&f, STR("event: response.function_call_arguments.delta")), 25);
    fini(&f);
}

/* All but the first follow at once, each with one delta. */
static void calls_that_wait_are_replayed_one_by_one(void **state)
{
    struct fixture f;

    (void)state;
    begin(&f, false);
    for (unsigned round = 0; round < 4; round++) {
        for (unsigned i = 0; i < 5; i++)
            call(&f, i, round == 0 ? STR("{\\\"a\\\":") : STR("12"));
    }
    end(&f);
    assert_int_equal(count(&f, STR("event: response.function_call_arguments.delta")), 8);
    fini(&f);
}

static void a_message_beside_open_calls_keeps_its_place(void **state)
{
    struct fixture f;

    (void)state;
    begin(&f, true);
    call(&f, 0, STR("{\\\"a\\\":"));
    say_text(&f, DELTA_TEXT, STR("one"), STR(LOGPROB "," LOGPROB));
    call(&f, 0, STR("1"));
    say_text(&f, DELTA_TEXT, STR(" two"), STR(LOGPROB));
    call(&f, 1, STR("{"));
    say_text(&f, DELTA_REASONING, STR("why"), STR(""));
    call(&f, 0, STR("}"));
    end(&f);
    fini(&f);
}

/* ---- citations */

static void citations_of_every_part_are_counted_anew(void **state)
{
    struct fixture f;

    (void)state;
    begin(&f, false);
    say_text(&f, DELTA_TEXT, STR("first"), STR(""));
    cite(&f, STR("https://a.example/"));
    cite(&f, STR("https://b.example/"));
    cite(&f, STR("https://c.example/"));
    say_text(&f, DELTA_REFUSAL, STR("no"), STR(""));
    say_text(&f, DELTA_TEXT, STR("second"), STR(LOGPROB));
    cite(&f, STR("https://d.example/"));
    say_text(&f, DELTA_TEXT, STR(" part"), STR(""));
    cite(&f, STR("https://e.example/"));
    end(&f);
    assert_int_equal(count(&f, STR("event: response.output_text.annotation.added")), 5);
    assert_int_equal(count(&f, STR("\"annotation_index\":0,")), 2);
    assert_int_equal(count(&f, STR("\"annotation_index\":2,")), 1);
    fini(&f);
}

/* The message waits for a call; its citations follow with it. */
static void citations_of_a_message_that_waits_follow_it(void **state)
{
    struct fixture f;

    (void)state;
    begin(&f, false);
    call(&f, 0, STR("{\\\"a\\\":"));
    say_text(&f, DELTA_TEXT, STR("text"), STR(LOGPROB));
    cite(&f, STR("https://a.example/"));
    cite(&f, STR("https://b.example/"));
    call(&f, 0, STR("1}"));
    end(&f);
    assert_int_equal(count(&f, STR("event: response.output_text.annotation.added")), 2);
    fini(&f);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_in_turns_are_replayed_in_turns),
        cmocka_unit_test(calls_that_wait_are_replayed_one_by_one),
        cmocka_unit_test(a_message_beside_open_calls_keeps_its_place),
        cmocka_unit_test(citations_of_every_part_are_counted_anew),
        cmocka_unit_test(citations_of_a_message_that_waits_follow_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
