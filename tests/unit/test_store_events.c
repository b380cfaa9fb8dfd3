/* test_store_events.c -- the journal of a response under way, and the cuts that it becomes. */
#include "store/store_events.h"
#include "store/store_purge.h"
#include "store_rows.h"

static const struct store_work_limits no_limits = {.most = 0};

/* A response that runs. */
static struct store_work run_one(struct fixture *f, const char *id)
{
    struct store_response r = response_from(f, id, NULL, "<in");
    const struct store_request request = {.body = STR("{}")};
    struct store_work w;
    enum store_wish wish;
    bool is_found;

    assert_ok(store_accept_work(f->s, alice, &r, &request, &no_limits, &f->err));
    assert_ok(store_claim_work(f->s, STR_NONE, &f->arena, &w, &is_found, &f->err));
    assert_true(is_found);
    assert_ok(store_start_work(f->s, w.id, w.lock, STR_NONE, STR_NONE, &wish, &f->err));
    return w;
}

static void append(struct fixture *f, const struct store_work *w, int64_t first, const char *cuts,
                   const char *done, const char *pieces)
{
    const struct store_event_row row = {first, str_from_c(cuts), str_from_c(done),
                                        str_from_c(pieces)};
    enum store_wish wish;

    assert_ok(store_append_events(f->s, w->id, w->lock, &row, &wish, &f->err));
    assert_int_equal(wish, STORE_GO_ON);
}

static void end(struct fixture *f, const struct store_work *w, const char *cuts)
{
    struct store_response r = response_from(f, "", NULL, ">out");
    enum store_wish wish;

    r.id = w->id;
    r.lock = w->lock;
    r.cuts = str_from_c(cuts);
    assert_ok(store_finish_work(f->s, w->owner, &r, &wish, &f->err));
    assert_int_equal(wish, STORE_GO_ON);
}

static void save_with_cuts(struct fixture *f, const char *id, const char *parent, const char *cuts)
{
    struct store_response r = response_from(f, id, parent, "<in >out");

    r.cuts = str_from_c(cuts);
    assert_ok(store_save_response(f->s, alice, &r, &f->err));
}

static struct store_events events_of(struct fixture *f, const char *id, int64_t from)
{
    struct store_events e;

    assert_ok(store_get_events(f->s, alice, str_from_c(id), from, &f->arena, &e, &f->err));
    return e;
}

static void assert_cuts(struct fixture *f, const char *id, const char *cuts)
{
    struct store_events e = events_of(f, id, 0);

    assert_true(store_status_is_terminal(e.status));
    assert_int_equal(e.n_rows, 0);
    assert_int_equal(str_is_none(e.response.cuts), cuts == NULL);
    if (cuts != NULL)
        assert_str_c(e.response.cuts, cuts);
}

/* ---- under way */

static void rows_come_in_the_order_of_their_events(void **state)
{
    struct fixture *f = *state;
    struct store_work w = run_one(f, "r1");
    struct store_events e;

    append(f, &w, 0, "c0", NULL, "p0");
    append(f, &w, 3, "c3", "d3", NULL);
    append(f, &w, 300, "", "", "");
    e = events_of(f, "r1", 0);
    assert_int_equal(e.status, STORE_IN_PROGRESS);
    assert_str_c(e.response.id, "r1");
    assert_str_c(e.response.head, "head of r1");
    assert_int_equal(e.n_rows, 3);
    assert_false(e.has_more);
    assert_str_c(e.rows[0].cuts, "c0");
    assert_true(str_is_none(e.rows[0].done));
    assert_str_c(e.rows[0].pieces, "p0");
    assert_int_equal(e.rows[1].first, 3);
    assert_str_c(e.rows[1].done, "d3");
    e = events_of(f, "r1", 3);
    assert_int_equal(e.n_rows, 2);
    assert_int_equal(e.rows[0].first, 3);
    assert_true(str_is_none(e.response.id));
    e = events_of(f, "r1", 301);
    assert_int_equal(e.n_rows, 0);
    end(f, &w, "c");
}

static void a_row_that_is_there_stays_as_it_is(void **state)
{
    struct fixture *f = *state;
    struct store_work w = run_one(f, "r1");
    struct store_events e;

    append(f, &w, 0, "c0", NULL, NULL);
    append(f, &w, 0, "other", NULL, NULL);
    e = events_of(f, "r1", 0);
    assert_int_equal(e.n_rows, 1);
    assert_str_c(e.rows[0].cuts, "c0");
    end(f, &w, "c");
}

