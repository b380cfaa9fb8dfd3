/* test_store_conversation.c -- conversations, their items and their locks. */
#include "store_fixture.h"

static const str c1 = STR_INIT("c1");

static void remove_conversation(struct fixture *f)
{
    assert_ok(store_delete_conversation(f->s, alice, c1, &f->err));
}

static void remove_item(struct fixture *f, const char *id)
{
    assert_ok(store_delete_item(f->s, alice, c1, str_from_c(id), &f->err));
}

static void drop(struct fixture *f, const char *id)
{
    assert_ok(store_delete_response(f->s, alice, str_from_c(id), &f->err));
}

static void add(struct fixture *f, const char *words)
{
    struct store_items items = items_from(f, words);

    assert_ok(store_add_items(f->s, alice, c1, &items, &f->err));
}

/* ---- the conversation itself */

static void a_conversation_comes_back_as_it_was_made(void **state)
{
    struct fixture *f = *state;
    struct store_conversation c;

    create(f, "c1", "<a <b");
    assert_ok(store_get_conversation(f->s, alice, c1, &f->arena, &c, &f->err));
    assert_str_c(c.id, "c1");
    assert_str_c(c.metadata, "{}");
    assert_int_equal(c.created_at, 1700000000);
    assert_conversation(f, "c1", "{a}{b}");
}

static void metadata_is_replaced(void **state)
{
    struct fixture *f = *state;
    struct store_conversation c;
    uint64_t bytes;

    create(f, "c1", "");
    bytes = stats(f).bytes;
    assert_ok(store_update_conversation(f->s, alice, c1, STR("{\"k\":\"v\"}"), &f->err));
    assert_ok(store_get_conversation(f->s, alice, c1, &f->arena, &c, &f->err));
    assert_str_c(c.metadata, "{\"k\":\"v\"}");
    assert_int_equal(stats(f).bytes, bytes + 7);
}

static void an_unused_conversation_is_gone_when_it_is_deleted(void **state)
{
    struct fixture *f = *state;
    struct store_conversation c;

    create(f, "c1", "<a");
    remove_conversation(f);
    assert_fails(store_get_conversation(f->s, alice, c1, &f->arena, &c, &f->err), ERR_NOT_FOUND);
    assert_string_equal(f->err.msg, "Conversation with id 'c1' not found.");
    assert_fails(store_delete_conversation(f->s, alice, c1, &f->err), ERR_NOT_FOUND);
    assert_int_equal(stats(f).n_histories, 0);
    assert_int_equal(stats(f).n_items, 0);
}

static void responses_outlive_their_conversation(void **state)
{
    struct fixture *f = *state;
    struct store_item item;

    create(f, "c1", "<a");
    save_in(f, "r1", "c1", "<b >c");
    remove_conversation(f);
    assert_int_equal(stats(f).n_conversations, 0);
    assert_context(f, "r1", "{a}{b}{c}");
    assert_fails(store_get_item(f->s, alice, c1, STR("c"), &f->arena, &item, &f->err),
                 ERR_NOT_FOUND);
    assert_ok(store_find_item(f->s, alice, STR("c"), &f->arena, &item, &f->err));
    assert_fails(store_find_item(f->s, alice, STR("a"), &f->arena, &item, &f->err), ERR_NOT_FOUND);
    save(f, "r2", "r1", "<d");
    assert_context(f, "r2", "{a}{b}{c}{d}");
    drop(f, "r1");
    assert_context(f, "r2", "{a}{b}{c}{d}");
    drop(f, "r2");
    assert_int_equal(stats(f).n_histories, 0);
    assert_int_equal(stats(f).bytes, 0);
}

/* ---- responses in it */

static void a_response_adds_its_items_to_its_conversation(void **state)
{
    struct fixture *f = *state;
    struct store_response r;

    create(f, "c1", "<a");
    save_in(f, "r1", "c1", "<b >c");
    save_in(f, "r2", "c1", "<d >e");
    assert_conversation(f, "c1", "{a}{b}{c}{d}{e}");
    assert_ok(store_get_response(f->s, alice, STR("r2"), &f->arena, &r, &f->err));
    assert_str_c(r.conversation_id, "c1");
    assert_true(str_is_none(r.parent_id));
}

