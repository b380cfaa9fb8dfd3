/* test_model_list.c -- one model out of lists as servers write them. */
#include "lib/test.h"

#include "json/json_read.h"
#include "lib/fixture.h"
#include "wire/dialect/model_list.h"

/* The result is NULL when the model is not in the list. */
static void check(const char *list, const char *model, const char *shown, const char *expected)
{
    char *exact = exact_copy(str_from_c(list));
    struct buf out = {.limit = 0};
    bool found =
        model_list_find(str_from(exact, strlen(list)), str_from_c(model), str_from_c(shown), &out);

    assert_int_equal(found, expected != NULL);
    assert_str_c(buf_str(&out), expected == NULL ? "" : expected);
    buf_fini(&out);
    free(exact);
}

#define ENTRY                                                                                      \
    "{ \"object\":\"model\", \"id\" : \"org\\/m\", \"meta\":{\"n_ctx\":4096, \"id\":\"x\"} }"
#define LIST " {\"object\":\"list\",\"data\":[{\"id\":\"a\"}, " ENTRY ", {\"id\":\"a\",\"b\":1}]}\n"

static void the_entry_is_taken_as_it_stands(void **state)
{
    (void)state;
    check(LIST, "org/m", "org/m", ENTRY);
    check(LIST, "a", "a", "{\"id\":\"a\"}");
}

static void an_alias_is_shown_as_the_id(void **state)
{
    (void)state;
    check(LIST, "org/m", "gpt-\"4\"",
          "{ \"object\":\"model\", \"id\" : \"gpt-\\\"4\\\"\", \"meta\":{\"n_ctx\":4096, "
          "\"id\":\"x\"} }");
}

static void what_is_no_list_holds_nothing(void **state)
{
    static const char *const lists[] = {
        "",
        "<html>a</html>",
        "[]",
        "{\"data\":null}",
        "{\"data\":{\"id\":\"a\"}}",
        "{\"data\":[\"a\",null,{\"id\":null},{\"id\":7},{},{\"name\":\"a\"}]}",
        "{\"data\":[{\"id\":\"a\"}]",
        "{\"models\":[{\"id\":\"a\"}]}",
        "{\"data\":[{\"id\":\"A\"},{\"id\":\"a \"}]}",
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(lists); i++)
        check(lists[i], "a", "a", NULL);
}

/* ---- a part */

static bool is_shown(void *arg, str id)
{
    return str_starts_with(id, str_from_c(arg));
}

/* The list as whoever may see models that begin with `prefix` gets it; NULL: it is no list. */
static void check_part(const char *list, const char *expected)
{
    static char prefix[] = "q\"";
    char *exact = exact_copy(str_from_c(list));
    struct buf out = {.limit = 0};
    const bool is_list = model_list_filter(str_from(exact, strlen(list)), is_shown, prefix, &out);

    assert_int_equal(is_list, expected != NULL);
    if (expected != NULL)
        assert_str_c(buf_str(&out), expected);
    buf_fini(&out);
    free(exact);
}

static void what_is_not_shown_is_left_out_of_every_list(void **state)
{
    (void)state;
    check_part(
        " {\"object\":\"list\",\"data\":[{\"id\":\"a\"}, {\"id\" : \"q\\u00221\"},7,\"q\\\"\",{},"
        "{\"id\":null}],\"first_id\":\"a\",\"models\":[{\"slug\":\"q\\\"2\"},{\"name\":\"q\\\"\","
        "\"model\":\"a\"},{\"name\":\"b\"}],\"has_more\":false}\n",
        "{\"object\":\"list\",\"data\":[{\"id\" : \"q\\u00221\"}],\"models\":[{\"slug\":"
        "\"q\\\"2\"}]}");
    check_part("{\"data\":[],\"models\":\"a\"}", "{\"data\":[]}");
}

static void what_is_no_list_has_no_part(void **state)
{
    static const char *const lists[] = {"",
                                        "a",
                                        "[{\"id\":\"q\\\"\"}]",
                                        "{\"data\":null}",
                                        "{\"data\":[{\"id\":\"q\\\"\"}]",
                                        "{\"models\":[{\"name\":\"q\\\"\"}]}"};

    (void)state;
    for (size_t i = 0; i < COUNT_OF(lists); i++)
        check_part(lists[i], NULL);
}

