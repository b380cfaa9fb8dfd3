/* test_prefix_marks.c -- where bodies of upstream requests have boundaries, and when two are the same up
 * to one. */
#include "lib/test.h"

#include "affinity/prefix_marks.h"
#include "base/buf.h"
#include "lib/failing_malloc.h"
#include "lib/fixture.h"

enum { KEY = 7 };

#define SYSTEM "{\"role\":\"system\",\"content\":\"Be brief.\"}"
#define USER   "{\"role\":\"user\",\"content\":\"Hi \\u00e9\"}"
#define ANSWER "{\"role\":\"assistant\",\"content\":\"Hello.\"}"
#define BODY   "{\"model\":\"m\",\"messages\":[" SYSTEM "," USER "]}"

static struct arena arena;

static int free_arena(void **state)
{
    (void)state;
    arena_fini(&arena);
    return 0;
}

static struct prefix_marks read_str(str body)
{
    struct prefix_marks m;

    assert_true(prefix_marks_read(body, KEY, &arena, &m));
    return m;
}

static struct prefix_marks read_marks(const char *body)
{
    return read_str(str_from_c(body));
}

/* The number of marks that are equal from the first on. */
static size_t n_equal(const char *a, const char *b)
{
    struct prefix_marks m = read_marks(a), n = read_marks(b);
    size_t i = 0;

    while (i < m.n && i < n.n && m.marks[i].hash == n.marks[i].hash &&
           m.marks[i].bytes == n.marks[i].bytes)
        i++;
    return i;
}

static void check_same(const char *a, const char *b)
{
    size_t n = read_marks(a).n;

    assert_true(n > 0);
    assert_int_equal(read_marks(b).n, n);
    assert_int_equal(n_equal(a, b), n);
}

static void there_is_a_mark_in_front_and_one_behind_each_message(void **state)
{
    struct prefix_marks m = read_marks(BODY);

    (void)state;
    assert_int_equal(m.n, 3);
    assert_int_equal(m.marks[0].bytes, strlen("model\"m\""));
    assert_int_equal(m.marks[1].bytes, m.marks[0].bytes + strlen(SYSTEM));
    assert_int_equal(m.marks[2].bytes, m.marks[1].bytes + strlen(USER));
    assert_true(m.marks[0].hash != m.marks[1].hash && m.marks[1].hash != m.marks[2].hash);
}

static void one_more_message_keeps_all_marks(void **state)
{
    (void)state;
    assert_int_equal(
        n_equal(BODY, "{\"model\":\"m\",\"messages\":[" SYSTEM "," USER "," ANSWER "]}"), 3);
}

static void a_changed_message_changes_its_mark_and_all_behind(void **state)
{
    (void)state;
    assert_int_equal(n_equal(BODY, "{\"model\":\"m\",\"messages\":[" SYSTEM "," ANSWER "]}"), 2);
    assert_int_equal(n_equal(BODY, "{\"model\":\"m\",\"messages\":[" ANSWER "," USER "]}"), 1);
    assert_int_equal(n_equal(BODY, "{\"model\":\"m\",\"messages\":[" USER "," SYSTEM "]}"), 1);
}

static void what_stands_in_front_changes_all_marks(void **state)
{
    (void)state;
    assert_int_equal(n_equal(BODY, "{\"model\":\"n\",\"messages\":[" SYSTEM "," USER "]}"), 0);
    assert_int_equal(
        n_equal(BODY, "{\"model\":\"m\",\"messages\":[" SYSTEM "," USER "],\"tools\":[]}"), 0);
    assert_int_equal(n_equal("{\"a\":1,\"b\":2,\"messages\":[" USER "]}",
                             "{\"a\":2,\"b\":1,\"messages\":[" USER "]}"),
                     0);
    assert_int_equal(n_equal("{\"model\":\"m\",\"some_new_member\":1,\"messages\":[]}",
                             "{\"model\":\"m\",\"some_new_member\":2,\"messages\":[]}"),
                     0);
}

static void the_order_of_members_does_not_matter(void **state)
{
    (void)state;
    check_same("{\"model\":\"m\",\"messages\":[" USER "],\"tools\":[{\"a\":{}}],\"b\":1}",
               "{\"b\":1,\"tools\":[{\"a\":{}}],\"messages\":[" USER "],\"model\":\"m\"}");
}

static void white_space_between_messages_does_not_matter(void **state)
{
    (void)state;
    check_same(BODY, " { \"model\" : \"m\",\n\"messages\" : [ " SYSTEM " ,\r\n\t" USER " ] } ");
}

