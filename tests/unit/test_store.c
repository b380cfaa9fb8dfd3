/* test_store.c -- responses: saved, shown, continued, deleted; on every database. */
#include "store_fixture.h"

static void drop(struct fixture *f, const char *id)
{
    assert_ok(store_delete_response(f->s, alice, str_from_c(id), &f->err));
}

/* ---- saved and shown */

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

static void bodies_may_hold_any_byte_and_be_empty(void **state)
{
    struct fixture *f = *state;
    struct store_response r = response_from(f, "r1", NULL, ">a >b");
    struct store_response back;

    r.head = str_from("\0\xff\xfe", 3);
    r.tail = STR("");
    r.items.v[0].body = str_from("\x80\0x", 3);
    r.items.v[1].body = STR("");
    assert_ok(store_save_response(f->s, alice, &r, &f->err));
    assert_ok(store_get_response(f->s, alice, STR("r1"), &f->arena, &back, &f->err));
    assert_str_eq(back.head, r.head);
    assert_str_eq(back.tail, r.tail);
    assert_str_eq(back.items.v[0].body, r.items.v[0].body);
    assert_int_equal(back.items.n, 2);
    assert_int_equal(back.items.v[1].body.len, 0);
}

static void a_response_tells_its_parent(void **state)
{
    struct fixture *f = *state;
    struct store_response r;

    save(f, "r1", NULL, "<a");
    save(f, "r2", "r1", "<b");
    assert_ok(store_get_response(f->s, alice, STR("r2"), &f->arena, &r, &f->err));
    assert_str_c(r.parent_id, "r1");
}

static void an_id_is_taken_once(void **state)
{
    struct fixture *f = *state;
    struct store_response again = response_from(f, "r1", NULL, "<b");

    save(f, "r1", NULL, "<a");
    assert_fails(store_save_response(f->s, alice, &again, &f->err), ERR_STORE);
    assert_context(f, "r1", "{a}");
    assert_int_equal(stats(f).n_items, 1); /* the whole of it was undone */
    assert_int_equal(stats(f).n_histories, 1);
}

static void an_impossible_id_is_an_unknown_one(void **state)
{
    static const str ids[] = {{"a\0b", 3}, STR_INIT("\xff"), STR_INIT("")};
    struct fixture *f = *state;
    struct store_history h;
    struct store_item item;
    struct store_response r;

    for (size_t i = 0; i < COUNT_OF(ids); i++) {
        assert_fails(store_get_response(f->s, alice, ids[i], &f->arena, &r, &f->err),
                     ERR_NOT_FOUND);
        assert_fails(store_load_history(f->s, alice, ids[i], &f->arena, &h, &f->err),
                     ERR_PREVIOUS_NOT_FOUND);
        assert_fails(store_find_item(f->s, alice, ids[i], &f->arena, &item, &f->err),
                     ERR_NOT_FOUND);
        assert_fails(store_delete_response(f->s, alice, ids[i], &f->err), ERR_NOT_FOUND);
    }
}

static void an_item_id_that_no_database_can_hold_is_refused(void **state)
{
    struct fixture *f = *state;
    struct store_response r = response_from(f, "r1", NULL, "<a");

    r.items.v[0].id = str_from("a\0b", 3);
    assert_fails(store_save_response(f->s, alice, &r, &f->err), ERR_INVALID_VALUE);
    assert_no_response(f, "r1");
}

/* ---- continued */

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

static void branches_of_one_parent_do_not_see_each_other(void **state)
{
    struct fixture *f = *state;

    save(f, "r1", NULL, "<a >b");
    save(f, "left", "r1", "<c >d");
    save(f, "right", "r1", "<e >f");
    save(f, "left2", "left", "<g");
    assert_context(f, "left2", "{a}{b}{c}{d}{g}");
    assert_context(f, "right", "{a}{b}{e}{f}");
    assert_context(f, "r1", "{a}{b}");
}