static void only_what_ended_well_is_added(void **state)
{
    static const struct {
        enum store_status status;
        const char *items;
    } cases[] = {{STORE_COMPLETED, "{x}"},
                 {STORE_INCOMPLETE, "{x}"},
                 {STORE_FAILED, ""},
                 {STORE_CANCELLED, ""}};
    struct fixture *f = *state;

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const char *id = text(f, "conversation-%zu", i).p;
        struct store_response r = response_from(f, text(f, "response-%zu", i).p, NULL, ">x");

        create(f, id, "");
        r.conversation_id = str_from_c(id);
        r.status = cases[i].status;
        assert_ok(store_save_response(f->s, alice, &r, &f->err));
        assert_conversation(f, id, cases[i].items);
    }
}

static void a_response_is_continued_from_where_its_conversation_stood(void **state)
{
    struct fixture *f = *state;

    create(f, "c1", "<a");
    save_in(f, "r1", "c1", "<b >c");
    save_in(f, "r2", "c1", "<d >e");
    add(f, "<f");
    assert_context(f, "r1", "{a}{b}{c}");
    assert_context(f, "r2", "{a}{b}{c}{d}{e}");
    save(f, "branch", "r1", "<g >h");
    assert_context(f, "branch", "{a}{b}{c}{g}{h}");
    assert_conversation(f, "c1", "{a}{b}{c}{d}{e}{f}"); /* the branch is no part of it */
}

static void a_branch_of_a_conversation_tells_its_parent_only(void **state)
{
    struct fixture *f = *state;
    struct store_response r;

    create(f, "c1", "");
    save_in(f, "r1", "c1", "<a");
    save(f, "r2", "r1", "<b");
    assert_ok(store_get_response(f->s, alice, STR("r2"), &f->arena, &r, &f->err));
    assert_str_c(r.parent_id, "r1");
    assert_true(str_is_none(r.conversation_id));
}

static void a_deleted_response_leaves_its_items_in_the_conversation(void **state)
{
    struct fixture *f = *state;
    struct store_item item;

    create(f, "c1", "");
    save_in(f, "r1", "c1", "<a >b");
    save_in(f, "r2", "c1", "<c >d");
    drop(f, "r1");
    assert_no_response(f, "r1");
    assert_no_context(f, "r1");
    assert_conversation(f, "c1", "{a}{b}{c}{d}");
    assert_context(f, "r2", "{a}{b}{c}{d}");
    assert_ok(store_find_item(f->s, alice, STR("b"), &f->arena, &item, &f->err));
}

static void the_last_deleted_response_leaves_a_living_conversation(void **state)
{
    struct fixture *f = *state;

    create(f, "c1", "");
    save_in(f, "r1", "c1", "<a >b");
    drop(f, "r1");
    assert_conversation(f, "c1", "{a}{b}");
    remove_conversation(f); /* nothing is left that could be found */
    assert_int_equal(stats(f).n_histories, 0);
}

static void a_response_cannot_be_saved_in_a_conversation_that_is_gone(void **state)
{
    struct fixture *f = *state;
    struct store_response r = response_from(f, "r1", NULL, "<a");

    r.conversation_id = c1;
    assert_fails(store_save_response(f->s, alice, &r, &f->err), ERR_NOT_FOUND);
    assert_string_equal(f->err.param, "conversation");
    assert_no_response(f, "r1");
}

/* ---- items */

static void items_are_added_in_order(void **state)
{
    struct fixture *f = *state;

    create(f, "c1", "<a");
    add(f, "<b <c");
    add(f, "<d");
    assert_conversation(f, "c1", "{a}{b}{c}{d}");
}

static void an_item_is_shown_alone(void **state)
{
    struct fixture *f = *state;
    struct store_item item;

    create(f, "c1", "<a <b");
    assert_ok(store_get_item(f->s, alice, c1, STR("a"), &f->arena, &item, &f->err));
    assert_str_c(item.body, "{a}");
    assert_fails(store_get_item(f->s, alice, c1, STR("z"), &f->arena, &item, &f->err),
                 ERR_NOT_FOUND);
    assert_string_equal(f->err.msg, "Item with id 'z' not found.");
}

static void an_item_that_is_there_is_not_added_again(void **state)
{
    struct fixture *f = *state;
    uint64_t bytes;

    save(f, "r1", NULL, ">x");
    create(f, "c1", "<a <b @x @x");
    bytes = stats(f).bytes;
    add(f, "<a @b @x");
    assert_conversation(f, "c1", "{a}{b}{x}");
    assert_int_equal(stats(f).bytes, bytes);
    remove_item(f, "a");
    add(f, "<a");
    assert_conversation(f, "c1", "{b}{x}{a}");
}

