/* test_call_id.c -- short ids of calls: stable, unique, the same at both ends. */
#include "request_fixture.h"

#include "conv/call_id.h"

#define CALL(id)   "{\"type\":\"function_call\",\"call_id\":\"" id "\",\"name\":\"f\"},"
#define OUTPUT(id) "{\"type\":\"function_call_output\",\"call_id\":\"" id "\",\"output\":\"o\"},"
#define LAST       "{\"role\":\"user\",\"content\":\"u\"}"

static const struct chat_request_options short_ids = {.short_call_ids = true};

/* The ids of all calls, with a space behind each; every tool message must have
 * the id of the call before it. A new string. */
static char *ids_of(const char *items)
{
    struct buf body = {0}, ids = {0};
    const json_t *message, *call;
    struct fixture f;
    json_t *chat;
    size_t i, k;
    char *text;

    buf_c(&body, "{\"model\":\"m\",\"input\":[");
    buf_c(&body, items);
    buf_c(&body, "]}");
    assert_int_equal(fixture_parse(&f, buf_str(&body), 0), 0);
    chat = fixture_chat(&f, &short_ids);
    json_array_foreach(json_object_get(chat, "messages"), i, message)
    {
        json_array_foreach(json_object_get(message, "tool_calls"), k, call)
        {
            const json_t *output = json_array_get(json_object_get(chat, "messages"), i + 1 + k);

            assert_true(
                json_equal(json_object_get(call, "id"), json_object_get(output, "tool_call_id")));
            buf_c(&ids, json_string_value(json_object_get(call, "id")));
            buf_char(&ids, ' ');
        }
    }
    text = strdup(buf_cstr(&ids));
    json_decref(chat);
    buf_fini(&body);
    buf_fini(&ids);
    fixture_fini(&f);
    return text;
}

static void ids_become_nine_letters_and_digits(void **state)
{
    char *ids = ids_of(CALL("call_1") CALL("call_2") OUTPUT("call_2") OUTPUT("call_1") LAST);

    (void)state;
    assert_int_equal(strspn(ids, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"),
                     9);
    assert_int_equal(strlen(ids), 20);
    assert_int_not_equal(memcmp(ids, ids + 10, 9), 0);
    free(ids);
}

static void ids_that_fit_stay(void **state)
{
    char *ids = ids_of(CALL("Abc\\u0064efg90") OUTPUT("Abcdefg90") LAST);

    (void)state;
    assert_string_equal(ids, "Abcdefg90 ");
    free(ids);
}

static void a_conversation_that_grows_keeps_its_ids(void **state)
{
    char *before = ids_of(CALL("call_1") OUTPUT("call_1") LAST);
    char *after = ids_of(CALL("call_1") OUTPUT("call_1") LAST "," CALL("x") OUTPUT("x") LAST);

    (void)state;
    assert_int_equal(strncmp(before, after, strlen(before)), 0);
    free(before);
    free(after);
}

/* A client may have sent an id that happens to be what another one becomes. */
static void a_taken_id_is_not_given_again(void **state)
{
    char *alone = ids_of(CALL("call_1") OUTPUT("call_1") LAST), *both;
    struct buf items = {0};

    (void)state;
    alone[9] = '\0';
    buf_c(&items,
          CALL("call_1") OUTPUT("call_1") LAST ",{\"type\":\"function_call\",\"call_id\":\"");
    buf_c(&items, alone);
    buf_c(&items, "\",\"name\":\"f\"},{\"type\":\"function_call_output\",\"call_id\":\"");
    buf_c(&items, alone);
    buf_c(&items, "\",\"output\":\"o\"}," LAST);
    both = ids_of(buf_cstr(&items));
    assert_int_equal(strlen(both), 20);
    assert_int_equal(strncmp(both + 10, alone, 9), 0);
    assert_int_not_equal(strncmp(both, alone, 9), 0);
    free(alone);
    free(both);
    buf_fini(&items);
}

static void a_second_time_changes_nothing(void **state)
{
    struct conversation c;
    struct fixture f;
    str first;

    (void)state;
    assert_int_equal(
        fixture_parse(
            &f, STR("{\"model\":\"m\",\"input\":[" CALL("call_1") OUTPUT("call_1") LAST "]}"), 0),
        0);
    assert_int_equal(
        chat_request_conversation(&f.request, &short_ids, &f.ids, &f.arena, &c, &f.err), 0);
    first = c.first->first_call->id;
    assert_int_equal(call_ids_shorten(&c, &f.ids, &f.arena, &f.err), 0);
    assert_true(str_eq(first, c.first->first_call->id));
    fixture_fini(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ids_become_nine_letters_and_digits),
        cmocka_unit_test(ids_that_fit_stay),
        cmocka_unit_test(a_conversation_that_grows_keeps_its_ids),
        cmocka_unit_test(a_taken_id_is_not_given_again),
        cmocka_unit_test(a_second_time_changes_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
