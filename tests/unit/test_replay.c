/* test_replay.c -- a response of the background from the queue to its end, and what a reader of it gets,
 * who may want less than all, later, from another response than the cuts are of. */
#include "lib/event_check.h"
#include "lib/event_difference.h"
#include "lib/fixture.h"
#include "lib/replay_check.h"
#include "lib/round_run.h"
#include "lib/test.h"
#include "response/response_hosted.h"

struct fixture {
    struct test_ids ids;
    struct response r;
    struct buf echo;
    struct buf out; /* what was sent first */
    struct replay_check check;
};

static void begin_as(struct fixture *f, const struct response_conf *of)
{
    struct response_conf conf = *of;

    *f = (struct fixture){.out = {.limit = 0}};
    test_ids_reset(&f->ids);
    replay_check_init(&f->check);
    conf.ids = &f->ids.source;
    buf_c(&f->echo, conf.is_background ? "\"background\":true," : "\"background\":false,");
    buf_c(&f->echo, strchr(round_plain_echo, ',') + 1);
    conf.echo = buf_str(&f->echo);
    conf.created_at = TEST_CREATED_AT;
    conf.error_event = true;
    conf.keeps_cuts = true;
    response_init(&f->r, &conf);
}

static void begin_queued(struct fixture *f)
{
    begin_as(f, &(const struct response_conf){.is_background = true});
    response_queue(&f->r, &f->out);
    replay_check_step(&f->check, &f->r);
}

static void begin(struct fixture *f)
{
    begin_as(f, &(const struct response_conf){.is_background = false});
    response_start(&f->r, &f->out);
}

static void say(struct fixture *f, enum delta_kind kind, str text)
{
    const struct delta d = {.kind = kind, .text = text};

    assert_true(response_delta(&f->r, &d, &f->out));
    replay_check_step(&f->check, &f->r);
}

static void fini(struct fixture *f)
{
    replay_check_fini(&f->check);
    response_fini(&f->r);
    buf_fini(&f->echo);
    buf_fini(&f->out);
}

/* The response has its last status: its events are the same again, at every step and afterwards. */
static void end(struct fixture *f)
{
    replay_check_ending(&f->check, &f->r);
    response_end(&f->r, &f->out);
    replay_check_step(&f->check, &f->r);
    replay_check_end(&f->check, &f->r, buf_str(&f->out));
    if (f->check.fault != NULL)
        fail_msg("%s: %s", f->check.fault, buf_cstr(&f->check.live));
    assert_str_eq(buf_str(&f->check.live), buf_str(&f->out));
}

static void assert_stream(struct fixture *f, const char *name)
{
    struct buf expected = fixture_read(name);
    char *difference = event_difference(buf_str(&f->out), buf_str(&expected));
    const char *fault = event_check(buf_str(&f->out));

    if (fault != NULL || difference != NULL)
        fail_msg("%s", fault != NULL ? fault : difference);
    free(difference);
    buf_fini(&expected);
}

static bool object_holds(const struct response *r, str member)
{
    struct buf object = {.limit = 0};
    bool holds;

    response_object(r, &object);
    holds = str_find(buf_str(&object), member) < object.len;
    buf_fini(&object);
    return holds;
}

/* ---- the background */

static void a_response_is_queued_before_it_is_in_progress(void **state)
{
    static const struct usage usage = {.known = true, .input = 9, .output = 5};
    struct fixture f;

    (void)state;
    begin_queued(&f);
    assert_true(object_holds(&f.r, STR("\"status\":\"queued\"")));
    assert_true(object_holds(&f.r, STR("\"output\":[],\"usage\":null")));
    assert_int_equal(f.r.cuts.n, 2);
    response_start(&f.r, &f.out);
    assert_true(object_holds(&f.r, STR("\"status\":\"in_progress\"")));
    say(&f, DELTA_TEXT, STR("Done in the background."));
    response_end_round(&f.r, FINISH_STOP, &f.out);
    response_add_usage(&f.r, &usage, STR(""));
    response_finish(&f.r, FINISH_STOP, TEST_NOW, &f.out);
    end(&f);
    assert_stream(&f, "streams/background_queued.sse");
    fini(&f);
}

static void one_that_was_not_queued_before_is_when_it_starts(void **state)
{
    struct fixture f;

    (void)state;
    begin_as(&f, &(const struct response_conf){.is_background = true});
    response_start(&f.r, NULL);
    assert_int_equal(f.r.cuts.n, 3);
    assert_int_equal(f.r.next_sequence_number, 3);
    response_finish_empty(&f.r, TEST_NOW);
    response_end(&f.r, NULL);
    assert_int_equal(f.r.cuts.n, 4);
    fini(&f);
}

