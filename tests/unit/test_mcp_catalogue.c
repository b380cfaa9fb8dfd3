/* test_mcp_catalogue.c -- the tools of a server: what is kept of a listing and of an
 * item, and how they are shown. */
#include "lib/test.h"

#include "json/json_read.h"
#include "lib/fixture.h"
#include "mcp/session/mcp_catalogue.h"

static struct mcp_listing listing;

/* A listing of one page with these tools. */
static const struct mcp_listing *listed(const char *tools)
{
    struct test_ids ids;
    struct buf result = {0};
    struct err e;
    str cursor;

    test_ids_reset(&ids);
    mcp_listing_init(&listing, &ids.source, true, NULL, NULL);
    buf_c(&result, "{\"tools\":[");
    buf_c(&result, tools);
    buf_c(&result, "]}");
    assert_int_equal(mcp_listing_add(&listing, buf_str(&result), &cursor, &e), 0);
    buf_fini(&result);
    return &listing;
}

/* The catalogue must not need the listing any more. */
static struct mcp_catalogue *catalogue_of(const char *tools, const struct mcp_server_conf *server)
{
    struct mcp_catalogue *c = mcp_catalogue_new(STR("docs"), listed(tools), server);

    mcp_listing_fini(&listing);
    assert_non_null(c);
    return c;
}

static struct mcp_catalogue *catalogue_of_item(const char *tools)
{
    char *text = exact_copy(str_from_c(tools));
    struct mcp_catalogue *c = mcp_catalogue_from_item(STR("docs"), str_from(text, strlen(tools)));

    free(text);
    assert_non_null(c);
    return c;
}

static void assert_written(const struct mcp_catalogue *c, const struct mcp_filter *names,
                           const char *expected)
{
    struct buf out = {0};

    mcp_catalogue_write(c, names, &out);
    assert_false(buf_failed(&out));
    assert_str_c(buf_str(&out), expected);
    buf_fini(&out);
}

static void tool_has_all_that_its_server_said(void **state)
{
    struct mcp_catalogue *c = catalogue_of(
        "{\"name\":\"re\\u0061d\",\"title\":\"t\",\"description\":\"Reads \\\"it\\\".\","
        "\"inputSchema\":{\"$schema\":\"x\", \"type\":\"object\"},"
        "\"annotations\":{\"readOnlyHint\":true}}",
        NULL);
    const struct mcp_catalogue_tool *t = mcp_catalogue_find(c, STR("read"));

    (void)state;
    assert_str_c(c->label, "docs");
    assert_int_equal(c->n, 1);
    assert_ptr_equal(t, &c->tools[0]);
    assert_str_c(t->description, "Reads \"it\".");
    assert_str_c(t->schema, "{\"$schema\":\"x\", \"type\":\"object\"}");
    assert_str_c(t->model_schema, "{\"type\":\"object\",\"properties\":{}}");
    assert_str_c(t->annotations, "{\"readOnlyHint\":true,\"read_only\":true}");
    assert_true(t->is_read_only);
    assert_null(t->mirrors);
    assert_null(mcp_catalogue_find(c, STR("write")));
    mcp_catalogue_unref(c);
}

static void server_cannot_say_what_read_only_is(void **state)
{
    struct mcp_catalogue *c =
        catalogue_of("{\"name\":\"a\",\"inputSchema\":{\"type\":\"object\",\"properties\":{}},"
                     "\"annotations\":{\"read_only\":true, \"read\\u005fonly\":true}}",
                     NULL);

    (void)state;
    assert_str_c(c->tools[0].annotations, "{\"read_only\":false}");
    assert_ptr_equal(c->tools[0].model_schema.p, c->tools[0].schema.p); /* no second copy */
    mcp_catalogue_unref(c);
}

static void operator_decides_what_is_shown(void **state)
{
    static const str allowed[] = {STR_INIT("a"), STR_INIT("b")}, excluded[] = {STR_INIT("b")};
    static const struct mcp_server_conf server = {.allowed_tools = {true, allowed, 2},
                                                  .excluded_tools = {true, excluded, 1}};
    struct mcp_catalogue *c = catalogue_of("{\"name\":\"c\",\"inputSchema\":{}},"
                                           "{\"name\":\"b\",\"inputSchema\":{}},"
                                           "{\"name\":\"a\",\"inputSchema\":{}}",
                                           &server);

    (void)state;
    assert_int_equal(c->n, 1);
    assert_str_c(c->tools[0].name, "a");
    mcp_catalogue_unref(c);
}

static void mirrors_outlive_the_listing(void **state)
{
    struct mcp_catalogue *c = catalogue_of(
        "{\"name\":\"a\",\"inputSchema\":{\"type\":\"object\",\"properties\":{\"region\":{"
        "\"type\":\"string\",\"x-mcp-header\":\"Region\"}}}}",
        NULL);
    const struct mcp_mirror *mirror = c->tools[0].mirrors;
    struct buf value = {0};

    (void)state;
    assert_str_c(mirror->header, "Mcp-Param-Region");
    assert_true(mcp_mirror_value(mirror, STR("{\"region\":\"eu\"}"), &value));
    assert_str_c(buf_str(&value), "eu");
    assert_str_c(c->tools[0].model_schema,
                 "{\"type\":\"object\",\"properties\":{\"region\":{\"type\":\"string\"}}}");
    buf_fini(&value);
    mcp_catalogue_unref(c);
}