static void a_failed_response_is_shown_and_not_continued(void **state)
{
    static const enum store_status bad[] = {STORE_FAILED, STORE_CANCELLED};
    struct fixture *f = *state;

    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        struct store_response r = response_from(f, i == 0 ? "r1" : "r2", NULL, "<a >b");
        struct store_response child = response_from(f, "child", i == 0 ? "r1" : "r2", "<c");
        struct store_response back;

        r.status = bad[i];
        assert_ok(store_save_response(f->s, alice, &r, &f->err));
        assert_ok(store_get_response(f->s, alice, r.id, &f->arena, &back, &f->err));
        assert_int_equal(back.status, bad[i]);
        assert_no_context(f, r.id.p);
        assert_fails(store_save_response(f->s, alice, &child, &f->err), ERR_PREVIOUS_NOT_FOUND);
    }
}

static void an_incomplete_response_can_be_continued(void **state)
{
    struct fixture *f = *state;
    struct store_response r = response_from(f, "r1", NULL, "<a >b");

    r.status = STORE_INCOMPLETE;
    assert_ok(store_save_response(f->s, alice, &r, &f->err));
    save(f, "r2", "r1", "<c");
    assert_context(f, "r2", "{a}{b}{c}");
}

static void what_was_stored_stays_as_it_was(void **state)
{
    struct fixture *f = *state;
    str before, after;
    struct store_history h;

    save(f, "r1", NULL, "<a >b");
    assert_ok(store_load_history(f->s, alice, STR("r1"), &f->arena, &h, &f->err));
    before = bodies(f, &h.items);
    for (int i = 0; i < 20; i++)
        save(f, text(f, "child%d", i).p, "r1", "<x >y");
    assert_ok(store_load_history(f->s, alice, STR("r1"), &f->arena, &h, &f->err));
    after = bodies(f, &h.items);
    assert_str_eq(after, before);
}

/* ---- deleted */

static void a_deleted_leaf_is_gone_with_its_items(void **state)
{
    struct fixture *f = *state;
    struct store_item item;

    save(f, "r1", NULL, "<a >b");
    save(f, "r2", "r1", "<c >d");
    drop(f, "r2");
    assert_no_response(f, "r2");
    assert_no_context(f, "r2");
    assert_fails(store_find_item(f->s, alice, STR("d"), &f->arena, &item, &f->err), ERR_NOT_FOUND);
    assert_fails(store_delete_response(f->s, alice, STR("r2"), &f->err), ERR_NOT_FOUND);
    assert_int_equal(stats(f).n_items, 2);
    assert_context(f, "r1", "{a}{b}");
}

static void what_continues_a_deleted_response_keeps_its_items(void **state)
{
    struct fixture *f = *state;
    struct store_item item;

    save(f, "r1", NULL, "<a >b");
    save(f, "r2", "r1", "<c >d");
    save(f, "r3", "r2", "<e >f");
    drop(f, "r1");
    drop(f, "r2");
    assert_no_response(f, "r1");
    assert_no_context(f, "r2");
    assert_fails(store_find_item(f->s, alice, STR("b"), &f->arena, &item, &f->err), ERR_NOT_FOUND);
    assert_context(f, "r3", "{a}{b}{c}{d}{e}{f}");
    save(f, "r4", "r3", "<g");
    assert_context(f, "r4", "{a}{b}{c}{d}{e}{f}{g}");
}

static void deleted_parents_go_with_their_last_child(void **state)
{
    struct fixture *f = *state;

    save(f, "root", NULL, "<a");
    save(f, "r1", "root", "<b");
    save(f, "r2", "r1", "<c");
    save(f, "r3", "r2", "<d");
    save(f, "other", "r2", "<e");
    drop(f, "r1");
    drop(f, "r2");
    drop(f, "r3");
    assert_int_equal(stats(f).n_items, 4);
    drop(f, "other");
    assert_int_equal(stats(f).n_items, 1);
    assert_context(f, "root", "{a}");
}

