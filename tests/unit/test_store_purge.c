/* test_store_purge.c -- limits: what goes, in which order, and what stays.
 *
 * Histories used in the same millisecond go in the order in which they were made. */
#include "store_fixture.h"

enum { LONG_AFTER_S = 2000000000, FAR_AFTER_S = 2100000000 };

static size_t purge(struct fixture *f, struct store_limits limits, int64_t now_s, size_t most)
{
    struct store_purged purged;

    assert_ok(store_purge(f->s, &limits, now_s * 1000, most, &purged, &f->err));
    return store_purged_histories(&purged);
}

/* As many histories of one response as there are words, in this order. */
static void save_each(struct fixture *f, str owner, const char *const *ids, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct store_response r = response_from(f, ids[i], NULL, "<a >b");

        assert_ok(store_save_response(f->s, owner, &r, &f->err));
    }
}

static const char *const three[] = {"r1", "r2", "r3"};

static void nothing_goes_without_limits(void **state)
{
    struct fixture *f = *state;

    save(f, "r1", NULL, "<a");
    assert_int_equal(purge(f, (struct store_limits){0}, FAR_AFTER_S, 10), 0);
    assert_int_equal(stats(f).n_responses, 1);
}

static void what_was_not_used_for_too_long_goes(void **state)
{
    struct fixture *f = *state;
    const struct store_limits limits = {.max_age_s = 60};
    int64_t used_s;

    save(f, "r1", NULL, "<a");
    create(f, "c1", "<b");
    used_s = stats(f).oldest_use;
    assert_int_equal(purge(f, limits, used_s + 60, 10), 0);
    assert_int_equal(purge(f, limits, FAR_AFTER_S, 10), 2);
    assert_int_equal(stats(f).n_histories, 0);
    assert_int_equal(stats(f).n_items, 0);
}

static void the_oldest_go_until_the_count_fits(void **state)
{
    struct fixture *f = *state;

    save_each(f, alice, three, 3);
    assert_int_equal(purge(f, (struct store_limits){.max_responses = 3}, LONG_AFTER_S, 10), 0);
    assert_int_equal(purge(f, (struct store_limits){.max_responses = 2}, LONG_AFTER_S, 10), 1);
    assert_no_response(f, "r1");
    assert_context(f, "r2", "{a}{b}");
    assert_context(f, "r3", "{a}{b}");
}

static void the_oldest_go_until_the_bytes_fit(void **state)
{
    struct fixture *f = *state;
    uint64_t each;

    save_each(f, alice, three, 3);
    each = stats(f).bytes / 3;
    assert_int_equal(purge(f, (struct store_limits){.max_bytes = 3 * each}, LONG_AFTER_S, 10), 0);
    assert_int_equal(purge(f, (struct store_limits){.max_bytes = 3 * each - 1}, LONG_AFTER_S, 10),
                     1);
    assert_no_response(f, "r1");
    assert_int_equal(stats(f).bytes, 2 * each);
}

static void a_chain_goes_as_a_whole(void **state)
{
    struct fixture *f = *state;

    save(f, "r1", NULL, "<a");
    save(f, "r2", "r1", "<b");
    save(f, "r3", "r2", "<c");
    save(f, "other", NULL, "<d");
    assert_int_equal(purge(f, (struct store_limits){.max_responses = 3}, LONG_AFTER_S, 10), 1);
    assert_no_response(f, "r1");
    assert_no_response(f, "r3");
    assert_context(f, "other", "{d}");
}

/* Uses are told apart by it. */
static void wait_for_the_next_millisecond(struct fixture *f)
{
    int64_t now_ms = store_now_ms(f->s);

    while (store_now_ms(f->s) == now_ms)
        continue;
}

static void what_was_continued_is_not_the_oldest(void **state)
{
    struct fixture *f = *state;

    save_each(f, alice, three, 3);
    wait_for_the_next_millisecond(f);
    save(f, "r1b", "r1", "<c");
    assert_int_equal(purge(f, (struct store_limits){.max_responses = 3}, LONG_AFTER_S, 10), 1);
    assert_no_response(f, "r2");
    assert_context(f, "r1b", "{a}{b}{c}");
}