static void members_that_change_no_prompt_are_no_part_of_it(void **state)
{
    static const char *const names[] = {
#define PROMPT_NEUTRAL(name) name,
#include "affinity/prompt_neutral.def"
    };
    char body[200];

    (void)state;
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        (void)snprintf(body, sizeof(body), "{\"%s\":[{\"a\":1}],\"model\":\"m\",\"messages\":[]}",
                       names[i]);
        check_same(body, "{\"model\":\"m\",\"messages\":[]}");
    }
}

static void of_several_lists_of_messages_the_last_counts(void **state)
{
    (void)state;
    check_same("{\"messages\":[" ANSWER "," ANSWER "],\"model\":\"m\",\"messages\":[" USER "]}",
               "{\"model\":\"m\",\"messages\":[" USER "]}");
}

static void another_key_gives_other_marks(void **state)
{
    struct prefix_marks m = read_marks(BODY), other;

    (void)state;
    assert_true(prefix_marks_read(STR(BODY), KEY + 1, &arena, &other));
    assert_int_equal(other.n, m.n);
    for (size_t i = 0; i < m.n; i++)
        assert_true(m.marks[i].hash != other.marks[i].hash);
}

/* ---- prompts and other bodies */

#define PROMPT "{\"model\":\"m\",\"prompt\":\"<|start|>system<|message|>a<|end|>b<|end|>"

static void a_prompt_has_marks_behind_its_messages_and_at_its_end(void **state)
{
    struct prefix_marks m = read_marks(PROMPT "rest\",\"stream\":true}");

    (void)state;
    assert_int_equal(m.n, 4);
    assert_int_equal(m.marks[3].bytes - m.marks[2].bytes, strlen("rest"));
    assert_int_equal(n_equal(PROMPT "rest\"}", PROMPT "more<|end|>and more\"}"), 3);
    assert_int_equal(n_equal(PROMPT "\"}", PROMPT "more\"}"), 3);
    assert_int_equal(read_marks(PROMPT "\"}").n, 3);
    assert_int_equal(read_marks("{\"prompt\":\"no end\"}").n, 2);
    assert_int_equal(read_marks("{\"prompt\":\"\"}").n, 1);
}

static void a_prompt_beside_messages_is_not_asked(void **state)
{
    (void)state;
    check_same("{\"prompt\":\"a<|end|>\",\"messages\":[" USER "]}", "{\"messages\":[" USER "]}");
    check_same("{\"messages\":[" USER "],\"prompt\":\"a<|end|>\"}", "{\"messages\":[" USER "]}");
}

static void another_body_has_its_front_and_its_end(void **state)
{
    const char *body = "{\"model\":\"m\",\"input\":[\"a\",\"b\"],\"user\":\"u\"}";
    struct prefix_marks m = read_marks(body);

    (void)state;
    assert_int_equal(m.n, 2);
    assert_int_equal(m.marks[1].bytes, strlen(body));
    assert_int_equal(n_equal(body, "{\"model\":\"m\",\"input\":[\"a\",\"b\"],\"user\":\"v\"}"), 1);
    assert_int_equal(read_marks("{\"model\":\"m\",\"prompt\":[1,2]}").n, 2);
    assert_int_equal(read_marks("{\"messages\":\"m\"}").n, 2);
    assert_int_equal(read_marks("{}").n, 2);
}

static void what_is_no_object_has_no_marks(void **state)
{
    static const char *const bodies[] = {"", " ", "[" BODY "]", "\"a\"", "null"};

    (void)state;
    for (size_t i = 0; i < COUNT_OF(bodies); i++)
        assert_int_equal(read_marks(bodies[i]).n, 0);
    assert_int_equal(read_str(STR_NONE).n, 0);
}

static void a_body_that_is_cut_anywhere_is_read_within_its_bytes(void **state)
{
    const str body =
        STR("{\"model\":\"m\",\"messages\":[" SYSTEM "," USER "],\"prompt\":\"a\\\"\"}");

    (void)state;
    for (size_t n = 0; n < body.len; n++) {
        char *copy = exact_copy(str_from(body.p, n));
        const struct prefix_marks m = read_str(str_from(copy, n));

        assert_true(m.n == 0 || m.marks[m.n - 1].bytes <= n);
        free(copy);
    }
}

/* ---- one more, and many */

static void the_mark_behind_one_more_message_is_that_of_the_longer_body(void **state)
{
    struct prefix_marks m = read_marks(BODY);
    struct prefix_mark behind = prefix_marks_behind(&m, STR(ANSWER));

    (void)state;
    m = read_marks("{\"model\":\"m\",\"messages\":[" SYSTEM "," USER "," ANSWER "]}");
    assert_true(behind.hash == m.marks[3].hash);
    assert_int_equal(behind.bytes, m.marks[3].bytes);
    m = read_marks(PROMPT "\"}");
    behind = prefix_marks_behind(&m, STR("more<|end|>"));
    m = read_marks(PROMPT "more<|end|>\"}");
    assert_true(behind.hash == m.marks[3].hash);
    assert_int_equal(behind.bytes, m.marks[3].bytes);
}