static void the_end_of_a_cancelled_one_tells_of_a_failure(void **state)
{
    struct fixture f;

    (void)state;
    begin_queued(&f);
    response_start(&f.r, &f.out);
    say(&f, DELTA_TEXT, STR("Half of"));
    response_cancel(&f.r, &f.out);
    assert_true(object_holds(&f.r, STR("\"status\":\"cancelled\",\"error\":null")));
    assert_true(object_holds(&f.r, STR("\"status\":\"incomplete\"")));
    end(&f);
    assert_stream(&f, "streams/background_cancelled.sse");
    fini(&f);
}

static void one_that_is_cancelled_in_the_queue_begins_and_ends(void **state)
{
    struct fixture f;

    (void)state;
    begin_queued(&f);
    response_cancel(&f.r, &f.out);
    assert_true(object_holds(&f.r, STR("\"output\":[],\"usage\":null")));
    end(&f);
    assert_stream(&f, "streams/background_cancelled_in_queue.sse");
    fini(&f);
}

static void one_that_a_crash_interrupted_fails_with_what_it_has(void **state)
{
    struct fixture f;
    struct err e;

    (void)state;
    begin_queued(&f);
    response_start(&f.r, &f.out);
    say(&f, DELTA_TEXT, STR("Half of"));
    err_set(&e, ERR_INTERNAL, "The gateway stopped while the response was in progress.");
    response_fail(&f.r, &e, &f.out);
    end(&f);
    assert_stream(&f, "streams/background_after_crash.sse");
    fini(&f);
}

/* ---- what may be another thing later */

static void the_first_events_have_the_service_tier_of_then(void **state)
{
    static const struct usage usage = {.known = true};
    struct fixture f;

    (void)state;
    begin_as(&f, &(const struct response_conf){.service_tier = STR("flex")});
    response_start(&f.r, &f.out);
    say(&f, DELTA_TEXT, STR("a"));
    response_end_round(&f.r, FINISH_STOP, &f.out);
    response_add_usage(&f.r, &usage, STR("priority"));
    response_finish(&f.r, FINISH_STOP, TEST_NOW, &f.out);
    end(&f);
    fini(&f);
}

static void a_search_is_announced_with_what_it_was_to_look_for(void **state)
{
    static struct tool search = {.kind = TOOL_HOSTED,
                                 .hosted_kind = HOSTED_WEB_SEARCH,
                                 .name = STR_INIT("web_search"),
                                 .upstream_name = STR_INIT("web_search"),
                                 .sent = true};
    static const struct tool_set tools = {.first = &search, .last = &search, .n = 1, .n_sent = 1};
    static const struct hosted_outcome found = {
        .output = STR_INIT("[0] A page"),
        .shown = STR_INIT("{\"type\":\"open_page\",\"url\":\"https://example.com\"}")};
    struct fixture f;
    struct output_item *item;

    (void)state;
    begin_as(&f, &(const struct response_conf){.tools = &tools});
    response_start(&f.r, &f.out);
    assert_true(response_delta(&f.r,
                               &(const struct delta){.kind = DELTA_CALL,
                                                     .name = STR("web_search"),
                                                     .text = STR("{\\\"query\\\":\\\"a\\\"}")},
                               &f.out));
    response_end_round(&f.r, FINISH_TOOL_CALLS, &f.out);
    item = response_next_call(&f.r, NULL);
    assert_true(response_call_ended(&f.r, item, &found, &f.out));
    buf_reset(&item->text); /* as from the store: its JSON has what is shown */
    buf_append(&item->text, item->shown);
    item->shown = STR_NONE;
    response_finish(&f.r, FINISH_STOP, TEST_NOW, &f.out);
    end(&f);
    fini(&f);
}

/* ---- many events */

/* Behind the fifth, deltas but the last one of a text carry enough. */
static void check_merged(str stream)
{
    json_t *events = event_list(stream), *event;
    size_t i, n_deltas = 0;

    json_array_foreach(events, i, event)
    {
        const char *delta = json_string_value(json_object_get(event, "delta"));
        const char *next =
            json_string_value(json_object_get(json_array_get(events, i + 1), "type"));

        if (i < 5 || delta == NULL)
            continue;
        n_deltas++;
        if (strlen(delta) < RESPONSE_MERGED_BYTES)
            assert_non_null(strstr(next, ".done"));
    }
    assert_in_range(n_deltas, 12, 16);
    json_decref(events);
}

static void say_much(struct fixture *f, const struct delta *d)
{
    for (int i = 0; i < 400; i++)
        assert_true(response_delta(&f->r, d, &f->out));
    replay_check_step(&f->check, &f->r);
}