static void an_owners_limit_touches_no_other(void **state)
{
    static const char *const others[] = {"b1", "b2"};
    struct fixture *f = *state;
    struct store_response r;

    save_each(f, bob, others, 2);
    save_each(f, alice, three, 3);
    assert_int_equal(purge(f, (struct store_limits){.max_owner_responses = 2}, LONG_AFTER_S, 10),
                     1);
    assert_no_response(f, "r1");
    assert_ok(store_get_response(f->s, bob, STR("b1"), &f->arena, &r, &f->err));
    assert_ok(store_get_response(f->s, alice, STR("r2"), &f->arena, &r, &f->err));
}

static void an_owners_bytes_are_bounded_as_well(void **state)
{
    struct fixture *f = *state;
    uint64_t each;

    save_each(f, alice, three, 3);
    each = stats(f).bytes / 3;
    assert_int_equal(purge(f, (struct store_limits){.max_owner_bytes = each}, LONG_AFTER_S, 10), 2);
    assert_context(f, "r3", "{a}{b}");
}

static void a_conversation_without_responses_is_no_response(void **state)
{
    struct fixture *f = *state;

    create(f, "c1", "<a");
    save_each(f, alice, three, 2);
    assert_int_equal(purge(f, (struct store_limits){.max_responses = 1}, LONG_AFTER_S, 10), 1);
    assert_conversation(f, "c1", "{a}");
}

static void a_conversation_being_answered_in_stays(void **state)
{
    struct fixture *f = *state;
    struct store_history h;

    create(f, "c1", "<a");
    assert_ok(store_lock_conversation(f->s, alice, STR("c1"), STR("l"), &f->arena, &h, &f->err));
    assert_int_equal(purge(f, (struct store_limits){.max_age_s = 1}, FAR_AFTER_S, 10), 0);
    assert_int_equal(purge(f, (struct store_limits){.max_bytes = 1}, FAR_AFTER_S, 10), 0);
    assert_ok(store_unlock_conversation(f->s, STR("l"), &f->err));
    assert_int_equal(purge(f, (struct store_limits){.max_age_s = 1}, FAR_AFTER_S, 10), 1);
}

static void a_purge_stops_where_it_is_told_and_goes_on(void **state)
{
    enum { MANY = 200, PIECE = 70 };
    struct fixture *f = *state;
    const struct store_limits limits = {.max_age_s = 1};

    for (int i = 0; i < MANY; i++)
        save(f, text(f, "r%d", i).p, NULL, "<a");
    assert_int_equal(purge(f, limits, FAR_AFTER_S, PIECE), PIECE);
    assert_int_equal(stats(f).n_histories, MANY - PIECE);
    assert_no_response(f, "r69");
    assert_context(f, "r70", "{a}");
    assert_int_equal(purge(f, limits, FAR_AFTER_S, PIECE), PIECE);
    assert_int_equal(purge(f, limits, FAR_AFTER_S, PIECE), MANY - 2 * PIECE);
    assert_int_equal(purge(f, limits, FAR_AFTER_S, PIECE), 0);
}

static void what_others_refer_to_is_given_to_them(void **state)
{
    struct fixture *f = *state;
    uint64_t bytes;

    save(f, "r1", NULL, "<a >b");
    save(f, "r2", NULL, "@b <c");
    bytes = stats(f).bytes;
    assert_int_equal(purge(f, (struct store_limits){.max_responses = 1}, LONG_AFTER_S, 10), 1);
    assert_context(f, "r2", "{b}{c}");
    assert_true(stats(f).bytes < bytes);
    assert_int_equal(purge(f, (struct store_limits){.max_bytes = 1}, LONG_AFTER_S, 10), 1);
    assert_int_equal(stats(f).bytes, 0);
}

/* ---- what can be seen of a store as a whole */