static str element_of(str array, size_t i)
{
    struct jr j;

    jr_init(&j, array);
    assert_true(jr_enter(&j, JR_ARRAY));
    while (jr_next_element(&j)) {
        if (i-- == 0)
            return jr_raw(&j);
        jr_skip(&j);
    }
    fail();
    return STR_NONE;
}

/* ---- the list as clients look at it */

/* "small" has 1000 tokens, "guess" may have 2000 and sees images, and of others nothing is known. */
static struct model_view look(void *arg, str id, str entry)
{
    size_t *n = arg;

    assert_true(entry.p[0] == '{');
    (*n)++;
    if (str_eq(id, STR("small")) || str_eq(id, STR("s")))
        return (struct model_view){1000, 1000, false, STR("")};
    if (str_eq(id, STR("guess")))
        return (struct model_view){0, 2000, true, STR("low|high")};
    return (struct model_view){0, 0, false, STR("")};
}

/* The result is NULL when it is no such list. */
static void shows(const char *list, const char *const *aliases, size_t n_aliases,
                  const char *expected)
{
    char *exact = exact_copy(str_from_c(list));
    size_t n_looks = 0;
    const struct model_list_view view = {
        .look = look, .arg = &n_looks, .aliases = {aliases, n_aliases}};
    struct buf out = {.limit = 0};
    bool is_list = model_list_write(str_from(exact, strlen(list)), &view, &out);

    assert_int_equal(is_list, expected != NULL);
    if (expected != NULL)
        assert_str_c(buf_str(&out), expected);
    buf_fini(&out);
    free(exact);
}

#define KNOWN "\"context_length\":1000,\"context_window\":1000,\"max_model_len\":1000}"

static void what_is_known_stands_behind_what_is_there(void **state)
{
    (void)state;
    shows("{\"object\":\"list\",\"data\":[{\"id\":\"small\",\"x\":{ \"y\": 1 }},{\"id\":\"other\"},"
          "{\"id\":\"guess\"}],\"models\":[1]}",
          NULL, 0,
          "{\"object\":\"list\",\"data\":[{\"id\":\"small\",\"x\":{ \"y\": 1 }," KNOWN
          ",{\"id\":\"other\"},{\"id\":\"guess\"}],\"models\":[1]}");
    /* what the upstream says itself stays */
    shows("{\"data\":[{\"max_model_len\":7,\"context_length\":null,\"id\":\"sm\\u0061ll\"}]}", NULL,
          0,
          "{\"data\":[{\"max_model_len\":7,\"context_length\":null,\"id\":\"sm\\u0061ll\","
          "\"context_window\":1000}]}");
    shows("{\"data\":[],\"n\\u0061me\":1}", NULL, 0, "{\"data\":[],\"n\\u0061me\":1}");
    shows(" {\"data\":[ 1 , {\"id\":2}, {} ]} ", NULL, 0, "{\"data\":[1,{\"id\":2},{}]}");
}

static void aliases_of_what_is_there_are_listed(void **state)
{
    static const char *const aliases[] = {"s=small", "*=small",     "lost=nothing",
                                          "s=guess", "guess=small", "q\"=guess"};

    (void)state;
    shows("{\"data\":[{\"id\":\"small\"},{\"id\":\"guess\",\"a\":1}]}", aliases, COUNT_OF(aliases),
          "{\"data\":[{\"id\":\"small\"," KNOWN ",{\"id\":\"guess\",\"a\":1},{\"id\":\"s\"," KNOWN
          ",{\"id\":\"q\\\"\",\"a\":1}]}");
}

static void what_is_no_list_is_not_shown(void **state)
{
    static const char *const lists[] = {
        "", "[]", "{}", "{\"data\":{}}", "{\"data\":[}", "x", "{\"error\":{\"message\":\"m\"}}"};

    (void)state;
    for (size_t i = 0; i < COUNT_OF(lists); i++)
        shows(lists[i], NULL, 0, NULL);
}

