/* test_store.c -- responses: saved, shown, continued, deleted; on every database. */
#include "store_fixture.h"

static const str alice = STR_INIT("alice"), bob = STR_INIT("bob");

static void save(struct fixture *f, const char *id, const char *parent, const char *words)
{
    struct store_response r = response_from(f, id, parent, words);

    assert_ok(store_save_response(f->s, alice, &r, &f->err));
}

static void assert_context(struct fixture *f, const char *id, const char *expected)
{
    struct store_history h;

    assert_ok(store_load_history(f->s, alice, str_from_c(id), &f->arena, &h, &f->err));
    assert_str_c(bodies(f, &h.items), expected);
}

static void a_response_comes_back_as_it_was_saved(void **state)
{
    struct fixture *f = *state;
    struct store_response r;

    save(f, "r1", NULL, "<a <b >c >d");
    assert_ok(store_get_response(f->s, alice, STR("r1"), &f->arena, &r, &f->err));
    assert_str_c(r.id, "r1");
    assert_true(str_is_none(r.parent_id));
    assert_true(str_is_none(r.conversation_id));
    assert_int_equal(r.status, STORE_COMPLETED);
    assert_int_equal(r.created_at, 1700000000);
    assert_str_c(r.head, "head of r1");
    assert_str_c(r.tail, "tail of r1");
    assert_str_c(bodies(f, &r.items), "{c}{d}");
    assert_str_c(r.items.v[0].id, "c");
    assert_true(r.items.v[0].is_output);
}

static void a_chain_is_seen_from_its_beginning(void **state)
{
    struct fixture *f = *state;
    struct store_history h;

    save(f, "r1", NULL, "<a >b");
    save(f, "r2", "r1", "<c >d");
    save(f, "r3", "r2", "<e >f");
    assert_context(f, "r3", "{a}{b}{c}{d}{e}{f}");
    assert_ok(store_load_history(f->s, alice, STR("r2"), &f->arena, &h, &f->err));
    assert_str_c(h.tail, "tail of r2");
    assert_false(h.items.v[0].is_output);
    assert_true(h.items.v[1].is_output);
}

static void someone_elses_response_is_an_unknown_one(void **state)
{
    struct fixture *f = *state;
    struct store_response r;

    save(f, "r1", NULL, "<a >b");
    assert_fails(store_get_response(f->s, bob, STR("r1"), &f->arena, &r, &f->err), ERR_NOT_FOUND);
    assert_string_equal(f->err.msg, "Response with id 'r1' not found.");
}

static void a_deleted_leaf_is_gone_with_its_items(void **state)
{
    struct fixture *f = *state;
    struct store_stats stats;

    save(f, "r1", NULL, "<a >b");
    assert_ok(store_delete_response(f->s, alice, STR("r1"), &f->err));
    assert_ok(store_stats(f->s, &stats, &f->err));
    assert_int_equal(stats.n_histories, 0);
    assert_int_equal(stats.n_items, 0);
}

static int group(const char *name)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_response_comes_back_as_it_was_saved, store_setup,
                                        store_teardown),
        cmocka_unit_test_setup_teardown(a_chain_is_seen_from_its_beginning, store_setup,
                                        store_teardown),
        cmocka_unit_test_setup_teardown(someone_elses_response_is_an_unknown_one, store_setup,
                                        store_teardown),
        cmocka_unit_test_setup_teardown(a_deleted_leaf_is_gone_with_its_items, store_setup,
                                        store_teardown),
    };

    return cmocka_run_group_tests_name(name, tests, NULL, NULL);
}

int main(void)
{
    return backends_run(group);
}
