/* test_mcp_listing.c -- pages of tools become one list (MCP 9.2, 10.8). */
#include "lib/test.h"

#include "lib/fixture.h"
#include "mcp/proto/jsonrpc.h"
#include "mcp/proto/mcp_listing.h"

struct fixture {
    struct mcp_listing listing;
    struct test_ids ids;
    struct buf drops;
    struct err e;
    str cursor;
};

static void on_drop(void *arg, str name, const char *why)
{
    struct buf *drops = arg;

    buf_append(drops, name);
    buf_c(drops, ": ");
    buf_c(drops, why);
    buf_char(drops, '\n');
}

static void begin(struct fixture *f, bool wants_mirrors)
{
    *f = (struct fixture){.cursor = STR_NONE};
    test_ids_reset(&f->ids);
    mcp_listing_init(&f->listing, &f->ids.source, wants_mirrors, on_drop, &f->drops);
}

static void end(struct fixture *f)
{
    mcp_listing_fini(&f->listing);
    buf_fini(&f->drops);
}

/* The text is gone when add returns, so nothing may point into it. */
static int add(struct fixture *f, str result)
{
    char *exact = exact_copy(result);
    int rc = mcp_listing_add(&f->listing, str_from(exact, result.len), &f->cursor, &f->e);

    free(exact);
    return rc;
}

static struct buf names(const struct fixture *f)
{
    struct buf out = {0};

    for (struct mcp_listed_tool *t = f->listing.first; t != NULL; t = t->next) {
        buf_append(&out, t->tool.name);
        buf_char(&out, ' ');
    }
    return out;
}

static void check_names(const struct fixture *f, const char *expected)
{
    struct buf got = names(f);

    assert_str_c(buf_str(&got), expected);
    buf_fini(&got);
}

static void recorded_pages_become_one_list_in_order(void **state)
{
    struct buf file = fixture_read("mcp/stdio-pagination-list-changed.jsonl");
    str rest = buf_str(&file);
    struct fixture f;

    (void)state;
    begin(&f, false);
    for (int64_t id = 1; id <= 4; id++) {
        str line, result = STR_NONE;

        while (str_is_none(result) && rest.len > 0) {
            line = str_from(rest.p, str_find_char(rest, '\n'));
            rest = str_skip(rest, line.len + 1);
            result = jr_member(jr_member(line, STR("msg")), STR("result"));
            if (str_is_none(jr_member(result, STR("tools"))))
                result = STR_NONE;
        }
        assert_int_equal(add(&f, result), 0);
        assert_int_equal(str_is_none(f.cursor), id == 4);
    }
    check_names(&f, "t1 t2 t3 admin.tools.list grow audio mixed empty big rpcerror noise crash "
                    "badstructured ");
    assert_int_equal(f.drops.len, 0);
    end(&f);
    buf_fini(&file);
}

static void schemas_are_kept_byte_by_byte(void **state)
{
    static const char schema[] =
        "{ \"$schema\":\"http://x/canary\", \"$defs\" : {\"a\":{\"$ref\":\"#\"}},"
        "\"if\":{},\t\"x\":\"\\u00e9\xC3\xA9\" }";
    struct fixture f;
    struct buf page = {0};

    (void)state;
    begin(&f, true);
    buf_c(&page, "{\"tools\":[{\"name\":\"a\",\"inputSchema\":");
    buf_c(&page, schema);
    buf_c(&page, "}],\"ttlMs\":5}");
    assert_int_equal(add(&f, buf_str(&page)), 0);
    assert_str_c(f.listing.first->tool.schema, schema);
    assert_int_equal(f.listing.cache.ttl_ms, 5);
    buf_fini(&page);
    end(&f);
}

static void an_empty_cursor_is_one_and_a_repeated_one_an_error(void **state)
{
    struct fixture f;

    (void)state;
    begin(&f, false);
    assert_int_equal(add(&f, STR("{\"tools\":[],\"nextCursor\":\"\"}")), 0);
    assert_str_c(f.cursor, "");
    assert_int_equal(add(&f, STR("{\"tools\":[],\"nextCursor\":\"a\"}")), 0);
    assert_str_c(f.cursor, "a");
    assert_int_equal(add(&f, STR("{\"tools\":[],\"nextCursor\":\"\"}")), -1);
    assert_string_equal(f.e.msg, "The server repeats a cursor of tools/list.");
    end(&f);
}

static void a_forgotten_cursor_starts_over_once(void **state)
{
    static const str page =
        STR_INIT("{\"tools\":[{\"name\":\"a\",\"inputSchema\":{}}],\"nextCursor\":\"x\"}");
    struct fixture f;

    (void)state;
    begin(&f, false);
    assert_false(mcp_listing_restart(&f.listing, JSONRPC_INVALID_PARAMS)); /* no cursor was sent */
    assert_int_equal(add(&f, page), 0);
    assert_false(mcp_listing_restart(&f.listing, JSONRPC_INTERNAL_ERROR));
    assert_true(mcp_listing_restart(&f.listing, JSONRPC_INVALID_PARAMS));
    check_names(&f, "");
    assert_int_equal(add(&f, page), 0);
    check_names(&f, "a ");
    assert_false(mcp_listing_restart(&f.listing, JSONRPC_INVALID_PARAMS));
    end(&f);
}

