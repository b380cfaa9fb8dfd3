/* test_unfinished.c -- how responses end that nobody goes on making. */
#include "background/unfinished.h"

#include "config/config.h"
#include "lib/fixture.h"
#include "lib/test.h"
#include "response/replay.h"
#include "response/response_read.h"

static const struct config config = {.error_event = true};

#define STOPPED "The gateway stopped while the response was in progress."

/* ---- the store: a journal of many rows */

enum { ROWS_AT_ONCE = 256, PAGES = 200 };

int store_get_events(struct store_session *s, str owner, str id, int64_t from, struct arena *a,
                     struct store_events *ret, struct err *reterr)
{
    (void)s;
    (void)owner;
    (void)id;
    (void)reterr;
    *ret = (struct store_events){.status = STORE_IN_PROGRESS,
                                 .rows = arena_array(a, ROWS_AT_ONCE, sizeof(*ret->rows)),
                                 .n_rows = ROWS_AT_ONCE,
                                 .has_more = from < (PAGES - 1) * ROWS_AT_ONCE};
    for (int i = 0; i < ROWS_AT_ONCE; i++)
        ret->rows[i] = (struct store_event_row){.first = from + i};
    return 0;
}

bool store_status_is_terminal(enum store_status status)
{
    return status <= STORE_CANCELLED;
}

/* An hour of events is a hundred pages and more. */
static void the_rows_of_a_long_response_are_not_kept_over_and_over(void **state)
{
    struct arena a;
    struct store_events all;

    (void)state;
    arena_init(&a, 0);
    assert_int_equal(unfinished_load(NULL, STR(""), STR("resp_1"), &a, &all, NULL), 0);
    assert_int_equal(all.n_rows, PAGES * ROWS_AT_ONCE);
    for (size_t i = 0; i < all.n_rows; i++)
        assert_int_equal(all.rows[i].first, i);
    assert_in_range(a.used, 0, 8 * all.n_rows * sizeof(*all.rows));
    arena_fini(&a);
}

static struct err error_of(enum err_code code, const char *message)
{
    struct err e;

    err_set(&e, code, "%s", message);
    return e;
}

/* All events of what was made, as a client reads them from the store. */
static void replay_end(const struct store_response *end, struct buf *out)
{
    const struct response_conf conf = {.error_event = true, .is_background = true};
    str items[8];
    struct response r;
    struct replay p;
    struct err e;

    assert_in_range(end->items.n, 0, COUNT_OF(items));
    for (size_t i = 0; i < end->items.n; i++)
        items[i] = end->items.v[i].body;
    assert_int_equal(response_read(&conf, end->head, end->tail, items, end->items.n, &r, &e), 0);
    assert_true(cuts_append(&r.cuts, end->cuts));
    replay_init(&p);
    assert_int_equal(
        replay_events(&p, &r, buf_str(&r.cuts.bytes), UINT64_MAX, -1, false, SIZE_MAX, out), 0);
    assert_true(p.has_ended);
    buf_append(out, STR("data: [DONE]\n\n"));
    response_fini(&r);
}

/* ---- lost */

static void fill_ids(void *arg, void *p, size_t n)
{
    (void)arg;
    memset(p, 7, n);
}

/* A response that has said some words, as its gateway and the store have it. */
struct lost {
    struct id_source ids;
    struct response r;
    struct buf sent;
    struct buf head, tail;
    struct journal_row row;
    struct store_event_row stored;
    struct unfinished unfinished;
    struct arena a;
    struct store_response end;
    struct buf events;
};

static void say(struct lost *l, const char *text)
{
    const struct delta d = {.kind = DELTA_TEXT, .text = str_from_c(text)};

    assert_true(response_delta(&l->r, &d, &l->sent));
}

