/* test_chat_call.c -- which call does a piece belong to (CONTRACT 5.4)?
 *
 * A case is a list of pieces and the number of the call each belongs to. */
#include "lib/test.h"

#include "wire/chunk/chat_call.h"

#define NO CHAT_NO_INDEX

struct piece {
    int64_t index;
    const char *id, *name;
    size_t call;
};

static const struct {
    const char *name;
    struct piece pieces[5]; /* ends with call == END */
} cases[] = {
#define END                                                                                        \
    {                                                                                              \
        0, NULL, NULL, SIZE_MAX                                                                    \
    }
    {"an_index_names_its_call", {{0, "a", "f", 0}, {1, "b", "g", 1}, {0, "", "", 0}, END}},
    {"any_integers_are_keys", {{7, "a", "f", 0}, {-3, "b", "g", 1}, {7, "", "", 0}, END}},
    {"another_id_on_an_index_is_a_new_call",
     {{0, "a", "f", 0}, {0, "b", "f", 1}, {0, "", "", 1}, END}},
    {"the_id_may_come_later_or_again", {{0, "", "f", 0}, {0, "a", "", 0}, {0, "a", "f", 0}, END}},
    {"without_index_the_id_decides", {{NO, "a", "f", 0}, {NO, "b", "f", 1}, {NO, "a", "", 0}, END}},
    {"without_index_and_id_a_piece_goes_to_the_last",
     {{NO, "a", "f", 0}, {NO, "b", "g", 1}, {NO, "", "", 1}, END}},
    {"without_index_and_id_a_name_begins_a_call",
     {{NO, "", "f", 0}, {NO, "", "f", 1}, {NO, "", "", 1}, END}},
    {"the_first_piece_may_say_nothing", {{NO, "", "", 0}, {NO, "", "", 0}, END}},
};

static void pieces_find_their_calls(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct chat_calls calls = {.n = 0};

        for (const struct piece *p = cases[i].pieces; p->call != SIZE_MAX; p++) {
            const struct chat_call_piece piece = {
                .index = p->index, .id = str_from_c(p->id), .name = str_from_c(p->name)};
            const struct chat_call *c = chat_calls_take(&calls, &piece);

            assert_non_null(c);
            if ((size_t)(c - calls.calls) != p->call)
                fail_msg("%s: piece %d", cases[i].name, (int)(p - cases[i].pieces));
        }
        chat_calls_fini(&calls);
    }
}

/* The name of one call after pieces with these names. */
static str name_after(const char *const *names, bool arguments_after_first,
                      struct chat_calls *calls)
{
    for (size_t i = 0; names[i] != NULL; i++) {
        const struct chat_call_piece piece = {.name = str_from_c(names[i])};
        struct chat_call *call = chat_calls_take(calls, &piece);

        assert_non_null(call);
        call->has_arguments = arguments_after_first;
    }
    assert_int_equal(calls->n, 1);
    return buf_str(&calls->calls[0].name);
}

static void a_name_in_pieces_is_joined_until_arguments_arrive(void **state)
{
    static const char *const pieces[] = {"get_", "weather", NULL};
    static const char *const repeated[] = {"get_weather", "get_weather", NULL};
    static const char *const late[] = {"", "get_weather", NULL};
    struct chat_calls calls = {.n = 0};

    (void)state;
    assert_str_c(name_after(pieces, false, &calls), "get_weather");
    chat_calls_fini(&calls);
    assert_str_c(name_after(repeated, false, &calls), "get_weather");
    chat_calls_fini(&calls);
    assert_str_c(name_after(pieces, true, &calls), "get_");
    chat_calls_fini(&calls);
    assert_str_c(name_after(late, true, &calls), "get_weather");
    chat_calls_fini(&calls);
}

static void the_second_call_with_an_id_has_none_of_its_own(void **state)
{
    const struct chat_call_piece first = {.index = 0, .id = STR("0"), .name = STR("f")};
    const struct chat_call_piece second = {.index = 1, .id = STR("0"), .name = STR("g")};
    struct chat_calls calls = {.n = 0};

    (void)state;
    assert_false(chat_calls_take(&calls, &first)->id_taken);
    assert_true(chat_calls_take(&calls, &second)->id_taken);
    chat_calls_fini(&calls);
}

static void there_is_a_limit(void **state)
{
    struct chat_calls calls = {.n = 0};

    (void)state;
    for (int64_t i = 0; i <= CHAT_MAX_CALLS; i++) {
        const struct chat_call_piece piece = {.index = i, .name = STR("f")};

        assert_int_equal(chat_calls_take(&calls, &piece) != NULL, i < CHAT_MAX_CALLS);
    }
    chat_calls_fini(&calls);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_find_their_calls),
        cmocka_unit_test(a_name_in_pieces_is_joined_until_arguments_arrive),
        cmocka_unit_test(the_second_call_with_an_id_has_none_of_its_own),
        cmocka_unit_test(there_is_a_limit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
