/* test_output_item_read.c -- items from their JSON, and back to the same bytes. */
#include "lib/test.h"

#include "json/json_read.h"
#include "lib/failing_malloc.h"
#include "lib/fixture.h"
#include "response/output_item_read.h"

static int read_item(str body, struct arena *a, struct output_item *ret, struct err *reterr)
{
    char *copy = exact_copy(body);
    int rc = output_item_read(str_from(copy, body.len), a, ret, reterr);

    memset(copy, 'x', body.len);
    free(copy); /* nothing of it is needed any more */
    return rc;
}

static bool is_read(str body)
{
    struct arena a = {.used = 0};
    struct output_item item;
    struct buf again = {.limit = 0};
    struct err e = {.code = ERR_NONE};
    bool ok = read_item(body, &a, &item, &e) == 0;

    if (ok) {
        output_item_write(&item, &again);
        assert_str_eq(buf_str(&again), body);
        output_item_fini(&item);
    } else {
        assert_int_equal(e.code, ERR_STORE);
    }
    buf_fini(&again);
    arena_fini(&a);
    return ok;
}

/* Returns whether the line of a stream has an item. */
static bool check_line(str line)
{
    const str data = STR("data: ");
    const str item =
        str_starts_with(line, data) ? jr_member(str_skip(line, data.len), STR("item")) : STR_NONE;

    if (!str_is_none(item) && !is_read(item))
        fail_msg("refused: %.*s", STR_ARG(item));
    return !str_is_none(item);
}

static size_t check_stream(const char *name)
{
    struct buf stream = fixture_read(name);
    str rest = buf_str(&stream);
    size_t n = 0;

    while (rest.len > 0)
        n += check_line(str_cut(&rest, '\n'));
    buf_fini(&stream);
    return n;
}

static void items_of_all_streams_are_written_as_they_were_read(void **state)
{
    char **names = fixture_list("streams", ".sse");
    size_t n = 0;

    (void)state;
    for (char **name = names; *name != NULL; name++)
        n += check_stream(*name);
    fixture_list_free(names);
    assert_true(n > 100);
}

/* ---- kinds and members that no stream there has */

#define ID(prefix, type) "{\"id\":\"" prefix "_1\",\"type\":\"" type "\","
#define STATUS(status)   "\"status\":\"" status "\","
#define MESSAGE(content)                                                                           \
    ID("msg", "message") STATUS("completed") "\"role\":\"assistant\",\"content\":[" content "]}"
#define TEXT(text, annotations, logprobs)                                                          \
    "{\"type\":\"output_text\",\"text\":\"" text "\",\"annotations\":[" annotations                \
    "],\"logprobs\":[" logprobs "]}"
#define SEARCH(call_id, execution, arguments)                                                      \
    ID("tsc", "tool_search_call")                                                                  \
    STATUS("completed")                                                                            \
    "\"call_id\":" call_id ",\"execution\":\"" execution "\",\"arguments\":" arguments "}"

static const char *const good[] = {
    MESSAGE(""),
    MESSAGE(TEXT("\\u00e9\\n \xc3\xa9 \\\"", "{\"a\":[1,{\"b\":\"],}\"}]},{}", "{\"t\":\",\"},{}")),
    MESSAGE("{\"type\":\"refusal\",\"refusal\":\"no\"}," TEXT("", "", "")),
    ID("msg", "message") STATUS("incomplete") "\"role\":\"assistant\",\"phase\":\"commentary\","
                                              "\"content\":[]}",
    ID("msg", "message") STATUS("in_progress") "\"role\":\"assistant\",\"phase\":\"final_answer\","
                                               "\"content\":[]}",
    ID("rs", "reasoning")
        STATUS("completed") "\"summary\":[{\"type\":\"summary_text\",\"text\":"
                            "\"s\"}],\"content\":[],\"encrypted_content\":\"gw1.x\"}",
    ID("fc", "function_call")
        STATUS("in_progress") "\"call_id\":\"c\",\"name\":\"f\",\"arguments\":"
                              "\"\",\"namespace\":\"n\"}",
    ID("ctc", "custom_tool_call") STATUS("completed") "\"call_id\":\"c\",\"name\":\"f\",\"input\":"
                                                      "\"{\"}",
    ID("sh", "shell_call")
        STATUS("completed") "\"call_id\":\"c\",\"action\":{\"commands\":[\"ls\"],"
                            "\"timeout_ms\":null,\"max_output_length\":null},"
                            "\"environment\":{\"type\":\"local\"}}",
    ID("apc", "apply_patch_call") STATUS("completed") "\"call_id\":\"c\",\"operation\":{\"type\":"
                                                      "\"delete_file\",\"path\":\"a\"}}",
    SEARCH("\"c\"", "client", "null"),
    SEARCH("\"c\"", "client", "\"a text\""),
    SEARCH("null", "server", "{\"query\":\"q\"}"),
    ID("tso", "tool_search_output") STATUS("completed") "\"call_id\":null,\"execution\":\"server\","
                                                        "\"tools\":[{\"a\":1},2]}",
    ID("mcp", "mcp_call") STATUS("failed") "\"server_label\":\"s\",\"name\":\"n\",\"arguments\":"
                                           "\"{}\",\"output\":null,\"error\":\"\","
                                           "\"approval_request_id\":\"mcpr_1\"}",
    ID("mcpl", "mcp_list_tools") "\"server_label\":\"s\",\"tools\":[],\"error\":\"away\"}",
    ID("cmp", "compaction") "\"encrypted_content\":\"\"}",
    ID("ci", "code_interpreter_call") STATUS("failed") "\"code\":\"\",\"container_id\":\"auto\","
                                                       "\"outputs\":[{\"type\":\"logs\"}]}",
    ID("ws", "web_search_call") STATUS("in_progress") "\"action\":{\"type\":\"search\"}}",
};