static void nothing_is_left_when_all_is_deleted(void **state)
{
    struct fixture *f = *state;

    save(f, "r1", NULL, "<a >b");
    save(f, "r2", "r1", "<c >d");
    save(f, "r3", "r1", "<e >f");
    drop(f, "r1");
    drop(f, "r3");
    drop(f, "r2");
    assert_int_equal(stats(f).n_histories, 0);
    assert_int_equal(stats(f).n_items, 0);
    assert_int_equal(stats(f).bytes, 0);
}

static void bytes_go_down_by_what_was_deleted(void **state)
{
    struct fixture *f = *state;
    uint64_t before;

    save(f, "r1", NULL, "<a >b");
    before = stats(f).bytes;
    save(f, "r2", "r1", "<c >d");
    assert_true(stats(f).bytes > before);
    drop(f, "r2");
    assert_int_equal(stats(f).bytes, before);
    assert_int_equal(stats(f).n_responses, 1);
}

/* ---- items */

static void an_item_is_found_by_its_id_and_the_newest_wins(void **state)
{
    struct fixture *f = *state;
    struct store_response r = response_from(f, "r2", NULL, ">a");
    struct store_item item;

    save(f, "r1", NULL, "<a");
    r.items.v[0].body = STR("newer");
    assert_ok(store_save_response(f->s, alice, &r, &f->err));
    assert_ok(store_find_item(f->s, alice, STR("a"), &f->arena, &item, &f->err));
    assert_str_c(item.id, "a");
    assert_str_c(item.body, "newer");
    assert_true(item.is_output);
    drop(f, "r2");
    assert_ok(store_find_item(f->s, alice, STR("a"), &f->arena, &item, &f->err));
    assert_str_c(item.body, "{a}");
    assert_false(item.is_output);
}

static void a_reference_shows_what_it_refers_to(void **state)
{
    struct fixture *f = *state;
    const struct store_page all = {.limit = 10, .ascending = true};
    struct store_list list;

    save(f, "r1", NULL, "<a >b");
    save(f, "r2", NULL, "@b <c >d");
    assert_context(f, "r2", "{b}{c}{d}");
    assert_ok(store_list_input_items(f->s, alice, STR("r2"), &all, &f->arena, &list, &f->err));
    assert_str_c(bodies(f, &list.items), "{b}{c}");
    assert_true(list.items.v[0].is_output); /* a model has said it */
    assert_str_c(list.items.v[0].id, "b");
}

static void a_reference_to_a_reference_shows_the_item(void **state)
{
    struct fixture *f = *state;

    save(f, "r1", NULL, ">b");
    save(f, "r2", NULL, "@b");
    drop(f, "r1"); /* the newest b is the reference now */
    save(f, "r3", NULL, "@b");
    assert_context(f, "r3", "{b}");
    drop(f, "r2");
    assert_context(f, "r3", "{b}");
}

static void a_reference_to_nothing_is_refused_as_a_whole(void **state)
{
    struct fixture *f = *state;
    struct store_response r = response_from(f, "r1", NULL, "<a @nothing");

    assert_fails(store_save_response(f->s, alice, &r, &f->err), ERR_NOT_FOUND);
    assert_string_equal(f->err.msg, "Item with id 'nothing' not found.");
    assert_int_equal(stats(f).n_histories, 0);
}

static void an_item_that_is_referred_to_outlives_its_response(void **state)
{
    struct fixture *f = *state;

    save(f, "r1", NULL, "<a >b");
    save(f, "r2", NULL, "@b");
    drop(f, "r1"); /* the last of its history */
    assert_context(f, "r2", "{b}");
    assert_int_equal(stats(f).n_histories, 1);
    assert_int_equal(stats(f).n_items, 1);
    drop(f, "r2");
    assert_int_equal(stats(f).bytes, 0);
}

static void a_leaf_with_an_item_that_is_referred_to_keeps_it(void **state)
{
    struct fixture *f = *state;

    save(f, "root", NULL, "<a");
    save(f, "leaf", "root", ">b");
    save(f, "other", "root", "@b >c");
    drop(f, "leaf");
    assert_no_response(f, "leaf");
    assert_context(f, "other", "{a}{b}{c}");
}