static void what_a_response_brings_along_again_is_its_own_alone(void **state)
{
    struct fixture *f = *state;
    const struct store_page all = {.limit = 10, .ascending = true};
    struct store_list input;

    create(f, "c1", "<a");
    save_in(f, "r1", "c1", "<b >c");
    save_in(f, "r2", "c1", "@a <c <d >e");
    assert_conversation(f, "c1", "{a}{b}{c}{d}{e}");
    assert_context(f, "r2", "{a}{b}{c}{d}{e}");
    assert_ok(store_list_input_items(f->s, alice, STR("r2"), &all, &f->arena, &input, &f->err));
    assert_str_c(bodies(f, &input.items), "{a}{c}{d}");
    save(f, "r3", "r2", "<f");
    assert_context(f, "r3", "{a}{b}{c}{d}{e}{f}");
}

static void a_deleted_item_is_seen_no_more(void **state)
{
    struct fixture *f = *state;
    uint64_t n_items;

    create(f, "c1", "<a <b <c");
    n_items = stats(f).n_items;
    remove_item(f, "b");
    assert_conversation(f, "c1", "{a}{c}");
    assert_int_equal(stats(f).n_items, n_items - 1);
    assert_fails(store_delete_item(f->s, alice, c1, STR("b"), &f->err), ERR_NOT_FOUND);
}

static void an_item_deleted_from_its_conversation_stays_with_its_response(void **state)
{
    struct fixture *f = *state;
    struct store_response r;

    create(f, "c1", "<a");
    save_in(f, "r1", "c1", "<b >c");
    save_in(f, "r2", "c1", "<d >e");
    remove_item(f, "c");
    assert_conversation(f, "c1", "{a}{b}{d}{e}");
    assert_context(f, "r1", "{a}{b}{c}");
    assert_context(f, "r2", "{a}{b}{d}{e}");
    assert_ok(store_get_response(f->s, alice, STR("r1"), &f->arena, &r, &f->err));
    assert_str_c(bodies(f, &r.items), "{c}");
}

static void a_deleted_response_goes_with_its_last_item_in_the_conversation(void **state)
{
    struct fixture *f = *state;

    create(f, "c1", "");
    save_in(f, "r1", "c1", "<a >b");
    save_in(f, "r2", "c1", "<c");
    drop(f, "r1");
    remove_item(f, "a");
    assert_int_equal(stats(f).n_items, 3);
    remove_item(f, "b");
    assert_int_equal(stats(f).n_items, 1);
    assert_conversation(f, "c1", "{c}");
}

static void an_item_that_is_referred_to_outlives_its_conversation(void **state)
{
    struct fixture *f = *state;

    create(f, "c1", "<a <b");
    save(f, "r1", NULL, "@a @b >c");
    remove_item(f, "a");
    assert_context(f, "r1", "{a}{b}{c}");
    remove_conversation(f);
    assert_context(f, "r1", "{a}{b}{c}");
    assert_int_equal(stats(f).n_histories, 1);
}

static void items_may_refer_to_stored_ones(void **state)
{
    struct fixture *f = *state;

    save(f, "r1", NULL, ">a");
    create(f, "c1", "@a");
    add(f, "<b");
    assert_conversation(f, "c1", "{a}{b}");
    drop(f, "r1");
    assert_conversation(f, "c1", "{a}{b}");
}

static void pages_make_the_whole_conversation(void **state)
{
    struct fixture *f = *state;
    struct store_page page = {.limit = 2, .ascending = false};
    struct store_list list;
    struct buf seen = {0};

    create(f, "c1", "<a <b <c");
    save_in(f, "r1", "c1", "<d >e");
    do {
        assert_ok(store_list_items(f->s, alice, c1, &page, &f->arena, &list, &f->err));
        buf_append(&seen, bodies(f, &list.items));
        buf_char(&seen, '|');
        page.after = list.items.v[list.items.n - 1].id;
    } while (list.has_more);
    assert_str_c(buf_str(&seen), "{e}{d}|{c}{b}|{a}|");
    buf_fini(&seen);
}

static void hidden_items_are_for_the_model_alone(void **state)
{
    struct fixture *f = *state;
    struct store_history h;
    struct store_item item;

    create(f, "c1", "<a");
    save_in(f, "r1", "c1", "<b -thought >c");
    assert_conversation(f, "c1", "{a}{b}{c}");
    assert_fails(store_get_item(f->s, alice, c1, STR("thought"), &f->arena, &item, &f->err),
                 ERR_NOT_FOUND);
    assert_fails(store_delete_item(f->s, alice, c1, STR("thought"), &f->err), ERR_NOT_FOUND);
    assert_context(f, "r1", "{a}{b}{thought}{c}");
    assert_ok(store_lock_conversation(f->s, alice, c1, STR("l"), &f->arena, &h, &f->err));
    assert_str_c(bodies(f, &h.items), "{a}{b}{thought}{c}");
}