#define HEADER_OF(type) "{\"properties\":{\"r\":{\"type\":\"" type "\",\"x-mcp-header\":\"R\"}}}"

static const str odd_tools =
    STR_INIT("{\"tools\":[{\"name\":\"a\",\"inputSchema\":{}},"
             "{\"name\":\"\\u0061\",\"inputSchema\":{\"title\":\"second\"}},"
             "{\"name\":\"\",\"inputSchema\":{}},"
             "{\"name\":\"task\",\"inputSchema\":{},\"execution\":{\"taskSupport\":\"required\"}},"
             "{\"name\":\"list\",\"inputSchema\":{\"type\":\"array\"}},"
             "{\"name\":\"none\"},"
             "{\"name\":\"good\",\"inputSchema\":" HEADER_OF(
                 "string") "},"
                           "{\"name\":\"bad\",\"inputSchema\":" HEADER_OF(
                               "number") "},"
                                         "{\"name\":\"na\\u00efve.name\",\"inputSchema\":{}}]}");

static void a_tool_is_dropped_with_its_reason_and_the_others_stay(void **state)
{
    struct fixture f;

    (void)state;
    begin(&f, true);
    assert_int_equal(add(&f, odd_tools), 0);
    check_names(&f, "a good na\\u00efve.name ");
    assert_true(str_is_none(jr_member(f.listing.first->tool.schema, STR("title"))));
    assert_str_c(f.listing.first->next->mirrors->header, "Mcp-Param-R");
    assert_str_c(f.listing.first->next->next->name, "na\xC3\xAFve.name");
    assert_str_c(buf_str(&f.drops),
                 ": it has no name\n"
                 "\\u0061: another tool before it has the same name\n"
                 "task: it runs as a task only, which is not supported\n"
                 "list: its inputSchema has another type than \"object\"\n"
                 "none: its inputSchema is not an object\n"
                 "bad: an x-mcp-header of its inputSchema is on a type that has no place in a "
                 "header\n");
    end(&f);
}

static void without_headers_their_annotations_do_not_matter(void **state)
{
    struct fixture f;

    (void)state;
    begin(&f, false);
    assert_int_equal(add(&f, odd_tools), 0);
    check_names(&f, "a good bad na\\u00efve.name ");
    assert_null(f.listing.first->next->mirrors);
    end(&f);
}

static void tools_and_pages_and_bytes_have_limits(void **state)
{
    struct buf page = {0};
    struct fixture f;

    (void)state;
    buf_c(&page, "{\"tools\":[{\"name\":\"0\",\"inputSchema\":{}}");
    for (unsigned i = 1; i <= MCP_LISTING_MAX_TOOLS; i++) {
        buf_c(&page, ",{\"name\":\"");
        buf_uint(&page, i);
        buf_c(&page, "\",\"inputSchema\":{}}");
    }
    buf_c(&page, "]}");
    begin(&f, false);
    assert_int_equal(add(&f, buf_str(&page)), -1);
    assert_string_equal(f.e.msg, "The server has more than 1000 tools.");
    end(&f);

    begin(&f, false);
    for (unsigned i = 1; i <= MCP_LISTING_MAX_PAGES; i++) {
        buf_reset(&page);
        buf_c(&page, "{\"tools\":[],\"nextCursor\":\"");
        buf_uint(&page, i);
        buf_c(&page, "\"}");
        assert_int_equal(add(&f, buf_str(&page)), i < MCP_LISTING_MAX_PAGES ? 0 : -1);
    }
    assert_string_equal(f.e.msg, "The server lists its tools on more than 100 pages.");
    end(&f);

    begin(&f, false);
    buf_reset(&page);
    buf_c(&page, "{\"tools\":[]");
    while (page.len < MCP_LISTING_MAX_BYTES)
        buf_c(&page, "                                                                ");
    buf_c(&page, "}");
    assert_int_equal(add(&f, buf_str(&page)), -1);
    assert_string_equal(f.e.msg, "The server lists more than 16 MiB of tools.");
    end(&f);
    buf_fini(&page);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recorded_pages_become_one_list_in_order),
        cmocka_unit_test(schemas_are_kept_byte_by_byte),
        cmocka_unit_test(an_empty_cursor_is_one_and_a_repeated_one_an_error),
        cmocka_unit_test(a_forgotten_cursor_starts_over_once),
        cmocka_unit_test(a_tool_is_dropped_with_its_reason_and_the_others_stay),
        cmocka_unit_test(without_headers_their_annotations_do_not_matter),
        cmocka_unit_test(tools_and_pages_and_bytes_have_limits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