static void hidden_items_are_for_the_model_alone(void **state)
{
    struct fixture *f = *state;
    struct store_response r;
    struct store_item item;
    struct store_history h;

    save(f, "r1", NULL, "<a -thought >b");
    assert_ok(store_get_response(f->s, alice, STR("r1"), &f->arena, &r, &f->err));
    assert_str_c(bodies(f, &r.items), "{b}");
    assert_fails(store_find_item(f->s, alice, STR("thought"), &f->arena, &item, &f->err),
                 ERR_NOT_FOUND);
    assert_ok(store_load_history(f->s, alice, STR("r1"), &f->arena, &h, &f->err));
    assert_str_c(bodies(f, &h.items), "{a}{thought}{b}");
    assert_true(h.items.v[1].is_hidden);
    assert_false(h.items.v[2].is_hidden);
}

static void a_hidden_item_is_found_by_its_owner_as_such(void **state)
{
    struct fixture *f = *state;
    struct store_item item;

    save(f, "r1", NULL, "<a >b -b2");
    assert_ok(store_find_hidden(f->s, alice, STR("b2"), &f->arena, &item, &f->err));
    assert_str_c(item.body, "{b2}");
    assert_true(item.is_hidden && item.is_output);
    assert_fails(store_find_hidden(f->s, alice, STR("b"), &f->arena, &item, &f->err),
                 ERR_NOT_FOUND);
    assert_fails(store_find_hidden(f->s, bob, STR("b2"), &f->arena, &item, &f->err), ERR_NOT_FOUND);
    assert_ok(store_delete_response(f->s, alice, STR("r1"), &f->err));
    assert_fails(store_find_hidden(f->s, alice, STR("b2"), &f->arena, &item, &f->err),
                 ERR_NOT_FOUND);
}

static void a_hidden_item_that_a_request_refers_to_stays_hidden(void **state)
{
    struct fixture *f = *state;
    const struct store_page all = {.limit = 10, .ascending = true};
    struct store_response visible = response_from(f, "r3", NULL, "@b2");
    struct store_list list;
    struct store_history h;

    save(f, "r1", NULL, "<a >b -b2");
    assert_fails(store_save_response(f->s, alice, &visible, &f->err), ERR_NOT_FOUND);
    save(f, "r2", NULL, "@b *b2 <c >d");
    assert_ok(store_list_input_items(f->s, alice, STR("r2"), &all, &f->arena, &list, &f->err));
    assert_str_c(bodies(f, &list.items), "{b}{c}");
    assert_fails(store_list_input_items(f->s, alice, STR("r2"),
                                        &(struct store_page){.limit = 1, .after = STR("b2")},
                                        &f->arena, &list, &f->err),
                 ERR_NOT_FOUND);
    assert_ok(store_delete_response(f->s, alice, STR("r1"), &f->err));
    assert_ok(store_load_history(f->s, alice, STR("r2"), &f->arena, &h, &f->err));
    assert_str_c(bodies(f, &h.items), "{b}{b2}{c}{d}");
    assert_true(h.items.v[1].is_hidden);
}

/* ---- lists */

static void input_items_are_those_of_the_request_alone(void **state)
{
    struct fixture *f = *state;
    const struct store_page all = {.limit = 10, .ascending = false};
    struct store_list list;

    save(f, "r1", NULL, "<a >b");
    save(f, "r2", "r1", "<c <d >e");
    assert_ok(store_list_input_items(f->s, alice, STR("r2"), &all, &f->arena, &list, &f->err));
    assert_str_c(bodies(f, &list.items), "{d}{c}");
    assert_false(list.has_more);
}

static void an_unknown_place_in_a_list_is_not_found(void **state)
{
    struct fixture *f = *state;
    static const char *const places[] = {"b", "z", ""};
    struct store_list list;

    save(f, "r1", NULL, "<a >b");
    for (size_t i = 0; i < COUNT_OF(places); i++) {
        const struct store_page page = {.limit = 10, .after = str_from_c(places[i])};

        assert_fails(
            store_list_input_items(f->s, alice, STR("r1"), &page, &f->arena, &list, &f->err),
            ERR_NOT_FOUND);
    }
}