static void a_hidden_item_can_be_deleted_with_what_it_belongs_to(void **state)
{
    struct fixture *f = *state;
    struct store_stats before;

    create(f, "c1", "<a");
    before = stats(f);
    save(f, "r", NULL, "<x >y -z");
    assert_ok(store_add_items(f->s, alice, c1, &(struct store_items){items_from(f, "@y *z").v, 2},
                              &f->err));
    save_in(f, "r1", "c1", "<b >c -d");
    assert_context(f, "r1", "{a}{y}{z}{b}{c}{d}");
    assert_fails(store_delete_hidden(f->s, bob, c1, STR("z"), &f->err), ERR_NOT_FOUND);
    assert_ok(store_delete_hidden(f->s, alice, c1, STR("y"), &f->err));
    assert_conversation(f, "c1", "{a}{y}{b}{c}");
    assert_ok(store_delete_hidden(f->s, alice, c1, STR("z"), &f->err));
    assert_ok(store_delete_hidden(f->s, alice, c1, STR("d"), &f->err));
    assert_ok(store_delete_response(f->s, alice, STR("r1"), &f->err));
    for (size_t i = 0; i < 3; i++)
        assert_ok(store_delete_item(f->s, alice, c1, str_from(&"ybc"[i], 1), &f->err));
    assert_ok(store_delete_response(f->s, alice, STR("r"), &f->err));
    assert_int_equal(stats(f).n_items, before.n_items);
    assert_int_equal(stats(f).bytes, before.bytes);
}

/* ---- owners */

enum { CALLS = 10 };

static int call(struct fixture *f, int which, str owner)
{
    const struct store_page page = {.limit = 5};
    struct store_items items = items_from(f, "<x");
    struct store_response r = response_from(f, "new", NULL, "<x");
    struct store_conversation c;
    struct store_history h;
    struct store_list list;
    struct store_item item;

    r.conversation_id = c1;
    switch (which) {
    case 0:
        return store_get_conversation(f->s, owner, c1, &f->arena, &c, &f->err);
    case 1:
        return store_update_conversation(f->s, owner, c1, STR("{}"), &f->err);
    case 2:
        return store_delete_conversation(f->s, owner, c1, &f->err);
    case 3:
        return store_add_items(f->s, owner, c1, &items, &f->err);
    case 4:
        return store_list_items(f->s, owner, c1, &page, &f->arena, &list, &f->err);
    case 5:
        return store_get_item(f->s, owner, c1, STR("a"), &f->arena, &item, &f->err);
    case 6:
        return store_delete_item(f->s, owner, c1, STR("a"), &f->err);
    case 7:
        return store_lock_conversation(f->s, owner, c1, STR("l"), &f->arena, &h, &f->err);
    case 8:
        return store_save_response(f->s, owner, &r, &f->err);
    default:
        return store_find_item(f->s, owner, STR("a"), &f->arena, &item, &f->err);
    }
}

static void another_owners_id_is_answered_like_an_unknown_one(void **state)
{
    struct fixture *f = *state;
    struct err unknown[CALLS];

    for (int i = 0; i < CALLS; i++) {
        assert_int_equal(call(f, i, bob), -1);
        unknown[i] = f->err;
    }
    create(f, "c1", "<a");
    for (int locked = 0; locked < 2; locked++) {
        for (int i = 0; i < CALLS; i++) {
            assert_int_equal(call(f, i, bob), -1);
            assert_int_equal(f->err.code, unknown[i].code);
            assert_string_equal(f->err.msg, unknown[i].msg);
            assert_string_equal(f->err.param, unknown[i].param);
        }
        assert_ok(call(f, 7 * (1 - locked), alice)); /* the second time it is locked */
    }
    assert_conversation(f, "c1", "{a}");
}

static void owners_may_not_take_each_others_ids(void **state)
{
    struct fixture *f = *state;
    struct store_conversation c = {.id = c1, .metadata = STR("{}")};

    create(f, "c1", "<a");
    assert_fails(store_create_conversation(f->s, bob, &c, &(struct store_items){.n = 0}, &f->err),
                 ERR_STORE);
    assert_conversation(f, "c1", "{a}");
}

/* ---- locks */

static int lock(struct fixture *f, struct store_session *s, const char *name)
{
    struct store_history h;

    return store_lock_conversation(s, alice, c1, str_from_c(name), &f->arena, &h, &f->err);
}