static void a_long_journal_comes_in_parts(void **state)
{
    enum { ROWS = 600 };
    struct fixture *f = *state;
    struct store_work w = run_one(f, "r1");
    struct store_events e;
    int64_t from = 0, n = 0;

    for (int64_t i = 0; i < ROWS; i++)
        append(f, &w, 2 * i, "c", NULL, NULL);
    do {
        e = events_of(f, "r1", from);
        n += (int64_t)e.n_rows;
        from = e.rows[e.n_rows - 1].first + 1;
    } while (e.has_more);
    assert_int_equal(n, ROWS);
    end(f, &w, "c");
    assert_true_to_rows(f);
}

static void another_owner_gets_nothing(void **state)
{
    struct fixture *f = *state;
    struct store_work w = run_one(f, "r1");
    struct store_events e;

    assert_fails(store_get_events(f->s, bob, STR("r1"), 0, &f->arena, &e, &f->err), ERR_NOT_FOUND);
    assert_fails(store_get_events(f->s, alice, STR("r0"), 0, &f->arena, &e, &f->err),
                 ERR_NOT_FOUND);
    assert_ok(store_delete_response(f->s, alice, w.id, &f->err));
    assert_fails(store_get_events(f->s, alice, STR("r1"), 0, &f->arena, &e, &f->err),
                 ERR_NOT_FOUND);
    assert_true_to_rows(f);
}

/* ---- ended */

static void an_end_leaves_the_cuts_alone_and_tells_all_at_once(void **state)
{
    struct fixture *f = *state;
    struct store_work w = run_one(f, "r1");
    struct store_events e;

    append(f, &w, 0, "c0", "d0", "p0");
    end(f, &w, "all cuts");
    assert_cuts(f, "r1", "all cuts");
    e = events_of(f, "r1", 7);
    assert_int_equal(e.status, STORE_COMPLETED);
    assert_str_c(e.response.cuts, "all cuts");
    assert_str_c(e.response.tail, "tail of ");
    assert_str_c(bodies(f, &e.response.items), "{out}");
    assert_int_equal(stats(f).cuts_bytes, strlen("all cuts"));
    assert_true_to_rows(f);
}

static void a_response_of_the_foreground_keeps_its_cuts_or_none(void **state)
{
    struct fixture *f = *state;

    save_with_cuts(f, "r1", NULL, "cuts of r1");
    save_with_cuts(f, "r2", "r1", "cuts of r2");
    save(f, "r3", "r2", "<a >b");
    assert_cuts(f, "r1", "cuts of r1");
    assert_cuts(f, "r2", "cuts of r2");
    assert_cuts(f, "r3", NULL);
    assert_true_to_rows(f);
    assert_ok(store_delete_response(f->s, alice, STR("r1"), &f->err));
    assert_int_equal(stats(f).cuts_bytes, strlen("cuts of r2"));
    assert_true_to_rows(f);
}

/* Long cuts are stored in pieces: around the length of one, and of two. */
static void long_cuts_come_back_as_they_were(void **state)
{
    static const size_t lengths[] = {959, 960, 961, 1920, 1921, 20000};
    static char cuts[20001];
    struct fixture *f = *state;

    for (size_t i = 0; i < COUNT_OF(lengths); i++) {
        for (size_t n = 0; n < lengths[i]; n++)
            cuts[n] = (char)('!' + (n * 7 + n / 90) % 90);
        cuts[lengths[i]] = '\0';
        save_with_cuts(f, text(f, "r%zu", i).p, NULL, cuts);
        assert_cuts(f, text(f, "r%zu", i).p, cuts);
    }
    assert_int_equal(stats(f).cuts_bytes, 959 + 960 + 961 + 1920 + 1921 + 20000);
    assert_true_to_rows(f);
    assert_ok(store_delete_response(f->s, alice, STR("r5"), &f->err));
    assert_int_equal(stats(f).cuts_bytes, 959 + 960 + 961 + 1920 + 1921);
    assert_true_to_rows(f);
}

/* ---- limits */

static struct store_purged purge(struct fixture *f, struct store_limits limits, int64_t now_ms,
                                 size_t most)
{
    struct store_purged purged;

    assert_ok(store_purge(f->s, &limits, now_ms, most, &purged, &f->err));
    assert_int_equal(store_purged_histories(&purged), 0);
    return purged;
}