static void an_id_that_occurs_twice_does_not_make_a_list_endless(void **state)
{
    struct fixture *f = *state;

    save(f, "r1", NULL, "<a <b <a <c <b");
    for (int ascending = 0; ascending < 2; ascending++) {
        struct store_page page = {.limit = 1, .ascending = ascending != 0};
        struct store_list list = {.has_more = true};
        int n_pages;

        for (n_pages = 0; list.has_more; n_pages++) {
            assert_true(n_pages < 5);
            assert_ok(
                store_list_input_items(f->s, alice, STR("r1"), &page, &f->arena, &list, &f->err));
            if (list.items.n > 0)
                page.after = list.items.v[0].id;
        }
    }
}

/* Follows the pages of a list of n items i0, i1 ... and compares each. */
static void follow_pages(struct fixture *f, size_t n, size_t limit, bool ascending)
{
    struct store_page page = {.limit = limit, .ascending = ascending};
    struct store_list list;
    size_t seen = 0;

    do {
        assert_ok(store_list_input_items(f->s, alice, STR("r1"), &page, &f->arena, &list, &f->err));
        assert_true(list.items.n <= limit);
        assert_true(list.items.n == limit || !list.has_more);
        for (size_t i = 0; i < list.items.n; i++, seen++) {
            size_t expected = ascending ? seen : n - 1 - seen;

            assert_str_c(list.items.v[i].id, text(f, "i%zu", expected).p);
        }
        if (list.items.n > 0)
            page.after = list.items.v[list.items.n - 1].id;
    } while (list.has_more);
    assert_int_equal(seen, n);
}

static void pages_of_any_size_make_the_whole_list(void **state)
{
    struct fixture *f = *state;

    for (size_t n = 0; n <= 9; n++) {
        struct buf words = {0};

        for (size_t i = 0; i < n; i++) {
            buf_c(&words, "<i");
            buf_uint(&words, i);
            buf_c(&words, " >o ");
        }
        save(f, "r1", NULL, buf_cstr(&words));
        for (size_t limit = 1; limit <= n + 1; limit++) {
            follow_pages(f, n, limit, true);
            follow_pages(f, n, limit, false);
        }
        buf_fini(&words);
        drop(f, "r1");
    }
}

/* ---- owners */

enum { ON_RESPONSES = 8 };

static int call(struct fixture *f, int which, str owner)
{
    const struct store_page page = {.limit = 5};
    struct store_response r = response_from(f, "new", "r1", "<x"), got;
    struct store_response refers = response_from(f, "new", NULL, "@a");
    struct store_page after = {.limit = 5, .after = STR("a")};
    struct store_list list;
    struct store_history h;
    struct store_item item;

    switch (which) {
    case 0:
        return store_get_response(f->s, owner, STR("r1"), &f->arena, &got, &f->err);
    case 1:
        return store_delete_response(f->s, owner, STR("r1"), &f->err);
    case 2:
        return store_list_input_items(f->s, owner, STR("r1"), &page, &f->arena, &list, &f->err);
    case 3:
        return store_load_history(f->s, owner, STR("r1"), &f->arena, &h, &f->err);
    case 4:
        return store_find_item(f->s, owner, STR("a"), &f->arena, &item, &f->err);
    case 5:
        return store_save_response(f->s, owner, &r, &f->err);
    case 6:
        return store_save_response(f->s, owner, &refers, &f->err);
    default:
        return store_list_input_items(f->s, owner, STR("r1"), &after, &f->arena, &list, &f->err);
    }
}

static void another_owners_id_is_answered_like_an_unknown_one(void **state)
{
    struct fixture *f = *state;
    struct err unknown[ON_RESPONSES];

    for (int i = 0; i < ON_RESPONSES; i++) {
        assert_int_equal(call(f, i, bob), -1);
        unknown[i] = f->err;
    }
    save(f, "r1", NULL, "<a >b");
    for (int i = 0; i < ON_RESPONSES; i++) {
        assert_int_equal(call(f, i, bob), -1);
        assert_int_equal(f->err.code, unknown[i].code);
        assert_string_equal(f->err.msg, unknown[i].msg);
        assert_string_equal(f->err.param, unknown[i].param);
    }
    assert_context(f, "r1", "{a}{b}");
}

