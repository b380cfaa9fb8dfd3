/* test_kept_item.c -- what is stored of an item, and that it still says the same. */
#include "request_fixture.h"

#include "conv/kept_item.h"
#include "json/json_read.h"

static const struct path items_at = {.member = STR_INIT("items")};

static int keep(struct fixture *f, str input, struct kept_items *ret)
{
    const struct input_options options = {.text_files = false};

    *f = (struct fixture){.ids = {.fill = fixture_fill}};
    f->ids.arg = &f->next_id;
    return kept_items_read(input, &items_at, &options, &f->ids, &f->arena, ret, &f->err);
}

/* ---- forms */

#define ID       "\"id\":\"x\",\"type\":"
#define MESSAGE  ID "\"message\",\"role\":"
#define DONE     ",\"status\":\"completed\"}"
#define IN(text) "{\"type\":\"input_text\",\"text\":\"" text "\"}"
#define OUT(text)                                                                                  \
    "{\"type\":\"output_text\",\"text\":\"" text "\",\"annotations\":[],\"logprobs\":[]}"

static const struct form_case {
    const char *claim, *item, *kept;
} forms[] = {
    {"a string is what the user says", "{\"id\":\"x\",\"role\":\"user\",\"content\":\"a\\u0062\"}",
     "{" MESSAGE "\"user\",\"content\":[" IN("ab") "]" DONE},
    {"an assistant's text has lists of its own",
     "{" MESSAGE "\"assistant\",\"content\":[\"a\",{\"type\":\"text\",\"text\":\"b\"}]}",
     "{" MESSAGE "\"assistant\",\"content\":[" OUT("a") "," OUT("b") "]" DONE},
    {"logprobs that were null are a list",
     "{" MESSAGE "\"assistant\",\"status\":\"incomplete\",\"phase\":null,\"content\":[{\"type\":"
     "\"output_text\",\"text\":\"a\",\"annotations\":[{\"a\":1}],\"logprobs\":null},{\"type\":"
     "\"refusal\",\"refusal\":\"r\"}]}",
     "{" MESSAGE "\"assistant\",\"content\":[{\"type\":\"output_text\",\"text\":\"a\","
     "\"annotations\":[{\"a\":1}],\"logprobs\":[]},{\"type\":\"refusal\",\"refusal\":\"r\"}],"
     "\"status\":\"incomplete\"}"},
    {"no content is an empty list", "{" MESSAGE "\"assistant\",\"content\":null}",
     "{" MESSAGE "\"assistant\",\"content\":[]" DONE},
    {"images have a detail",
     "{" MESSAGE "\"user\",\"content\":[{\"type\":\"input_image\",\"image_url\":\"u\",\"file_id\":"
     "null},{\"type\":\"input_image\",\"image_url\":{\"url\":\"v\",\"detail\":\"low\"}}]}",
     "{" MESSAGE "\"user\",\"content\":[{\"type\":\"input_image\",\"image_url\":\"u\",\"detail\":"
     "\"auto\"},{\"type\":\"input_image\",\"image_url\":\"v\",\"detail\":\"low\"}]" DONE},
    {"unknown members stay",
     "{" MESSAGE "\"user\", \"x\\\"y\" : [ 1, \"\\u2028\" ], \"content\":[{\"type\":\"input_text\","
     "\"text\":\"a\",\"id\":\"p\",\"type\":\"input_text\"}]}",
     "{" MESSAGE "\"user\",\"x\\\"y\":[1,\"\\u2028\"],\"content\":[{\"type\":\"input_text\","
     "\"text\":\"a\",\"id\":\"p\"}]" DONE},
    {"the phase of a message stays",
     "{" MESSAGE "\"assistant\",\"phase\":\"commentary\",\"content\":\"a\"}",
     "{" MESSAGE "\"assistant\",\"phase\":\"commentary\",\"content\":[" OUT("a") "]" DONE},
    {"what was sealed for the client stays",
     "{" ID "\"reasoning\",\"summary\":[],\"encrypted_content\":\"gw1.x\"}",
     "{" ID "\"reasoning\",\"encrypted_content\":\"gw1.x\",\"summary\":[],\"content\":[]" DONE},
    {"tools are kept without credentials",
     "{" ID "\"additional_tools\",\"role\":\"developer\",\"tools\":[{\"type\":\"m\\u0063p\","
     "\"server_label\":\"l\",\"server_url\":\"https://u:p@h/x?k=v\",\"headers\":{\"a\":\"b\"},"
     "\"authorization\":\"c\"},{\"type\":\"namespace\",\"name\":\"n\",\"tools\":[{\"type\":\"mcp\","
     "\"headers\":{}}]},{\"type\":\"function\",\"name\":\"f\"}, 7]}",
     "{" ID "\"additional_tools\",\"role\":\"developer\",\"tools\":[{\"type\":\"mcp\","
     "\"server_label\":\"l\",\"server_url\":\"https://h/x\"},{\"type\":\"namespace\",\"name\":"
     "\"n\",\"tools\":[{\"type\":\"mcp\"}]},{\"type\":\"function\",\"name\":\"f\"},7]}"},
    {"tools of items that nobody knows too",
     "{" ID "\"computer_call\",\"tools\":[{\"type\":\"mcp\",\"authorization\":\"c\"}]}",
     "{" ID "\"computer_call\",\"tools\":[{\"type\":\"mcp\"}]}"},
    {"tools that were found hide what is secret",
     "{" ID "\"tool_search_output\",\"tools\":[{\"type\":\"mcp\",\"authorization\":\"c\"}]}",
     "{" ID "\"tool_search_output\",\"call_id\":null,\"execution\":\"server\","
     "\"tools\":[{\"type\":\"mcp\"}]" DONE},
    {"a search is the gateway's unless it says otherwise",
     "{" ID "\"tool_search_call\",\"call_id\":\"c\",\"arguments\":{\"a\": 1}}",
     "{" ID "\"tool_search_call\",\"call_id\":\"c\",\"execution\":\"server\","
     "\"arguments\":{\"a\":1}" DONE},
    {"arguments are a string",
     "{" ID "\"function_call\",\"call_id\":\"c\",\"name\":\"f\",\"arguments\":{\"a\": 1}}",
     "{" ID
     "\"function_call\",\"name\":\"f\",\"call_id\":\"c\",\"arguments\":\"{\\\"a\\\":1}\"" DONE},
    {"no arguments are an empty object",
     "{" ID "\"function_call\",\"name\":\"f\",\"namespace\":\"n\",\"arguments\":null}",
     "{" ID "\"function_call\",\"name\":\"f\",\"namespace\":\"n\",\"call_id\":\"x\","
     "\"arguments\":\"{}\"" DONE},
    {"an output is a string or parts",
     "{" ID "\"function_call_output\",\"call_id\":\"c\",\"output\":[1, 2]}",
     "{" ID "\"function_call_output\",\"call_id\":\"c\",\"output\":\"[1,2]\"" DONE},
    {"parts of an output are input",
     "{" ID "\"function_call_output\",\"call_id\":\"c\",\"output\":[{\"type\":\"text\",\"text\":"
     "\"a\"}]}",
     "{" ID "\"function_call_output\",\"call_id\":\"c\",\"output\":[" IN("a") "]" DONE},
    {"no output is empty text", "{" ID "\"custom_tool_call_output\",\"call_id\":\"c\"}",
     "{" ID "\"custom_tool_call_output\",\"call_id\":\"c\",\"output\":\"\"" DONE},
    {"reasoning has both lists",
     "{" ID "\"reasoning\",\"content\":null,\"encrypted_content\":null,\"summary\":[]}",
     "{" ID "\"reasoning\",\"summary\":[],\"content\":[]" DONE},
    {"custom input is text", "{" ID "\"custom_tool_call\",\"call_id\":\"c\",\"name\":\"f\"}",
     "{" ID "\"custom_tool_call\",\"name\":\"f\",\"call_id\":\"c\",\"input\":\"\"" DONE},
    {"a shell's output is named by its id", "{" ID "\"local_shell_call_output\",\"output\":\"o\"}",
     "{" ID "\"local_shell_call_output\",\"call_id\":\"x\",\"output\":\"o\"" DONE},
    {"an MCP call has its nulls",
     "{" ID "\"mcp_call\",\"server_label\":\"s\",\"name\":\"f\",\"arguments\":\"\"}",
     "{" ID "\"mcp_call\",\"server_label\":\"s\",\"name\":\"f\",\"arguments\":\"\",\"output\":null,"
     "\"error\":null,\"approval_request_id\":null" DONE},
    {"an error of an MCP call may be an object",
     "{" ID "\"mcp_call\",\"name\":\"f\",\"server_label\":\"s\",\"arguments\":\"{}\",\"error\":"
     "{\"type\":\"http_error\", \"code\":502},\"approval_request_id\":\"r\",\"status\":"
     "\"failed\"}",
     "{" ID "\"mcp_call\",\"name\":\"f\",\"server_label\":\"s\",\"arguments\":\"{}\",\"output\":"
     "null,\"error\":{\"type\":\"http_error\",\"code\":502},\"approval_request_id\":\"r\","
     "\"status\":\"failed\"}"},
    {"an approval request stays as it is",
     "{" ID "\"mcp_approval_request\",\"arguments\":\"{\\\"a\\\":1}\",\"name\":\"f\","
     "\"server_label\":\"s\"}",
     "{" ID "\"mcp_approval_request\",\"name\":\"f\",\"server_label\":\"s\",\"arguments\":"
     "\"{\\\"a\\\":1}\"}"},
    {"and so does the answer",
     "{" ID "\"mcp_approval_response\",\"approval_request_id\":\"r\",\"approve\":false,"
     "\"reason\":\"n\"}",
     "{" ID "\"mcp_approval_response\",\"approval_request_id\":\"r\",\"approve\":false,"
     "\"reason\":\"n\"}"},
    {"a list of tools stays as it is",
     "{" ID "\"mcp_list_tools\",\"server_label\":\"s\",\"tools\":[{\"name\":\"f\","
     "\"input_schema\":{\"type\":\"object\"}}]}",
     "{" ID "\"mcp_list_tools\",\"server_label\":\"s\",\"tools\":[{\"name\":\"f\","
     "\"input_schema\":{\"type\":\"object\"}}]}"},
    {"a call that never ended is kept as it is",
     "{" ID "\"mcp_call\",\"status\":\"in_progress\",\"output\":[{\"type\":\"new\"},7,{\"a\":1}]}",
     "{" ID "\"mcp_call\",\"arguments\":\"{}\",\"output\":[{\"type\":\"new\"},7,{\"type\":null,"
     "\"a\":1}],\"error\":null,\"approval_request_id\":null,\"status\":\"in_progress\"}"},
    {"an interpreter's outputs may be unknown",
     "{" ID "\"code_interpreter_call\",\"container_id\":\"c\",\"code\":\"1\"}",
     "{" ID
     "\"code_interpreter_call\",\"container_id\":\"c\",\"code\":\"1\",\"outputs\":null" DONE},
    {"a shell's output may have no bound",
     "{" ID "\"shell_call_output\",\"call_id\":\"c\",\"output\":[]}",
     "{" ID "\"shell_call_output\",\"output\":[],\"call_id\":\"c\","
     "\"max_output_length\":null" DONE},
    {"a picture may not be there yet",
     "{" ID "\"image_generation_call\",\"status\":\"generating\",\"result\":null}",
     "{" ID "\"image_generation_call\",\"result\":null,\"status\":\"generating\"}"},
    {"what the gateway ignores is kept",
     "{" ID "\"compaction\",\"encrypted_content\":\"e\",\"created_by\":null}",
     "{" ID "\"compaction\",\"encrypted_content\":\"e\"}"},
    {"a type without a form as well",
     "{" ID "\"computer_call\",\"action\":{\"a\":null},\"status\":7}",
     "{" ID "\"computer_call\",\"action\":{\"a\":null},\"status\":7}"},
};