static void store_row(struct lost *l)
{
    struct replay p;

    replay_init(&p);
    assert_int_equal(replay_journal(&p, &l->r, buf_str(&l->r.cuts.bytes), &l->row), 0);
    l->stored = (struct store_event_row){
        .cuts = l->row.cuts, .done = buf_str(&l->row.done), .pieces = buf_str(&l->row.pieces)};
    l->unfinished = (struct unfinished){
        .head = buf_str(&l->head), .tail = buf_str(&l->tail), .rows = &l->stored, .n_rows = 1};
}

static int lost_setup(void **state)
{
    struct lost *l = calloc(1, sizeof(*l));
    struct response_conf conf = {.echo = STR("\"background\":true"),
                                 .created_at = 1700000000,
                                 .service_tier = STR_NONE,
                                 .error_event = true,
                                 .keeps_cuts = true,
                                 .is_background = true};

    l->ids = (struct id_source){fill_ids, NULL};
    conf.ids = &l->ids;
    response_init(&l->r, &conf);
    response_start(&l->r, &l->sent);
    response_object_head(&l->r, &l->head);
    response_object_tail(&l->r, &l->tail);
    say(l, "Half");
    say(l, " of");
    store_row(l);
    arena_init(&l->a, 0);
    *state = l;
    return 0;
}

static int lost_teardown(void **state)
{
    struct lost *l = *state;

    journal_row_fini(&l->row);
    response_fini(&l->r);
    buf_fini(&l->sent);
    buf_fini(&l->head);
    buf_fini(&l->tail);
    buf_fini(&l->events);
    arena_fini(&l->a);
    free(l);
    return 0;
}

static void what_was_lost_ends_as_its_gateway_would_have_ended_it(void **state)
{
    struct lost *l = *state;
    const struct err why = error_of(ERR_INTERNAL, STOPPED);
    struct err e;

    assert_int_equal(unfinished_end(&l->unfinished, &why, &config, &l->a, &l->end, &e), 0);
    assert_int_equal(l->end.status, STORE_FAILED);
    assert_int_equal(l->end.items.n, 1);
    replay_end(&l->end, &l->events);
    response_fail(&l->r, &why, &l->sent);
    response_end(&l->r, &l->sent);
    assert_string_equal(buf_cstr(&l->events), buf_cstr(&l->sent));
}

static void what_was_lost_and_not_wanted_any_more_ends_as_cancelled(void **state)
{
    struct lost *l = *state;
    const struct err why = error_of(ERR_RESPONSE_CANCELLED, "");
    struct err e;

    assert_int_equal(unfinished_end(&l->unfinished, &why, &config, &l->a, &l->end, &e), 0);
    assert_int_equal(l->end.status, STORE_CANCELLED);
    replay_end(&l->end, &l->events);
    response_cancel(&l->r, &l->sent);
    response_end(&l->r, &l->sent);
    assert_string_equal(buf_cstr(&l->events), buf_cstr(&l->sent));
}

static void rows_that_are_damaged_cost_the_events_and_not_the_end(void **state)
{
    struct lost *l = *state;
    const struct err why = error_of(ERR_INTERNAL, STOPPED);
    struct err e;

    l->stored.pieces = STR("{\"id\":");
    assert_int_equal(unfinished_end(&l->unfinished, &why, &config, &l->a, &l->end, &e), 0);
    assert_int_equal(l->end.status, STORE_FAILED);
    assert_int_equal(l->end.items.n, 0);
    assert_true(str_is_none(l->end.cuts));
    assert_non_null(memmem(l->end.head.p, l->end.head.len, STOPPED, strlen(STOPPED)));
}

static void an_object_that_nobody_can_read_is_an_error(void **state)
{
    struct lost *l = *state;
    const struct err why = error_of(ERR_INTERNAL, STOPPED);
    struct err e;

    const str heads[] = {STR("{\"id\":"), STR("{\"status\":\"queued\",\"error\":["),
                         STR("{\"status\":\"queued\",\"error\":{\"output\":[")};

    for (size_t i = 0; i < COUNT_OF(heads); i++) {
        l->unfinished.head = heads[i];
        assert_int_equal(unfinished_end(&l->unfinished, &why, &config, &l->a, &l->end, &e), -1);
        assert_int_equal(e.code, ERR_STORE);
    }
}

