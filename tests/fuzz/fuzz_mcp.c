/* fuzz_mcp.c -- any bytes as what an MCP server says: what we make of it is
 * well-formed whatever it was.
 *
 * Each message is read by every reader that could get it, and all that would go
 * on to a client, a model or the server is written and looked at. */
#include "fuzz/fuzz.h"

#include "base/utf8.h"
#include "conv/tool_name.h"
#include "json/json_text.h"
#include "lib/fixture.h"
#include "mcp/hub/mcp_name.h"
#include "mcp/proto/mcp_failure.h"
#include "mcp/proto/mcp_listing.h"
#include "mcp/proto/mcp_request.h"
#include "mcp/proto/mcp_result.h"
#include "mcp/proto/mcp_schema.h"

enum { LIMIT_BYTES = 100, NOTE_BYTES = 40 };

static void promise_one_line_of_json(struct buf *b, const char *what)
{
    fuzz_promise(!buf_failed(b) && jr_is_valid(buf_str(b)), what);
    fuzz_promise(memchr(b->p, '\n', b->len) == NULL, "a message is one line");
    buf_fini(b);
}

/* ---- what goes to the server */

static void check_request(const struct jsonrpc_message *m)
{
    struct mcp_request again = {.method = MCP_CALL_TOOL, .id = 7, .version = MCP_2026_07_28};
    struct buf out = {0};

    mcp_request_answer(m, &out);
    promise_one_line_of_json(&out, "an answer is JSON");
    again.tool = jr_member_string(m->params, STR("name"));
    if (str_is_none(again.tool) ||
        mcp_arguments(jr_member(m->params, STR("arguments")), &again.arguments, NULL) == -1)
        return;
    out = (struct buf){0};
    mcp_request_write(&again, &out);
    promise_one_line_of_json(&out, "a call is JSON");
}

static void check_inputs(const struct mcp_call_result *r)
{
    struct mcp_request again = {.method = MCP_CALL_TOOL, .version = MCP_2026_07_28};
    struct buf inputs = {0}, out = {0};

    if (mcp_decline_inputs(r->input_requests, &inputs, NULL) == 0) {
        again.tool = STR("t");
        again.request_state = r->request_state;
        if (inputs.len > 0)
            again.input_responses = buf_str(&inputs);
        mcp_request_write(&again, &out);
        promise_one_line_of_json(&out, "a call with inputs is JSON");
    }
    buf_fini(&inputs);
}

/* ---- what goes to clients and models */

static void check_form(const struct mcp_call_result *r, enum mcp_result_form form)
{
    const struct mcp_result_options options = {.form = form, .limit_bytes = LIMIT_BYTES};
    struct buf out = {0};

    mcp_result_write(r, &options, &out);
    fuzz_promise(!buf_failed(&out) && utf8_is_valid(buf_str(&out)), "a result is UTF-8");
    fuzz_promise(out.len == 0 || memchr(out.p, '\0', out.len) == NULL, "without NUL");
    if (form != MCP_RESULT_TEXT)
        fuzz_promise(jr_is_valid(buf_str(&out)), "an array of parts is JSON");
    else
        fuzz_promise(out.len <= LIMIT_BYTES + NOTE_BYTES, "a result keeps its limit");
    buf_fini(&out);
}

static void check_failure(const struct mcp_failure *f)
{
    struct buf text = {0}, object = {0};

    mcp_failure_text(f, &text);
    fuzz_promise(utf8_is_valid(buf_str(&text)) && text.len > 0, "a failure has words");
    fuzz_promise(utf8_count(buf_str(&text)) <= MCP_FAILURE_MAX_CHARS, "but not too many");
    mcp_failure_object(f, &object);
    fuzz_promise(jr_is_valid(buf_str(&object)), "its object is JSON");
    (void)mcp_failure_wants_refresh(f);
    buf_fini(&text);
    buf_fini(&object);
}

static void check_call(str result)
{
    struct mcp_call_result r;
    struct mcp_failure f = {.cause = MCP_FAILED_TOOL, .result = &r};

    if (mcp_read_call(result, &r, NULL) == -1)
        return;
    if (r.needs_input) {
        check_inputs(&r);
        return;
    }
    for (int form = MCP_RESULT_TEXT; form <= MCP_RESULT_PARTS; form++)
        check_form(&r, (enum mcp_result_form)form);
    check_failure(&f);
}