static void one_entry_is_shown_in_the_same_way(void **state)
{
    size_t n = 0;
    const struct model_list_view view = {.look = look, .arg = &n};
    struct buf out = {.limit = 0};

    (void)state;
    assert_true(model_list_write_entry(STR(" {\"id\":\"small\"}\n"), &view, &out));
    assert_str_c(buf_str(&out), "{\"id\":\"small\"," KNOWN);
    buf_reset(&out);
    assert_false(model_list_write_entry(STR("{\"id\":7}"), &view, &out));
    assert_false(model_list_write_entry(STR("{\"id\":\"small\""), &view, &out));
    assert_false(model_list_write_entry(STR("{\"error\":{}}"), &view, &out));
    assert_int_equal(out.len, 0);
    buf_fini(&out);
}

/* ---- the catalogue of Codex */

/* The first entry has all that the example has, the contract's, with values of its own. */
static void the_catalogue_has_what_codex_wants(void **state)
{
    struct buf example = fixture_read("responses/codex_models.json"), out = {.limit = 0};
    size_t n = 0;
    const struct model_list_view view = {.look = look, .arg = &n, .wants_catalogue = true};
    str models, entry, key;
    struct jr j;

    (void)state;
    assert_true(model_list_write(
        STR("{\"models\":[{\"name\":\"x\"}],\"object\":\"list\",\"data\":[{\"id\":\"small\"},7,"
            "{\"id\":\"guess\"},{\"id\":\"other\"}]}"),
        &view, &out));
    assert_true(jr_is_valid(buf_str(&out)));
    models = jr_member(buf_str(&out), STR("models"));
    assert_int_equal(jr_count(models), 3);
    assert_int_equal(jr_count(jr_member(buf_str(&out), STR("data"))), 4);
    entry = element_of(models, 0);
    jr_init(&j, element_of(jr_member(buf_str(&example), STR("models")), 0));
    assert_true(jr_enter(&j, JR_OBJECT));
    while (jr_next_member(&j, &key)) {
        if (str_is_none(jr_member(entry, key)) || jr_type_of(jr_member(entry, key)) != jr_peek(&j))
            fail_msg("%.*s", STR_ARG(key));
        jr_skip(&j);
    }
    assert_int_equal(jr_count(entry),
                     jr_count(element_of(jr_member(buf_str(&example), STR("models")), 0)));
    assert_str_c(jr_member(entry, STR("slug")), "\"small\"");
    assert_str_c(jr_member(entry, STR("context_window")), "1000");
    assert_str_c(jr_member(entry, STR("auto_compact_token_limit")), "800");
    assert_str_c(jr_member(entry, STR("truncation_policy")), "{\"mode\":\"tokens\",\"limit\":125}");
    assert_str_c(jr_member(entry, STR("input_modalities")), "[\"text\"]");
    assert_str_c(jr_member(entry, STR("priority")), "1");
    entry = element_of(models, 1);
    assert_str_c(jr_member(entry, STR("context_window")), "2000"); /* Codex would assume more */
    assert_str_c(jr_member(entry, STR("input_modalities")), "[\"text\",\"image\"]");
    assert_int_equal(jr_count(jr_member(entry, STR("supported_reasoning_levels"))), 2);
    entry = element_of(models, 2);
    assert_str_c(jr_member(entry, STR("priority")), "3");
    assert_true(str_is_none(jr_member(entry, STR("context_window"))));
    assert_true(str_is_none(jr_member(entry, STR("auto_compact_token_limit"))));
    assert_str_c(jr_member(entry, STR("truncation_policy")),
                 "{\"mode\":\"tokens\",\"limit\":10000}");
    buf_fini(&example);
    buf_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_entry_is_taken_as_it_stands),
        cmocka_unit_test(an_alias_is_shown_as_the_id),
        cmocka_unit_test(what_is_no_list_holds_nothing),
        cmocka_unit_test(what_is_not_shown_is_left_out_of_every_list),
        cmocka_unit_test(what_is_no_list_has_no_part),
        cmocka_unit_test(what_is_known_stands_behind_what_is_there),
        cmocka_unit_test(aliases_of_what_is_there_are_listed),
        cmocka_unit_test(what_is_no_list_is_not_shown),
        cmocka_unit_test(one_entry_is_shown_in_the_same_way),
        cmocka_unit_test(the_catalogue_has_what_codex_wants),
    };

    return cmocka_run_group_tests_name("model list", tests, NULL, NULL);
}