/* ---- queued */

/* The lines that name the events of a stream. */
static void name_events(str stream, struct buf *out)
{
    while (stream.len > 0) {
        const str line = str_cut(&stream, '\n');

        if (!str_starts_with(line, STR("event: ")))
            continue;
        buf_append(out, line);
        buf_char(out, '\n');
    }
}

static void one_that_is_cancelled_in_the_queue_has_the_events_of_the_fixture(void **state)
{
    struct buf fixture = fixture_read("streams/background_cancelled_in_queue.sse");
    struct buf wanted = {.limit = 0}, names = {.limit = 0};
    const struct err why = error_of(ERR_RESPONSE_CANCELLED, "");
    struct lost *l = *state;
    struct err e;

    l->r.status = RESPONSE_QUEUED;
    buf_reset(&l->head);
    response_object_head(&l->r, &l->head);
    l->unfinished.head = buf_str(&l->head);
    l->unfinished.n_rows = 0;
    assert_int_equal(unfinished_end(&l->unfinished, &why, &config, &l->a, &l->end, &e), 0);
    assert_int_equal(l->end.status, STORE_CANCELLED);
    assert_int_equal(l->end.items.n, 0);
    replay_end(&l->end, &l->events);
    name_events(buf_str(&l->events), &names);
    name_events(buf_str(&fixture), &wanted);
    assert_string_equal(buf_cstr(&names), buf_cstr(&wanted));
    buf_fini(&names);
    buf_fini(&wanted);
    buf_fini(&fixture);
}

/* ---- what cannot be restored */

static void an_object_of_another_version_ends_all_the_same(void **state)
{
    struct lost *l = *state;
    const struct err stopped = error_of(ERR_INTERNAL, STOPPED);
    const struct err cancelled = error_of(ERR_RESPONSE_CANCELLED, "");
    struct err e;

    l->unfinished.head = STR(
        "{\"new\":{},\"id\":\"resp_1\",\"status\":\"in_progress\",\"x\":1,\"error\":null,\"output\":[");
    l->unfinished.tail = STR("],\"background\":true}");
    assert_int_equal(unfinished_end(&l->unfinished, &stopped, &config, &l->a, &l->end, &e), 0);
    assert_int_equal(l->end.status, STORE_FAILED);
    assert_true(str_is_none(l->end.cuts));
    assert_true(str_eq(
        l->end.head,
        STR("{\"new\":{},\"id\":\"resp_1\",\"status\":\"failed\",\"x\":1,\"error\":{\"code\":"
            "\"server_error\",\"message\":\"" STOPPED
            "\",\"type\":\"server_error\",\"param\":null},\"output\":[")));
    assert_true(str_eq(l->end.tail, l->unfinished.tail));
    assert_int_equal(unfinished_end(&l->unfinished, &cancelled, &config, &l->a, &l->end, &e), 0);
    assert_int_equal(l->end.status, STORE_CANCELLED);
    assert_true(
        str_eq(l->end.head, STR("{\"new\":{},\"id\":\"resp_1\",\"status\":\"cancelled\",\"x\":1,"
                                "\"error\":null,\"output\":[")));
}

#define LOST_TEST(f) cmocka_unit_test_setup_teardown(f, lost_setup, lost_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_rows_of_a_long_response_are_not_kept_over_and_over),
        LOST_TEST(one_that_is_cancelled_in_the_queue_has_the_events_of_the_fixture),
        LOST_TEST(an_object_of_another_version_ends_all_the_same),
        LOST_TEST(what_was_lost_ends_as_its_gateway_would_have_ended_it),
        LOST_TEST(what_was_lost_and_not_wanted_any_more_ends_as_cancelled),
        LOST_TEST(rows_that_are_damaged_cost_the_events_and_not_the_end),
        LOST_TEST(an_object_that_nobody_can_read_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