static void item_shows_tools_without_nulls(void **state)
{
    static const str only_b[] = {STR_INIT("b")};
    static const struct mcp_filter names = {{true, only_b, 1}, MCP_HINT_ANY},
                                   none = {{true, NULL, 0}, MCP_HINT_ANY},
                                   read_only = {.hint = MCP_HINT_READ_ONLY};
    static const char a[] = "{\"name\":\"a\",\"input_schema\":{\"type\":\"object\"},"
                            "\"annotations\":{\"read_only\":false}}";
    static const char b[] = "{\"name\":\"b\",\"description\":\"\\n\",\"input_schema\":{},"
                            "\"annotations\":{\"x\":[1,2],\"read_only\":false}}";
    struct mcp_catalogue *c = catalogue_of(
        "{\"name\":\"a\",\"inputSchema\":{ \"type\" : \"object\" }},"
        "{\"name\":\"b\",\"title\":\"\\n\",\"inputSchema\":{},\"annotations\":{\"x\":[1, 2]}}",
        NULL);
    char both[512];

    (void)state;
    (void)snprintf(both, sizeof(both), "%s,%s", a, b);
    assert_written(c, NULL, both);
    assert_written(c, &names, b);
    assert_written(c, &none, "");
    assert_written(c, &read_only, "");
    mcp_catalogue_unref(c);
}

static void item_gives_back_what_it_was_made_from(void **state)
{
    struct mcp_catalogue *c = catalogue_of(
        "{\"name\":\"a.b\",\"description\":\"d\",\"inputSchema\":{\"type\":\"object\"},"
        "\"annotations\":{\"readOnlyHint\":true,\"title\":\"\\u00e9\"}},"
        "{\"name\":\"c\",\"inputSchema\":{\"x\":1}}",
        NULL);
    struct mcp_catalogue *again;
    struct buf item = {0};

    (void)state;
    buf_char(&item, '[');
    mcp_catalogue_write(c, NULL, &item);
    buf_char(&item, ']');
    again = catalogue_of_item(buf_cstr(&item));
    assert_int_equal(again->n, 2);
    for (size_t i = 0; i < again->n; i++) {
        assert_str_eq(again->tools[i].name, c->tools[i].name);
        assert_str_eq(again->tools[i].description, c->tools[i].description);
        assert_str_eq(again->tools[i].schema, c->tools[i].schema);
        assert_str_eq(again->tools[i].model_schema, c->tools[i].model_schema);
        assert_str_eq(again->tools[i].annotations, c->tools[i].annotations);
        assert_int_equal(again->tools[i].is_read_only, c->tools[i].is_read_only);
    }
    buf_fini(&item);
    mcp_catalogue_unref(again);
    mcp_catalogue_unref(c);
}

static void malformed_tools_of_an_item_are_left_out(void **state)
{
    static const char tools[] =
        "[1,{},{\"name\":\"\"},{\"name\":7},{\"name\":\"bad\",\"input_schema\":[]},"
        "{\"name\":\"bad\",\"input_schema\":{\"type\":\"string\"}},"
        "{\"name\":\"a\",\"input_schema\":null,\"annotations\":null,\"description\":null},"
        "{\"name\":\"a\",\"description\":\"second\"},"
        "{\"name\":\"b\",\"input_schema\":{},\"annotations\":{\"readOnlyHint\":true}}]";
    struct mcp_catalogue *c = catalogue_of_item(tools);

    (void)state;
    assert_int_equal(c->n, 2);
    assert_str_c(c->tools[0].name, "a");
    assert_str_c(c->tools[0].description, "");
    assert_str_c(c->tools[0].schema, "{}");
    assert_str_c(c->tools[1].name, "b");
    assert_true(c->tools[1].is_read_only);
    mcp_catalogue_unref(c);
}

static void item_that_is_no_array_has_no_tools(void **state)
{
    struct mcp_catalogue *c = catalogue_of_item("{\"name\":\"a\"}");

    (void)state;
    assert_int_equal(c->n, 0);
    assert_written(c, NULL, "");
    mcp_catalogue_unref(c);
}

static void item_has_no_more_tools_than_a_listing(void **state)
{
    struct buf tools = {0};
    struct mcp_catalogue *c;

    (void)state;
    for (size_t i = 0; i <= MCP_LISTING_MAX_TOOLS; i++) {
        buf_c(&tools, i == 0 ? "[{\"name\":\"t" : ",{\"name\":\"t");
        buf_uint(&tools, i);
        buf_c(&tools, "\"}");
    }
    buf_char(&tools, ']');
    c = catalogue_of_item(buf_cstr(&tools));
    assert_int_equal(c->n, MCP_LISTING_MAX_TOOLS);
    mcp_catalogue_unref(c);
    buf_fini(&tools);
}

static void another_label_keeps_the_tools_alive(void **state)
{
    struct mcp_catalogue *c = catalogue_of("{\"name\":\"a\",\"inputSchema\":{}}", NULL);
    struct mcp_catalogue *same = mcp_catalogue_under(c, STR("docs"));
    struct mcp_catalogue *other = mcp_catalogue_under(c, STR("wiki"));

    (void)state;
    assert_ptr_equal(same, c);
    mcp_catalogue_unref(same);
    mcp_catalogue_unref(c);
    assert_str_c(other->label, "wiki");
    assert_str_c(mcp_catalogue_find(other, STR("a"))->name, "a");
    mcp_catalogue_unref(other);
    mcp_catalogue_unref(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tool_has_all_that_its_server_said),
        cmocka_unit_test(server_cannot_say_what_read_only_is),
        cmocka_unit_test(operator_decides_what_is_shown),
        cmocka_unit_test(mirrors_outlive_the_listing),
        cmocka_unit_test(item_shows_tools_without_nulls),
        cmocka_unit_test(item_gives_back_what_it_was_made_from),
        cmocka_unit_test(malformed_tools_of_an_item_are_left_out),
        cmocka_unit_test(item_that_is_no_array_has_no_tools),
        cmocka_unit_test(item_has_no_more_tools_than_a_listing),
        cmocka_unit_test(another_label_keeps_the_tools_alive),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