static void the_oldest_events_go_first_and_their_responses_stay(void **state)
{
    struct fixture *f = *state;
    struct store_work w = run_one(f, "r9");

    append(f, &w, 0, "a journal is not touched", NULL, NULL);
    save_with_cuts(f, "r1", NULL, "0123456789");
    save_with_cuts(f, "r2", "r1", "0123456789");
    save_with_cuts(f, "r3", NULL, "0123456789");
    assert_int_equal(purge(f, (struct store_limits){.max_cuts_bytes = 30}, 0, 9).n_streams, 0);
    assert_int_equal(purge(f, (struct store_limits){.max_cuts_bytes = 29}, 0, 9).n_streams, 1);
    assert_cuts(f, "r1", NULL);
    assert_cuts(f, "r2", "0123456789");
    assert_context(f, "r2", "{in}{out}{in}{out}");
    assert_int_equal(purge(f, (struct store_limits){.max_cuts_bytes = 1}, 0, 9).cuts_bytes, 20);
    assert_int_equal(events_of(f, "r9", 0).n_rows, 1);
    assert_int_equal(stats(f).cuts_bytes, 0);
    assert_true_to_rows(f);
    end(f, &w, "c");
}

static void events_that_are_too_old_go(void **state)
{
    enum { SOON_MS = 1000, LATER_MS = 100 * 1000 };
    struct fixture *f = *state;
    const struct store_limits limits = {.max_cuts_age_s = 60};
    int64_t now_ms;

    save_with_cuts(f, "r1", NULL, "0123456789");
    now_ms = store_now_ms(f->s);
    assert_int_equal(purge(f, limits, now_ms + SOON_MS, 9).n_streams, 0);
    assert_int_equal(purge(f, limits, now_ms + LATER_MS, 9).n_streams, 1);
    assert_cuts(f, "r1", NULL);
    assert_true_to_rows(f);
}

static void a_purge_of_events_goes_in_pieces(void **state)
{
    struct fixture *f = *state;
    const struct store_limits limits = {.max_cuts_bytes = 1};
    struct store_purged purged;

    for (size_t i = 0; i < 20; i++)
        save_with_cuts(f, text(f, "r%zu", i).p, NULL, "0123456789");
    purged = purge(f, limits, 0, 1);
    assert_int_equal(purged.n_streams, 8);
    assert_true(purged.has_more);
    purged = purge(f, limits, 0, 100);
    assert_int_equal(purged.n_streams, 12);
    assert_false(purged.has_more);
    assert_true_to_rows(f);
}

/* To count them is to read all histories, and purges are frequent. */
static void events_are_counted_when_enough_has_come(void **state)
{
    struct fixture *f = *state;
    const struct store_limits limits = {.max_cuts_bytes = 160};
    static struct store_growth growth;

    f->s->growth = &growth;
    for (size_t i = 0; i < 16; i++)
        save_with_cuts(f, text(f, "r%zu", i).p, NULL, "0123456789");
    growth = (struct store_growth){.n_responses = 0}; /* a gateway that has just begun */
    assert_int_equal(purge(f, limits, 0, 9).n_streams, 0);
    save_with_cuts(f, "one", NULL, "0123456789");
    assert_int_equal(purge(f, limits, 0, 9).n_streams, 0);
    save_with_cuts(f, "more", NULL, "0");
    assert_int_equal(purge(f, limits, 0, 9).n_streams, 2);
    f->s->growth = NULL;
}

static int group(const char *name)
{
    const struct CMUnitTest tests[] = {
        ON_ROWS(rows_come_in_the_order_of_their_events),
        ON_ROWS(a_row_that_is_there_stays_as_it_is),
        ON_ROWS(a_long_journal_comes_in_parts),
        ON_ROWS(another_owner_gets_nothing),
        ON_ROWS(an_end_leaves_the_cuts_alone_and_tells_all_at_once),
        ON_ROWS(a_response_of_the_foreground_keeps_its_cuts_or_none),
        ON_ROWS(long_cuts_come_back_as_they_were),
        ON_ROWS(the_oldest_events_go_first_and_their_responses_stay),
        ON_ROWS(events_that_are_too_old_go),
        ON_ROWS(a_purge_of_events_goes_in_pieces),
        ON_ROWS(events_are_counted_when_enough_has_come),
    };

    return cmocka_run_group_tests_name(name, tests, NULL, NULL);
}

int main(void)
{
    return backends_run(group);
}