static void a_lock_gives_what_the_conversation_holds(void **state)
{
    struct fixture *f = *state;
    struct store_history h;

    create(f, "c1", "<a <b");
    assert_ok(store_lock_conversation(f->s, alice, c1, STR("l"), &f->arena, &h, &f->err));
    assert_str_c(bodies(f, &h.items), "{a}{b}");
    assert_true(str_is_none(h.tail));
}

static void a_locked_conversation_answers_one_response_at_a_time(void **state)
{
    struct fixture *f = *state;

    create(f, "c1", "");
    assert_ok(lock(f, f->s, "first"));
    assert_fails(lock(f, f->s, "second"), ERR_CONVERSATION_LOCKED);
    assert_ok(store_unlock_conversation(f->s, STR("second"), &f->err)); /* not its own */
    assert_fails(lock(f, f->s, "second"), ERR_CONVERSATION_LOCKED);
    assert_ok(store_unlock_conversation(f->s, STR("first"), &f->err));
    assert_ok(lock(f, f->s, "second"));
}

static void saving_a_response_unlocks_its_conversation(void **state)
{
    static const enum store_status any[] = {STORE_COMPLETED, STORE_FAILED};
    struct fixture *f = *state;

    create(f, "c1", "");
    for (size_t i = 0; i < COUNT_OF(any); i++) {
        struct store_response r = response_from(f, text(f, "r%zu", i).p, NULL, "<a");

        assert_ok(lock(f, f->s, "first"));
        r.conversation_id = c1;
        r.lock = STR("first");
        r.status = any[i];
        assert_ok(store_save_response(f->s, alice, &r, &f->err));
        assert_ok(lock(f, f->s, "second"));
        assert_ok(store_unlock_conversation(f->s, STR("second"), &f->err));
    }
}

static void a_response_that_lost_its_lock_is_not_saved(void **state)
{
    struct fixture *f = *state;
    struct store_response r = response_from(f, "r1", NULL, "<a");

    create(f, "c1", "");
    assert_ok(lock(f, f->s, "other"));
    r.conversation_id = c1;
    r.lock = STR("mine");
    assert_fails(store_save_response(f->s, alice, &r, &f->err), ERR_CONVERSATION_LOCKED);
    assert_conversation(f, "c1", "");
    assert_no_response(f, "r1");
}

static int group(const char *name)
{
    const struct CMUnitTest tests[] = {
        ON_STORE(a_conversation_comes_back_as_it_was_made),
        ON_STORE(metadata_is_replaced),
        ON_STORE(an_unused_conversation_is_gone_when_it_is_deleted),
        ON_STORE(responses_outlive_their_conversation),
        ON_STORE(a_response_adds_its_items_to_its_conversation),
        ON_STORE(only_what_ended_well_is_added),
        ON_STORE(a_response_is_continued_from_where_its_conversation_stood),
        ON_STORE(a_branch_of_a_conversation_tells_its_parent_only),
        ON_STORE(a_deleted_response_leaves_its_items_in_the_conversation),
        ON_STORE(the_last_deleted_response_leaves_a_living_conversation),
        ON_STORE(a_response_cannot_be_saved_in_a_conversation_that_is_gone),
        ON_STORE(items_are_added_in_order),
        ON_STORE(an_item_is_shown_alone),
        ON_STORE(an_item_that_is_there_is_not_added_again),
        ON_STORE(what_a_response_brings_along_again_is_its_own_alone),
        ON_STORE(a_deleted_item_is_seen_no_more),
        ON_STORE(an_item_deleted_from_its_conversation_stays_with_its_response),
        ON_STORE(a_deleted_response_goes_with_its_last_item_in_the_conversation),
        ON_STORE(an_item_that_is_referred_to_outlives_its_conversation),
        ON_STORE(items_may_refer_to_stored_ones),
        ON_STORE(pages_make_the_whole_conversation),
        ON_STORE(hidden_items_are_for_the_model_alone),
        ON_STORE(a_hidden_item_can_be_deleted_with_what_it_belongs_to),
        ON_STORE(another_owners_id_is_answered_like_an_unknown_one),
        ON_STORE(owners_may_not_take_each_others_ids),
        ON_STORE(a_lock_gives_what_the_conversation_holds),
        ON_STORE(a_locked_conversation_answers_one_response_at_a_time),
        ON_STORE(saving_a_response_unlocks_its_conversation),
        ON_STORE(a_response_that_lost_its_lock_is_not_saved),
    };

    return cmocka_run_group_tests_name(name, tests, NULL, NULL);
}

int main(void)
{
    return backends_run(group);
}