static void deltas_are_merged_where_there_have_been_many(void **state)
{
    static const struct delta thought = {.kind = DELTA_REASONING, .text = STR_INIT("0123456789")};
    static const struct delta text = {
        .kind = DELTA_TEXT,
        .text = STR_INIT("0123456789"),
        .logprobs = STR_INIT(
            "{\"token\":\"0123456789\",\"logprob\":-1.5,\"bytes\":[],\"top_logprobs\":[]}")};
    static const struct delta arguments = {
        .kind = DELTA_CALL, .name = STR_INIT("f"), .text = STR_INIT("0123456789")};
    struct fixture f;
    const char *what;

    (void)state;
    begin_as(&f, &(const struct response_conf){.max_events = 5});
    response_start(&f.r, &f.out);
    say_much(&f, &thought);
    say_much(&f, &text);
    say_much(&f, &arguments);
    response_end_round(&f.r, FINISH_STOP, &f.out);
    response_finish(&f.r, FINISH_STOP, TEST_NOW, &f.out);
    end(&f);
    what = event_check(buf_str(&f.out));
    if (what != NULL)
        fail_msg("%s", what);
    check_merged(buf_str(&f.out));
    fini(&f);
}

/* ---- what a reader wants */

static size_t n_events(str stream)
{
    size_t n = 0;

    for (size_t at; (at = str_find(stream, STR("event: "))) < stream.len; n++)
        stream = str_skip(stream, at + 1);
    return n;
}

static void events_are_shown_up_to_the_last_that_may_be(void **state)
{
    struct buf out = {.limit = 0};
    struct replay p;
    struct fixture f;

    (void)state;
    begin(&f);
    say(&f, DELTA_TEXT, STR("a"));
    replay_init(&p);
    for (uint64_t limit = 0; limit <= f.r.cuts.n; limit++) {
        assert_int_equal(
            replay_events(&p, &f.r, buf_str(&f.r.cuts.bytes), limit, -1, false, SIZE_MAX, &out), 0);
        assert_int_equal(p.next, limit);
        assert_int_equal(n_events(buf_str(&out)), limit);
    }
    assert_str_eq(buf_str(&out), buf_str(&f.out));
    buf_fini(&out);
    fini(&f);
}

static void a_reader_who_is_ahead_gets_what_follows(void **state)
{
    struct buf out = {.limit = 0};
    struct replay p;
    struct fixture f;
    size_t before;

    (void)state;
    begin(&f);
    replay_init(&p);
    assert_int_equal(
        replay_events(&p, &f.r, buf_str(&f.r.cuts.bytes), UINT64_MAX, 3, false, 1, &out), 0);
    assert_int_equal(out.len, 0);
    say(&f, DELTA_TEXT, STR("a")); /* 2 to 4 */
    before = f.out.len;
    say(&f, DELTA_TEXT, STR("b"));
    assert_int_equal(
        replay_events(&p, &f.r, buf_str(&f.r.cuts.bytes), UINT64_MAX, 4, false, 1, &out), 0);
    assert_str_eq(buf_str(&out), str_skip(buf_str(&f.out), before));
    assert_false(p.has_ended);
    buf_fini(&out);
    fini(&f);
}

static void padding_is_fresh_whatever_was_sent_first(void **state)
{
    struct fixture plain, padded;
    struct buf out = {.limit = 0};
    struct replay p;

    (void)state;
    begin(&plain);
    begin_as(&padded, &(const struct response_conf){.obfuscation = true});
    response_start(&padded.r, &padded.out);
    say(&plain, DELTA_TEXT, STR("abc"));
    say(&padded, DELTA_TEXT, STR("abc"));
    replay_init(&p);
    assert_int_equal(replay_events(&p, &plain.r, buf_str(&plain.r.cuts.bytes), UINT64_MAX, -1, true,
                                   SIZE_MAX, &out),
                     0);
    assert_str_eq(buf_str(&out), buf_str(&padded.out));
    assert_true(out.len > plain.out.len);
    buf_fini(&out);
    fini(&plain);
    fini(&padded);
}

static void keepalives_have_their_places(void **state)
{
    struct fixture f;

    (void)state;
    begin(&f);
    say(&f, DELTA_TEXT, STR("a"));
    response_keepalive(&f.r, &f.out);
    say(&f, DELTA_TEXT, STR("b"));
    response_finish(&f.r, FINISH_STOP, TEST_NOW, &f.out);
    end(&f);
    fini(&f);
}

/* ---- what does not fit */