static void all_kinds_are_written_as_they_were_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(good); i++) {
        if (!is_read(str_from_c(good[i])))
            fail_msg("refused: %s", good[i]);
    }
}

static void cut_items_are_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(good); i++) {
        const str body = str_from_c(good[i]);

        for (size_t n = 0; n < body.len; n++)
            assert_false(is_read(str_from(body.p, n)));
    }
}

/* Every member may be missing, have another name, or a value of another type. */
static void other_bytes_are_refused_or_stay(void **state)
{
    static const char others[] = "\"\\{}[],:0nx\n";

    (void)state;
    for (size_t i = 0; i < COUNT_OF(good); i++) {
        const str body = str_from_c(good[i]);
        char *copy = exact_copy(body);

        for (size_t n = 0; n < body.len; n++) {
            for (size_t k = 0; k < sizeof(others) - 1; k++) {
                copy[n] = others[k];
                (void)is_read(str_from(copy, body.len)); /* what is read is compared there */
            }
            copy[n] = body.p[n];
        }
        free(copy);
    }
}

static const char *const bad[] = {
    "",
    "null",
    "[]",
    "{}",
    MESSAGE("") " ",
    " " MESSAGE(""),
    MESSAGE("1"),
    MESSAGE("{\"type\":\"reasoning_text\",\"text\":\"\"}"),
    MESSAGE("{\"type\":\"output_text\",\"text\":\"\",\"annotations\":[]}"),
    MESSAGE(TEXT("", "1 ", "")),
    ID("x", "unknown") "\"a\":1}",
    ID("msg", "message") STATUS("completed") "\"role\":\"user\",\"content\":[]}",
    ID("msg", "message") STATUS("searching") "\"role\":\"assistant\",\"content\":[]}",
    ID("msg", "message")
        STATUS("completed") "\"role\":\"assistant\",\"phase\":null,\"content\":[]}",
    ID("msg", "message") STATUS("completed") "\"content\":[],\"role\":\"assistant\"}",
    SEARCH("\"c\"", "server", "{}"),
    "{\"id\":\"msg_\\u0031\",\"type\":\"message\",\"status\":\"completed\",\"role\":\"assistant\","
    "\"content\":[]}",
    "{\"id\":\"msg_0123456789012345678901234567890123456789012345678901234567890123456789\","
    "\"type\":\"message\",\"status\":\"completed\",\"role\":\"assistant\",\"content\":[]}",
};

static void other_forms_are_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        if (is_read(str_from_c(bad[i])))
            fail_msg("read: %s", bad[i]);
    }
}

/* ---- what an item holds */

static void the_places_of_annotations_are_known(void **state)
{
    const str body = STR(MESSAGE(TEXT("a", "{\"x\":[]},2", "{}") "," TEXT("b", "", "")));
    struct arena a = {.used = 0};
    struct output_item item;
    const struct output_part *p;
    struct err e;

    (void)state;
    assert_int_equal(read_item(body, &a, &item, &e), 0);
    p = item.first;
    assert_str_c(buf_str(&p->annotations), "{\"x\":[]},2");
    assert_int_equal(p->citation->from, 0);
    assert_int_equal(p->citation->to, 8);
    assert_int_equal(p->citation->next->from, 9);
    assert_int_equal(p->citation->next->to, 10);
    assert_null(p->citation->next->next);
    assert_str_c(buf_str(&p->logprobs), "{}");
    assert_int_equal(p->next->index, 1);
    assert_null(p->next->citation);
    assert_int_equal(item.n_parts, 2);
    assert_null(item.open);
    output_item_fini(&item);
    arena_fini(&a);
}

static void memory_that_runs_out_is_told(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(good); i++) {
        bool has_failed = true;

        for (long n = 0; has_failed; n++) {
            struct arena a = {.used = 0};
            struct output_item item;
            struct err e;
            int rc;

            failing_malloc_begin(n, FAILS_ONCE);
            rc = output_item_read(str_from_c(good[i]), &a, &item, &e);
            has_failed = failing_malloc_end();
            assert_int_equal(rc, has_failed ? -1 : 0);
            if (rc == 0)
                output_item_fini(&item);
            else
                assert_int_equal(e.code, ERR_INTERNAL);
            arena_fini(&a);
        }
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(items_of_all_streams_are_written_as_they_were_read),
        cmocka_unit_test(all_kinds_are_written_as_they_were_read),
        cmocka_unit_test(cut_items_are_refused),
        cmocka_unit_test(other_bytes_are_refused_or_stay),
        cmocka_unit_test(other_forms_are_refused),
        cmocka_unit_test(the_places_of_annotations_are_known),
        cmocka_unit_test(memory_that_runs_out_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