/* ---- tools */

static void check_name(str label, str tool, struct arena *a)
{
    str name = mcp_name(label, tool, a);

    fuzz_promise(name.len > 0 && name.len <= TOOL_NAME_MAX, "a name has 1 to 64 characters");
    for (size_t i = 0; i < name.len; i++)
        fuzz_promise(strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-",
                            name.p[i]) != NULL,
                     "of these");
    fuzz_promise(str_eq(name, mcp_name(label, tool, a)), "and is always the same");
}

static void check_schema(str schema)
{
    struct buf once = {0}, twice = {0};
    struct err e;

    mcp_schema_write(schema, &once);
    fuzz_promise(jr_is_valid(buf_str(&once)), "a schema is JSON");
    fuzz_promise(once.len > MCP_SCHEMA_MAX_BYTES || mcp_schema_check(buf_str(&once), &e) == 0,
                 "the model's copy would pass as well");
    mcp_schema_write(buf_str(&once), &twice);
    fuzz_promise(str_eq(buf_str(&once), buf_str(&twice)), "a copy has nothing left to remove");
    buf_fini(&once);
    buf_fini(&twice);
}

/* The schema stands for arguments too: some paths lead somewhere. */
static void check_mirrors(const struct mcp_listed_tool *t)
{
    for (const struct mcp_mirror *m = t->mirrors; m != NULL; m = m->next) {
        str properties = jr_member(t->tool.schema, STR("properties"));
        struct buf value = {0};

        (void)mcp_mirror_value(m, str_is_none(properties) ? STR("{}") : properties, &value);
        mcp_header_value(t->name, &value);
        for (size_t i = 0; i < value.len; i++)
            fuzz_promise(value.p[i] >= ' ' && value.p[i] <= '~', "a header is printable");
        buf_fini(&value);
    }
}

static void check_tool(const struct mcp_listed_tool *t)
{
    struct arena a = {0};
    struct buf description = {0};

    check_name(STR("label"), t->name, &a);
    check_name(STR(""), t->name, &a);
    check_schema(t->tool.schema);
    check_mirrors(t);
    mcp_description_write(&t->tool, STR_NONE, &description);
    fuzz_promise(description.len <= MCP_DESCRIPTION_MAX_BYTES, "a description keeps its limit");
    fuzz_promise(utf8_is_valid(buf_str(&description)), "and is UTF-8");
    buf_fini(&description);
    arena_fini(&a);
}

static void check_tools(str result)
{
    struct mcp_listing l;
    struct test_ids ids;
    str cursor = STR_NONE;

    test_ids_reset(&ids);
    mcp_listing_init(&l, &ids.source, true, NULL, NULL);
    if (mcp_listing_add(&l, result, &cursor, NULL) == 0 && !str_is_none(cursor))
        fuzz_promise(mcp_listing_add(&l, result, &cursor, NULL) == -1, "no list goes in circles");
    for (const struct mcp_listed_tool *t = l.first; t != NULL; t = t->next)
        check_tool(t);
    mcp_listing_fini(&l);
}

/* ---- messages */

static void check_message(const struct jsonrpc_message *m)
{
    struct mcp_server_info server;
    struct buf message = {0};
    struct mcp_failure f = {.cause = MCP_FAILED_RPC, .code = m->code};

    switch (m->kind) {
    case JSONRPC_REQUEST:
        check_request(m);
        break;
    case JSONRPC_NOTIFICATION:
        (void)mcp_read_notification(m);
        break;
    case JSONRPC_RESULT:
        (void)mcp_read_initialize(m->result, &server, NULL);
        (void)mcp_read_discover(m->result, &server, NULL);
        check_tools(m->result);
        check_call(m->result);
        break;
    case JSONRPC_ERROR:
        json_text_decode(m->message, &message);
        f.message = buf_str(&message);
        check_failure(&f);
        (void)mcp_is_lost_session(400, true, m->message);
        buf_fini(&message);
        break;
    default:
        break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    str text = fuzz_input(bytes, n);
    char *exact = exact_copy(text);
    struct jsonrpc_reader r;
    struct jsonrpc_message m;

    jsonrpc_reader_init(&r, str_from(exact, n));
    while (jsonrpc_next(&r, &m) != JSONRPC_END)
        check_message(&m);
    jsonrpc_reader_fini(&r);
    free(exact);
    return 0;
}