/* Returns what replay_events() does, and checks that it has written whole events. */
static int replay_of(const struct response *r, str cuts)
{
    struct buf out = {.limit = 0};
    struct replay p;
    int rc;

    replay_init(&p);
    rc = replay_events(&p, r, cuts, UINT64_MAX, -1, false, SIZE_MAX, &out);
    assert_true(out.len == 0 || str_ends_with(buf_str(&out), STR("}\n\n")));
    buf_fini(&out);
    return rc;
}

static int replay_cut(const struct response *r, struct event_cut cut)
{
    struct cuts c = {.n = 0};
    int rc;

    cuts_note(&c, &cut);
    rc = replay_of(r, buf_str(&c.bytes));
    cuts_fini(&c);
    return rc;
}

static void cuts_of_another_response_are_refused(void **state)
{
    static const struct event_cut wrong[] = {
        {.type = EVENT_COMPLETED},
        {.type = EVENT_FAILED},
        {.type = EVENT_ERROR},
        {.type = EVENT_ITEM_ADDED, .item = 1},
        {.type = EVENT_ITEM_DONE},
        {.type = EVENT_PART_ADDED, .part = 1},
        {.type = EVENT_SUMMARY_PART_ADDED},
        {.type = EVENT_TEXT_DELTA, .from = 2, .len = 2},
        {.type = EVENT_TEXT_DELTA, .from = SIZE_MAX / 8, .len = 1},
        {.type = EVENT_TEXT_DELTA, .from = 0, .len = SIZE_MAX / 8},
        {.type = EVENT_TEXT_DELTA, .len = 1, .logprobs_len = 1},
        {.type = EVENT_REFUSAL_DELTA, .len = 1},
        {.type = EVENT_TEXT_ANNOTATION},
        {.type = EVENT_ARGUMENTS_DELTA, .len = 1},
        {.type = EVENT_ARGUMENTS_DONE},
        {.type = EVENT_MCP_CALL_COMPLETED},
        {.type = EVENT_COMPACTING},
    };
    struct fixture f;

    (void)state;
    begin(&f);
    say(&f, DELTA_TEXT, STR("abc"));
    assert_int_equal(replay_of(&f.r, buf_str(&f.r.cuts.bytes)), 0);
    assert_int_equal(replay_cut(&f.r, (struct event_cut){.type = EVENT_TEXT_DELTA, .len = 3}), 0);
    for (size_t i = 0; i < COUNT_OF(wrong); i++)
        assert_int_equal(replay_cut(&f.r, wrong[i]), -1);
    fini(&f);
}

/* Some of them tell of other pieces of the same texts: those are not told from what was sent. */
static void damaged_cuts_do_no_harm(void **state)
{
    struct fixture f;
    char *copy;

    (void)state;
    begin(&f);
    say(&f, DELTA_REASONING, STR("why"));
    say(&f, DELTA_TEXT, STR("abc"));
    say(&f, DELTA_TEXT, STR("def"));
    response_finish(&f.r, FINISH_STOP, TEST_NOW, &f.out);
    response_end(&f.r, &f.out);
    copy = exact_copy(buf_str(&f.r.cuts.bytes));
    for (size_t i = 0; i < f.r.cuts.bytes.len; i++) {
        for (unsigned byte = 0; byte < 256; byte++) {
            copy[i] = (char)byte;
            (void)replay_of(&f.r, str_from(copy, f.r.cuts.bytes.len));
        }
        copy[i] = f.r.cuts.bytes.p[i];
        (void)replay_of(&f.r, str_from(copy, i));
    }
    free(copy);
    fini(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_response_is_queued_before_it_is_in_progress),
        cmocka_unit_test(one_that_was_not_queued_before_is_when_it_starts),
        cmocka_unit_test(the_end_of_a_cancelled_one_tells_of_a_failure),
        cmocka_unit_test(one_that_is_cancelled_in_the_queue_begins_and_ends),
        cmocka_unit_test(one_that_a_crash_interrupted_fails_with_what_it_has),
        cmocka_unit_test(the_first_events_have_the_service_tier_of_then),
        cmocka_unit_test(a_search_is_announced_with_what_it_was_to_look_for),
        cmocka_unit_test(deltas_are_merged_where_there_have_been_many),
        cmocka_unit_test(events_are_shown_up_to_the_last_that_may_be),
        cmocka_unit_test(a_reader_who_is_ahead_gets_what_follows),
        cmocka_unit_test(padding_is_fresh_whatever_was_sent_first),
        cmocka_unit_test(keepalives_have_their_places),
        cmocka_unit_test(cuts_of_another_response_are_refused),
        cmocka_unit_test(damaged_cuts_do_no_harm),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