static struct prefix_marks read_many(size_t n_messages)
{
    struct buf body = {.limit = 0};
    struct prefix_marks m;

    buf_c(&body, "{\"messages\":[");
    for (size_t i = 0; i < n_messages; i++) {
        buf_c(&body, i == 0 ? "" : ",");
        buf_uint(&body, 1000000 + i);
    }
    buf_c(&body, "]}");
    m = read_str(buf_str(&body));
    buf_fini(&body);
    return m;
}

/* Each message has seven bytes. */
static void check_many(size_t n_messages)
{
    struct prefix_marks m = read_many(n_messages);
    const size_t half = PREFIX_MARKS_MAX / 2;
    bool is_thinned = n_messages + 1 > PREFIX_MARKS_MAX;

    assert_int_equal(m.n, is_thinned ? PREFIX_MARKS_MAX : n_messages + 1);
    for (size_t i = 0; i < m.n; i++) {
        size_t boundary = is_thinned && i >= half ? n_messages + 1 - (m.n - i) : i;

        assert_int_equal(m.marks[i].bytes, 7 * boundary);
    }
}

static void of_many_messages_the_first_marks_are_kept_and_the_last(void **state)
{
    (void)state;
    check_many(63);
    check_many(64);
    check_many(PREFIX_MARKS_MAX - 1);
    check_many(PREFIX_MARKS_MAX);
    check_many(PREFIX_MARKS_MAX + 1);
    check_many(7000);
    check_many(PREFIX_MARKS_MAX + PREFIX_MARKS_MAX / 2 - 1);
    check_many(20000);
}

/* What the next request of such a conversation is found by. */
static void the_end_of_a_long_conversation_is_among_the_marks_of_the_next(void **state)
{
    struct prefix_marks before = read_many(9000), m = read_many(9002);

    (void)state;
    assert_true(m.marks[m.n - 3].hash == before.marks[before.n - 1].hash);
    assert_int_equal(m.marks[m.n - 3].bytes, before.marks[before.n - 1].bytes);
}

static void with_each_allocation_failing_there_are_no_marks(void **state)
{
    struct buf body = {.limit = 0};

    (void)state;
    buf_c(&body, "{\"messages\":[1");
    for (size_t i = 0; i < 1000; i++)
        buf_c(&body, ",2");
    buf_c(&body, "]}");
    for (long n = 0;; n++) {
        struct arena a = {.limit = 0};
        struct prefix_marks m;
        bool is_read, has_failed;

        failing_malloc_begin(n, FAILS_ONCE);
        is_read = prefix_marks_read(buf_str(&body), KEY, &a, &m);
        has_failed = failing_malloc_end();
        assert_true(is_read == !has_failed);
        assert_int_equal(m.n, is_read ? 1002 : 0);
        arena_fini(&a);
        if (!has_failed)
            break;
    }
    buf_fini(&body);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(there_is_a_mark_in_front_and_one_behind_each_message, free_arena),
        cmocka_unit_test_teardown(one_more_message_keeps_all_marks, free_arena),
        cmocka_unit_test_teardown(a_changed_message_changes_its_mark_and_all_behind, free_arena),
        cmocka_unit_test_teardown(what_stands_in_front_changes_all_marks, free_arena),
        cmocka_unit_test_teardown(the_order_of_members_does_not_matter, free_arena),
        cmocka_unit_test_teardown(white_space_between_messages_does_not_matter, free_arena),
        cmocka_unit_test_teardown(members_that_change_no_prompt_are_no_part_of_it, free_arena),
        cmocka_unit_test_teardown(of_several_lists_of_messages_the_last_counts, free_arena),
        cmocka_unit_test_teardown(another_key_gives_other_marks, free_arena),
        cmocka_unit_test_teardown(a_prompt_has_marks_behind_its_messages_and_at_its_end,
                                  free_arena),
        cmocka_unit_test_teardown(a_prompt_beside_messages_is_not_asked, free_arena),
        cmocka_unit_test_teardown(another_body_has_its_front_and_its_end, free_arena),
        cmocka_unit_test_teardown(what_is_no_object_has_no_marks, free_arena),
        cmocka_unit_test_teardown(a_body_that_is_cut_anywhere_is_read_within_its_bytes, free_arena),
        cmocka_unit_test_teardown(the_mark_behind_one_more_message_is_that_of_the_longer_body,
                                  free_arena),
        cmocka_unit_test_teardown(of_many_messages_the_first_marks_are_kept_and_the_last,
                                  free_arena),
        cmocka_unit_test_teardown(the_end_of_a_long_conversation_is_among_the_marks_of_the_next,
                                  free_arena),
        cmocka_unit_test_teardown(with_each_allocation_failing_there_are_no_marks, free_arena),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
