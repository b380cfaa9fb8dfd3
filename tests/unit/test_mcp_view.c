/* test_mcp_view.c -- MCP servers and their tools as the discovery endpoints show them. */
#include "lib/test.h"

#include "front/mcp_view.h"
#include "mcp/hub/mcp_hub.h"

static const struct mcp_server_conf zoo = {.label = STR_INIT("zoo"), .is_enabled = true};
static const struct mcp_server_conf web = {
    .label = STR_INIT("web"), .is_enabled = true, .is_required = true};
static const struct mcp_server_conf web2 = {.label = STR_INIT("web-2")};
static const struct mcp_server_conf bad = {.label = STR_INIT("bad"), .is_enabled = true};

static void servers_are_sorted_and_tell_what_is_wrong(void **state)
{
    const struct mcp_server_view servers[] = {
        {.conf = &zoo, .transport = MCP_TRANSPORT_STDIO, .error = STR("exited with 1")},
        {.conf = &web2, .transport = MCP_TRANSPORT_SSE, .error = STR("")},
        {.conf = &web, .transport = MCP_TRANSPORT_HTTP, .is_available = true, .error = STR("")},
        {.conf = &bad, .error = STR("needs a \"command\"")},
    };
    const struct mcp_snapshot snapshot = {servers, COUNT_OF(servers)};
    struct buf out = {.limit = 0};

    (void)state;
    mcp_view_servers(&snapshot, &out);
    assert_string_equal(
        buf_cstr(&out),
        "{\"object\":\"list\",\"data\":["
        "{\"server_label\":\"bad\",\"enabled\":true,\"available\":false,\"required\":false,"
        "\"transport\":\"stdio\",\"error\":\"needs a \\\"command\\\"\"},"
        "{\"server_label\":\"web\",\"enabled\":true,\"available\":true,\"required\":true,"
        "\"transport\":\"streamable_http\"},"
        "{\"server_label\":\"web-2\",\"enabled\":false,\"available\":false,\"required\":false,"
        "\"transport\":\"sse\"},"
        "{\"server_label\":\"zoo\",\"enabled\":true,\"available\":false,\"required\":false,"
        "\"transport\":\"stdio\",\"error\":\"exited with 1\"}]}");
    buf_fini(&out);
}

static void nothing_configured_is_an_empty_list(void **state)
{
    struct buf out = {.limit = 0};

    (void)state;
    mcp_view_servers(NULL, &out);
    assert_string_equal(buf_cstr(&out), "{\"object\":\"list\",\"data\":[]}");
    buf_fini(&out);
}

static void tools_are_sorted_and_their_schemas_as_listed(void **state)
{
    const struct mcp_catalogue_tool tools[] = {
        {.name = STR("b"), .description = STR("says \"b\""), .schema = STR("{ \"$id\": 1.0 }")},
        {.name = STR("a"), .description = STR(""), .schema = STR("{}")},
    };
    const struct mcp_catalogue catalogue = {STR("web"), tools, COUNT_OF(tools)};
    struct buf out = {.limit = 0};

    (void)state;
    mcp_view_tools(STR("web"), &catalogue, &out);
    assert_string_equal(buf_cstr(&out), "{\"server_label\":\"web\",\"available\":true,\"tools\":["
                                        "{\"name\":\"a\",\"description\":\"\",\"input_schema\":{}},"
                                        "{\"name\":\"b\",\"description\":\"says \\\"b\\\"\","
                                        "\"input_schema\":{ \"$id\": 1.0 }}]}");
    buf_fini(&out);
}

static void server_without_tools_has_an_empty_list(void **state)
{
    struct buf out = {.limit = 0};

    (void)state;
    mcp_view_tools(STR("web"), NULL, &out);
    assert_string_equal(buf_cstr(&out),
                        "{\"server_label\":\"web\",\"available\":true,\"tools\":[]}");
    buf_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(servers_are_sorted_and_tell_what_is_wrong),
        cmocka_unit_test(nothing_configured_is_an_empty_list),
        cmocka_unit_test(tools_are_sorted_and_their_schemas_as_listed),
        cmocka_unit_test(server_without_tools_has_an_empty_list),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