static void every_item_has_one_form(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++) {
        struct buf list = {0};
        struct kept_items kept;
        struct fixture f;
        json_t *tree;

        buf_char(&list, '[');
        buf_append(&list, str_from_c(forms[i].item));
        buf_char(&list, ']');
        if (keep(&f, buf_str(&list), &kept) == -1)
            fail_msg("%s: %s", forms[i].claim, f.err.msg);
        assert_int_equal(kept.n, 1);
        assert_true(str_eq(kept.v[0].id, STR("x")) && !kept.v[0].is_reference);
        assert_int_equal(str_find_char(kept.v[0].body, '\n'), kept.v[0].body.len);
        tree = json_loadb(kept.v[0].body.p, kept.v[0].body.len, JSON_REJECT_DUPLICATES, NULL);
        assert_json(forms[i].claim, tree, forms[i].kept);
        json_decref(tree);
        buf_fini(&list);
        arena_fini(&f.arena);
    }
}

/* ---- ids */

#define ID_64 "0123456789abcdef0123456789abcdef0123456789ABCDEF0123456789_:.-__"

static void an_item_without_a_good_id_gets_one(void **state)
{
    static const struct {
        const char *item, *prefix;
    } cases[] = {
        {"\"text\"", "msg_"},
        {"{\"role\":\"user\",\"id\":null}", "msg_"},
        {"{\"role\":\"user\",\"id\":\"\"}", "msg_"},
        {"{\"role\":\"user\",\"id\":\"a/b\"}", "msg_"},
        {"{\"role\":\"user\",\"id\":\"\\u0000\"}", "msg_"},
        {"{\"role\":\"user\",\"id\":\"" ID_64 ID_64 "x\"}", "msg_"},
        {"{\"type\":\"function_call\",\"name\":\"f\"}", "fc_"},
        {"{\"type\":\"function_call_output\"}", "fco_"},
        {"{\"type\":\"reasoning\"}", "rs_"},
        {"{\"type\":\"custom_tool_call\",\"name\":\"f\"}", "ctc_"},
        {"{\"type\":\"custom_tool_call_output\"}", "ctco_"},
        {"{\"type\":\"local_shell_call\"}", "lsh_"},
        {"{\"type\":\"shell_call\"}", "sh_"},
        {"{\"type\":\"tool_search_call\"}", "tsc_"},
        {"{\"type\":\"tool_search_output\",\"tools\":[]}", "tso_"},
        {"{\"type\":\"apply_patch_call\"}", "apc_"},
        {"{\"type\":\"mcp_list_tools\"}", "mcpl_"},
        {"{\"type\":\"mcp_call\",\"name\":\"f\"}", "mcp_"},
        {"{\"type\":\"mcp_approval_request\",\"server_label\":\"s\",\"name\":\"f\"}", "mcpr_"},
        {"{\"type\":\"mcp_approval_response\",\"approval_request_id\":\"r\",\"approve\":true}",
         "mcpa_"},
        {"{\"type\":\"web_search_call\",\"id\":7}", "ws_"},
        {"{\"type\":\"compaction\"}", "cmp_"},
        {"{\"type\":\"program\"}", "item_"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct buf list = {0};
        struct kept_items kept;
        struct fixture f;
        str id;

        buf_char(&list, '[');
        buf_append(&list, str_from_c(cases[i].item));
        buf_char(&list, ']');
        assert_int_equal(keep(&f, buf_str(&list), &kept), 0);
        id = kept.v[0].id;
        if (!str_starts_with(id, str_from_c(cases[i].prefix)) ||
            id.len != strlen(cases[i].prefix) + ID_RANDOM_CHARS)
            fail_msg("%s: %.*s", cases[i].item, STR_ARG(id));
        assert_true(str_eq(jr_member_string(kept.v[0].body, STR("id")), id));
        buf_fini(&list);
        arena_fini(&f.arena);
    }
}

static void a_good_id_stays(void **state)
{
    struct kept_items kept;
    struct fixture f;

    (void)state;
    assert_int_equal(keep(&f, STR("[{\"role\":\"user\",\"id\":\"" ID_64 ID_64 "\"}]"), &kept), 0);
    assert_true(str_eq(kept.v[0].id, STR(ID_64 ID_64)));
    arena_fini(&f.arena);
}

/* Older clients name the call of an output by the output's id. */
static void the_second_item_with_an_id_gets_another(void **state)
{
    struct kept_items kept;
    struct fixture f;

    (void)state;
    assert_int_equal(keep(&f,
                          STR("[{\"type\":\"function_call\",\"id\":\"c\",\"name\":\"f\"},"
                              "{\"type\":\"function_call_output\",\"id\":\"c\"}]"),
                          &kept),
                     0);
    assert_true(str_eq(kept.v[0].id, STR("c")));
    assert_true(str_starts_with(kept.v[1].id, STR("fco_")));
    assert_true(str_eq(jr_member_string(kept.v[1].body, STR("call_id")), STR("c")));
    arena_fini(&f.arena);
}

static void a_call_without_any_id_gets_two(void **state)
{
    struct kept_items kept;
    struct fixture f;
    str call_id;

    (void)state;
    assert_int_equal(keep(&f, STR("[{\"type\":\"function_call\",\"name\":\"f\"}]"), &kept), 0);
    call_id = jr_member_string(kept.v[0].body, STR("call_id"));
    assert_true(str_starts_with(call_id, STR("call_")));
    assert_int_equal(call_id.len, 5 + ID_CALL_CHARS);
    arena_fini(&f.arena);
}

static void a_reference_is_only_an_id(void **state)
{
    struct kept_items kept;
    struct fixture f;

    (void)state;
    assert_int_equal(
        keep(&f, STR("[{\"id\":\"a\\u0062\"},{\"type\":\"item_reference\",\"id\":\"c\"}]"), &kept),
        0);
    assert_int_equal(kept.n, 2);
    assert_true(kept.v[0].is_reference && str_eq(kept.v[0].id, STR("ab")));
    assert_true(kept.v[1].is_reference && str_is_none(kept.v[1].body));
    arena_fini(&f.arena);
}

/* ---- the whole list */

static void a_string_is_one_item_and_nothing_is_none(void **state)
{
    struct kept_items kept;
    struct fixture f;

    (void)state;
    assert_int_equal(keep(&f, STR("\"a\\n\""), &kept), 0);
    assert_int_equal(kept.n, 1);
    assert_true(str_eq(jr_member(kept.v[0].body, STR("content")), STR("[" IN("a\\n") "]")));
    arena_fini(&f.arena);
    assert_int_equal(keep(&f, STR("[]"), &kept), 0);
    assert_int_equal(kept.n, 0);
    assert_int_equal(kept_items_make(STR_NONE, &f.ids, &f.arena, &kept, &f.err), 0);
    assert_int_equal(kept.n, 0);
    arena_fini(&f.arena);
}

/* The store works with them when the client, and its request, may be gone. */
static void kept_items_outlive_the_input(void **state)
{
    char input[] = "[{\"role\":\"user\",\"id\":\"mine\",\"content\":\"a\"},"
                   "{\"type\":\"item_reference\",\"id\":\"other\"}]";
    struct kept_items kept;
    struct fixture f;

    (void)state;
    assert_int_equal(keep(&f, str_from_c(input), &kept), 0);
    memset(input, '?', sizeof(input));
    assert_true(str_eq(kept.v[0].id, STR("mine")));
    assert_true(str_eq(jr_member_string(kept.v[0].body, STR("id")), STR("mine")));
    assert_true(str_eq(kept.v[1].id, STR("other")));
    arena_fini(&f.arena);
}

static void a_bad_item_is_named(void **state)
{
    struct kept_items kept;
    struct fixture f;

    (void)state;
    assert_int_equal(keep(&f, STR("[\"a\",{\"type\":\"message\"}]"), &kept), -1);
    assert_string_equal(f.err.param, "items[1].role");
    arena_fini(&f.arena);
}

static void memory_may_run_out_anywhere(void **state)
{
    static const char input[] = "[\"a\",{\"role\":\"user\",\"id\":\"i\",\"content\":\"b\"},"
                                "{\"id\":\"r\\u0061\"}]";
    struct kept_items kept;
    size_t n_failed = 0;
    int rc = -1;

    (void)state;
    for (size_t limit = 1; rc == -1; limit += 16) {
        struct fixture f = {.ids = {.fill = fixture_fill}};

        f.ids.arg = &f.next_id;
        arena_init(&f.arena, limit);
        rc = kept_items_make(str_from_c(input), &f.ids, &f.arena, &kept, &f.err);
        n_failed += rc == -1;
        assert_true(rc == 0 || f.err.code == ERR_INTERNAL);
        arena_fini(&f.arena);
    }
    assert_true(n_failed > 3);
}

/* ---- the same conversation */

/* Ids that were made for a conversion are others every time. */
static void mask_made_ids(json_t *value)
{
    const char *key;
    json_t *member;
    size_t i;

    json_array_foreach(value, i, member) mask_made_ids(member);
    json_object_foreach(value, key, member)
    {
        const char *text = json_string_value(member);
        const char *made = text == NULL ? NULL : strrchr(text, '_');

        if (made != NULL && strstr(key, "id") != NULL &&
            (strlen(made) == 1 + ID_CALL_CHARS || strlen(made) == 1 + ID_RANDOM_CHARS))
            json_string_set(member, "made");
        mask_made_ids(member);
    }
}

/* The messages of a request, or the error. */
static json_t *messages_of(json_t *request, struct fixture *f)
{
    const struct chat_request_options options = {0};
    char *body = json_dumps(request, 0);
    json_t *chat = NULL, *messages;

    if (fixture_parse(f, str_from_c(body), 0) == 0)
        chat = fixture_chat(f, &options);
    free(body);
    messages =
        chat == NULL ? json_string(f->err.msg) : json_deep_copy(json_object_get(chat, "messages"));
    json_decref(chat);
    mask_made_ids(messages);
    return messages;
}

static json_t *kept_array(const struct kept_items *kept)
{
    json_t *list = json_array();

    for (size_t i = 0; i < kept->n; i++) {
        const struct kept_item *it = &kept->v[i];

        json_array_append_new(
            list, it->is_reference
                      ? json_pack("{s:s#}", "id", it->id.p, it->id.len)
                      : json_loadb(it->body.p, it->body.len, JSON_REJECT_DUPLICATES, NULL));
    }
    return list;
}

static void check_conversation(const json_t *c)
{
    json_t *request = json_deep_copy(json_object_get(c, "request")), *before, *after;
    struct kept_items kept;
    struct fixture f, g;
    char *expected;

    json_object_set_new(request, "model", json_string("m"));
    before = messages_of(request, &f);
    if (json_is_array(before)) {
        assert_int_equal(kept_items_make(f.request.input, &f.ids, &f.arena, &kept, &f.err), 0);
        json_object_set_new(request, "input", kept_array(&kept));
        after = messages_of(request, &g);
        expected = json_dumps(before, JSON_COMPACT);
        assert_json(json_string_value(json_object_get(c, "name")), after, expected);
        free(expected);
        json_decref(after);
        fixture_fini(&g);
    }
    json_decref(before);
    json_decref(request);
    fixture_fini(&f);
}

static void kept_items_are_the_same_conversation(void **state)
{
    json_t *cases = load_json_file("tests/data/conversion/cases.json");
    const json_t *c;
    size_t i;

    (void)state;
    assert_true(json_array_size(cases) >= 40);
    json_array_foreach(cases, i, c) check_conversation(c);
    json_decref(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_item_has_one_form),
        cmocka_unit_test(an_item_without_a_good_id_gets_one),
        cmocka_unit_test(a_good_id_stays),
        cmocka_unit_test(the_second_item_with_an_id_gets_another),
        cmocka_unit_test(a_call_without_any_id_gets_two),
        cmocka_unit_test(a_reference_is_only_an_id),
        cmocka_unit_test(a_string_is_one_item_and_nothing_is_none),
        cmocka_unit_test(kept_items_outlive_the_input),
        cmocka_unit_test(a_bad_item_is_named),
        cmocka_unit_test(memory_may_run_out_anywhere),
        cmocka_unit_test(kept_items_are_the_same_conversation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
