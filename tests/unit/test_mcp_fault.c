/* test_mcp_fault.c -- what MCP servers say, with each allocation failing in turn.
 *
 * What is made of it is all there, or it is said that something is missing. */
#include "lib/failing_malloc.h"
#include "lib/fixture.h"
#include "lib/test.h"
#include "mcp/hub/mcp_hub_internal.h"
#include "mcp/hub/mcp_name.h"
#include "mcp/proto/mcp_failure.h"
#include "mcp/proto/mcp_listing.h"
#include "mcp/proto/mcp_result.h"
#include "mcp/proto/mcp_schema.h"
#include "mcp/session/mcp_catalogue.h"

/* Returns whether it succeeded, with what it made in out. */
typedef bool run_fn(struct buf *out);

static const str page = STR_INIT(
    "{\"tools\":[{\"name\":\"na\\u00efve\",\"title\":\"t\\u00e9\",\"inputSchema\":{\"properties\":{"
    "\"\\u00e9\":{\"type\":\"string\",\"x-mcp-header\":\"\\u0052\"}}}}],\"nextCursor\":\"x\"}");

static bool write_tool(const struct mcp_listed_tool *t, struct mcp_names *names, struct buf *out)
{
    str name;

    if (mcp_names_add(names, STR("label"), t->name, &name) == -1)
        return false;
    buf_append(out, name);
    mcp_description_write(&t->tool, STR("server"), out);
    mcp_schema_write(t->tool.schema, out);
    (void)mcp_mirror_value(t->mirrors, STR("{\"\\u00e9\":\"\\u00e9\"}"), out);
    return !buf_failed(out);
}

static bool list_tools(struct buf *out)
{
    struct test_ids ids;
    struct mcp_listing l;
    struct mcp_names names;
    struct err e;
    str cursor = STR_NONE;
    bool ok;

    test_ids_reset(&ids);
    mcp_listing_init(&l, &ids.source, true, NULL, NULL);
    mcp_names_init(&names, &l.arena, &ids.source, false);
    ok = mcp_listing_add(&l, page, &cursor, &e) == 0;
    assert_true(!ok || l.n == 1);
    ok = ok && write_tool(l.first, &names, out);
    mcp_listing_fini(&l);
    return ok;
}

static const struct mcp_call_result result = {
    .content = STR_INIT("[{\"type\":\"text\",\"text\":\"a\\u00e9\"},{\"type\":\"image\",\"data\":"
                        "\"AA\\/A\"},{\"type\":\"hologram\"}]"),
};

static bool write_result(struct buf *out)
{
    static const struct mcp_result_options options = {.form = MCP_RESULT_PARTS};

    mcp_result_write(&result, &options, out);
    return !buf_failed(out);
}

static bool write_structured(struct buf *out)
{
    static const struct mcp_call_result structured = {.structured = STR_INIT("{\"a\":[1, 2]}")};
    static const struct mcp_result_options options = {.form = MCP_RESULT_TEXT};

    mcp_result_write(&structured, &options, out);
    return !buf_failed(out);
}

static bool write_failure(struct buf *out)
{
    static const struct mcp_failure of_tool = {.cause = MCP_FAILED_TOOL, .result = &result};
    static const struct mcp_failure of_rpc = {
        .cause = MCP_FAILED_RPC, .code = 1, .message = STR_INIT("bad")};

    mcp_failure_object(&of_tool, out);
    mcp_failure_text(&of_tool, out);
    mcp_failure_object(&of_rpc, out);
    return !buf_failed(out);
}

/* From the item that it writes, so that both ways are gone. */
static bool make_catalogue(struct buf *out)
{
    struct test_ids ids;
    struct mcp_listing l;
    struct mcp_catalogue *c = NULL, *again = NULL;
    struct buf item = {0};
    struct err e;
    str cursor = STR_NONE;

    test_ids_reset(&ids);
    mcp_listing_init(&l, &ids.source, true, NULL, NULL);
    if (mcp_listing_add(&l, page, &cursor, &e) == 0)
        c = mcp_catalogue_new(STR("label"), &l, NULL);
    mcp_listing_fini(&l);
    buf_char(&item, '[');
    if (c != NULL)
        mcp_catalogue_write(c, NULL, &item);
    buf_char(&item, ']');
    if (c != NULL && !buf_failed(&item))
        again = mcp_catalogue_from_item(STR("label"), buf_str(&item));
    if (again != NULL)
        mcp_catalogue_write(again, NULL, out);
    assert_true(again == NULL || (c->n == 1 && again->n == 1));
    buf_fini(&item);
    mcp_catalogue_unref(c);
    mcp_catalogue_unref(again);
    return again != NULL && !buf_failed(out);
}

static bool write_outcome(struct buf *out)
{
    static const struct mcp_failure failure = {.cause = MCP_FAILED_TOOL, .result = &result};
    static const struct mcp_result_options options = {.form = MCP_RESULT_TEXT};
    const struct secrets none = {.first = NULL};
    struct hub_outcome good = {0}, bad = {0};
    bool ok;

    hub_outcome_write(&good, NULL, &result, STR("label"), &none, &options);
    hub_outcome_write(&bad, &failure, NULL, STR("label"), &none, &options);
    ok = !good.is_failed && bad.error.len > 0 && bad.error_object.len > 0;
    assert_true(bad.is_failed);
    assert_int_equal(bad.error.len > 0, bad.error_object.len > 0);
    buf_append(out, buf_str(&good.output));
    buf_append(out, buf_str(&bad.error_object));
    hub_outcome_fini(&good);
    hub_outcome_fini(&bad);
    return ok && !buf_failed(out);
}

/* Runs with the first, second ... allocation failing, until none does. */
static void fail_each(run_fn *run)
{
    struct buf whole = {0};
    bool ok = false;

    assert_true(run(&whole));
    for (long n = 0; !ok; n++) {
        struct buf out = {0};
        bool has_failed;

        failing_malloc_begin(n, FAILS_ONCE);
        ok = run(&out);
        has_failed = failing_malloc_end();
        if (ok)
            assert_str_eq(buf_str(&out), buf_str(&whole));
        assert_int_equal(ok, !has_failed);
        buf_fini(&out);
        assert_true(n < 1000);
    }
    buf_fini(&whole);
}

static void what_is_made_is_whole_or_known_to_be_broken(void **state)
{
    static run_fn *const runs[] = {list_tools,    write_result,   write_structured,
                                   write_failure, make_catalogue, write_outcome};

    (void)state;
    for (size_t i = 0; i < COUNT_OF(runs); i++)
        fail_each(runs[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_made_is_whole_or_known_to_be_broken),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