static void figures_count_what_is_there(void **state)
{
    struct fixture *f = *state;
    struct store_response r = response_from(f, "b1", NULL, "<x");
    struct store_stats st;

    save(f, "r1", NULL, "<a >b");
    save(f, "r2", "r1", "<c");
    create(f, "c1", "<d");
    assert_ok(store_save_response(f->s, bob, &r, &f->err));
    st = stats(f);
    assert_int_equal(st.n_histories, 3);
    assert_int_equal(st.n_conversations, 1);
    assert_int_equal(st.n_responses, 3);
    assert_int_equal(st.n_items, 5);
    assert_int_equal(st.n_owners, 2);
    assert_int_equal(st.schema_version, 4);
    assert_true(st.oldest_use > 1700000000);
    assert_true(st.bytes > 0);
    assert_int_equal(st.file_bytes > 0, strcmp(backend_url, "memory") != 0);
}

static void an_empty_store_has_no_oldest_use(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(stats(f).oldest_use, 0);
    assert_int_equal(stats(f).n_owners, 0);
}

static int write_response(void *arg, str owner, const struct store_response *r)
{
    struct buf *out = arg;

    buf_append(out, owner);
    buf_char(out, ' ');
    buf_append(out, r->id);
    for (size_t i = 0; i < r->items.n; i++)
        buf_append(out, r->items.v[i].body);
    buf_char(out, '\n');
    return 0;
}

static int write_conversation(void *arg, str owner, const struct store_conversation *c,
                              const struct store_items *items)
{
    const struct store_response like = {.id = c->id, .items = *items};

    return write_response(arg, owner, &like);
}

static int stop_at_once(void *arg, str owner, const struct store_response *r)
{
    int *n = arg;

    (void)owner;
    (void)r;
    ++*n;
    return -1;
}

static void an_export_has_all_that_can_be_found(void **state)
{
    struct fixture *f = *state;
    struct store_response other = response_from(f, "b1", NULL, "<x");
    struct buf out = {0};
    const struct store_exporter to = {write_response, write_conversation, &out};

    create(f, "c1", "<d");
    save(f, "r1", NULL, "<a >b");
    save(f, "gone", "r1", "<c");
    save(f, "r2", "gone", "@b -thought >d");
    assert_ok(store_delete_response(f->s, alice, STR("gone"), &f->err));
    save_in(f, "r3", "c1", "<e");
    assert_ok(store_save_response(f->s, bob, &other, &f->err));
    assert_ok(store_export(f->s, &to, &f->err));
    assert_str_c(buf_str(&out), "alice r1{a}{b}\nalice r2{b}{d}\nalice r3{e}\nbob b1{x}\n"
                                "alice c1{d}{e}\n");
    buf_fini(&out);
}

static void an_export_can_be_stopped(void **state)
{
    struct fixture *f = *state;
    int n = 0;
    const struct store_exporter to = {stop_at_once, write_conversation, &n};

    save_each(f, alice, three, 3);
    assert_fails(store_export(f->s, &to, &f->err), ERR_INTERNAL);
    assert_int_equal(n, 1);
}

static void a_vacuum_loses_nothing(void **state)
{
    struct fixture *f = *state;

    save(f, "r1", NULL, "<a >b");
    assert_ok(store_vacuum(f->s, &f->err));
    assert_context(f, "r1", "{a}{b}");
}

static int group(const char *name)
{
    const struct CMUnitTest tests[] = {
        ON_STORE(nothing_goes_without_limits),
        ON_STORE(what_was_not_used_for_too_long_goes),
        ON_STORE(the_oldest_go_until_the_count_fits),
        ON_STORE(the_oldest_go_until_the_bytes_fit),
        ON_STORE(a_chain_goes_as_a_whole),
        ON_STORE(what_was_continued_is_not_the_oldest),
        ON_STORE(an_owners_limit_touches_no_other),
        ON_STORE(an_owners_bytes_are_bounded_as_well),
        ON_STORE(a_conversation_without_responses_is_no_response),
        ON_STORE(a_conversation_being_answered_in_stays),
        ON_STORE(a_purge_stops_where_it_is_told_and_goes_on),
        ON_STORE(what_others_refer_to_is_given_to_them),
        ON_STORE(figures_count_what_is_there),
        ON_STORE(an_empty_store_has_no_oldest_use),
        ON_STORE(an_export_has_all_that_can_be_found),
        ON_STORE(an_export_can_be_stopped),
        ON_STORE(a_vacuum_loses_nothing),
    };

    return cmocka_run_group_tests_name(name, tests, NULL, NULL);
}

int main(void)
{
    return backends_run(group);
}