/* ---- size */

static void a_long_chain_takes_the_same_room_for_every_turn(void **state)
{
    enum { TURNS = 1000, PART = 250 };
    struct fixture *f = *state;
    uint64_t before = 0, parts[TURNS / PART];
    struct store_history h;

    save(f, "turn-0000", NULL, "<in-0000 >out-0000");
    before = stats(f).bytes;
    for (int i = 1; i <= TURNS; i++) {
        save(f, text(f, "turn-%04d", i).p, text(f, "turn-%04d", i - 1).p,
             text(f, "<in-%04d >out-%04d", i, i).p);
        if (i % PART == 0) {
            parts[i / PART - 1] = stats(f).bytes - before;
            before = stats(f).bytes;
        }
    }
    for (size_t i = 1; i < COUNT_OF(parts); i++)
        assert_int_equal(parts[i], parts[0]);
    assert_ok(store_load_history(f->s, alice, text(f, "turn-%04d", TURNS), &f->arena, &h, &f->err));
    assert_int_equal(h.items.n, 2 * (TURNS + 1));
    for (int i = 0; i <= TURNS; i++)
        assert_str_c(h.items.v[2 * i + 1].id, text(f, "out-%04d", i).p);
    print_message("%u bytes of bodies and ids a turn\n", (unsigned)(parts[0] / PART));
}

static int group(const char *name)
{
    const struct CMUnitTest tests[] = {
        ON_STORE(a_response_comes_back_as_it_was_saved),
        ON_STORE(bodies_may_hold_any_byte_and_be_empty),
        ON_STORE(a_response_tells_its_parent),
        ON_STORE(an_id_is_taken_once),
        ON_STORE(an_impossible_id_is_an_unknown_one),
        ON_STORE(an_item_id_that_no_database_can_hold_is_refused),
        ON_STORE(a_chain_is_seen_from_its_beginning),
        ON_STORE(branches_of_one_parent_do_not_see_each_other),
        ON_STORE(a_failed_response_is_shown_and_not_continued),
        ON_STORE(an_incomplete_response_can_be_continued),
        ON_STORE(what_was_stored_stays_as_it_was),
        ON_STORE(a_deleted_leaf_is_gone_with_its_items),
        ON_STORE(what_continues_a_deleted_response_keeps_its_items),
        ON_STORE(deleted_parents_go_with_their_last_child),
        ON_STORE(nothing_is_left_when_all_is_deleted),
        ON_STORE(bytes_go_down_by_what_was_deleted),
        ON_STORE(an_item_is_found_by_its_id_and_the_newest_wins),
        ON_STORE(a_reference_shows_what_it_refers_to),
        ON_STORE(a_reference_to_a_reference_shows_the_item),
        ON_STORE(a_reference_to_nothing_is_refused_as_a_whole),
        ON_STORE(an_item_that_is_referred_to_outlives_its_response),
        ON_STORE(a_leaf_with_an_item_that_is_referred_to_keeps_it),
        ON_STORE(hidden_items_are_for_the_model_alone),
        ON_STORE(a_hidden_item_is_found_by_its_owner_as_such),
        ON_STORE(a_hidden_item_that_a_request_refers_to_stays_hidden),
        ON_STORE(input_items_are_those_of_the_request_alone),
        ON_STORE(an_unknown_place_in_a_list_is_not_found),
        ON_STORE(an_id_that_occurs_twice_does_not_make_a_list_endless),
        ON_STORE(pages_of_any_size_make_the_whole_list),
        ON_STORE(another_owners_id_is_answered_like_an_unknown_one),
        ON_STORE(a_long_chain_takes_the_same_room_for_every_turn),
    };

    return cmocka_run_group_tests_name(name, tests, NULL, NULL);
}

int main(void)
{
    return backends_run(group);
}
