/* test_chat_loop_request.c -- a client's request with the gateway's tools in it. */
#include "lib/test.h"

#include "lib/fixture.h"
#include "wire/loop/chat_loop_request.h"

#define MESSAGES "\"messages\":[{\"role\":\"user\"}]"

struct written {
    const char *name;
    const char *body, *first, *later; /* what the upstream gets */
    bool asks_for_usage;
};

static const struct written cases[] = {
    {.name = "nothing_else_is_touched",
     .body = " { \"model\" : \"m\",\n" MESSAGES ", \"x\": 1.50, \"big\":12345678901234567890 } \n",
     .first = "{ \"model\" : \"m\",\n" MESSAGES
              ", \"x\": 1.50, \"big\":12345678901234567890 ,\"tools\":[T]}",
     .later = "{ \"model\" : \"m\",\n\"messages\":[{\"role\":\"user\"},M], \"x\": 1.50, "
              "\"big\":12345678901234567890 ,\"tools\":[T]}"},
    {.name = "our_tools_stand_behind_the_clients",
     .body = "{\"tools\":[ {\"type\":\"x\"} ]," MESSAGES "}",
     .first = "{\"tools\":[ {\"type\":\"x\"} ,T]," MESSAGES "}",
     .later = "{\"tools\":[ {\"type\":\"x\"} ,T],\"messages\":[{\"role\":\"user\"},M]}"},
    {.name = "no_tools_and_no_messages_are_fine",
     .body = "{\"tools\":[ ],\"messages\":[ ]}",
     .first = "{\"tools\":[ T],\"messages\":[ ]}",
     .later = "{\"tools\":[ T],\"messages\":[ M]}"},
    {.name = "null_is_no_tools",
     .body = "{\"messages\":[],\"tools\":null}",
     .first = "{\"messages\":[],\"tools\":[T]}",
     .later = "{\"messages\":[M],\"tools\":[T]}"},
    {.name = "a_required_choice_is_auto_later",
     .body = "{\"tool_choice\":\"required\",\"messages\":[],\"tools\":[]}",
     .first = "{\"tool_choice\":\"required\",\"messages\":[],\"tools\":[T]}",
     .later = "{\"tool_choice\":\"auto\",\"messages\":[M],\"tools\":[T]}"},
    {.name = "a_chosen_function_is_auto_later",
     .body = "{\"tools\":[],\"messages\":[],\"tool_choice\":{\"type\":\"function\",\"function\":{"
             "\"name\":\"f\"}}}",
     .first = "{\"tools\":[T],\"messages\":[],\"tool_choice\":{\"type\":\"function\",\"function\":{"
              "\"name\":\"f\"}}}",
     .later = "{\"tools\":[T],\"messages\":[M],\"tool_choice\":\"auto\"}"},
    {.name = "allowed_tools_stay_allowed",
     .body = "{\"tools\":[],\"messages\":[],\"tool_choice\":{\"type\":\"allowed_tools\","
             "\"allowed_tools\":{\"mode\":\"required\",\"tools\":[1]}}}",
     .first = "{\"tools\":[T],\"messages\":[],\"tool_choice\":{\"type\":\"allowed_tools\","
              "\"allowed_tools\":{\"mode\":\"required\",\"tools\":[1]}}}",
     .later = "{\"tools\":[T],\"messages\":[M],\"tool_choice\":{\"type\":\"allowed_tools\","
              "\"allowed_tools\":{\"mode\":\"auto\",\"tools\":[1]}}}"},
    {.name = "usage_is_asked_for",
     .asks_for_usage = true,
     .body = "{\"stream\":true,\"messages\":[],\"tools\":[]}",
     .first =
         "{\"stream\":true,\"messages\":[],\"tools\":[T],\"stream_options\":{\"include_usage\":"
         "true}}",
     .later = "{\"stream\":true,\"messages\":[M],\"tools\":[T],\"stream_options\":{\"include_"
              "usage\":true}}"},
    {.name = "other_stream_options_are_kept",
     .asks_for_usage = true,
     .body = "{\"stream_options\":{\"x\":1},\"messages\":[],\"tools\":[]}",
     .first = "{\"stream_options\":{\"include_usage\":true,\"x\":1},\"messages\":[],\"tools\":[T]}",
     .later =
         "{\"stream_options\":{\"include_usage\":true,\"x\":1},\"messages\":[M],\"tools\":[T]}"},
    {.name = "usage_that_was_not_wanted_is_asked_for",
     .asks_for_usage = true,
     .body = "{\"stream_options\":{\"include_usage\":false},\"messages\":[],\"tools\":[]}",
     .first = "{\"stream_options\":{\"include_usage\":true},\"messages\":[],\"tools\":[T]}",
     .later = "{\"stream_options\":{\"include_usage\":true},\"messages\":[M],\"tools\":[T]}"},
    {.name = "stream_options_of_null_become_an_object",
     .asks_for_usage = true,
     .body = "{\"stream_options\":null,\"messages\":[],\"tools\":[]}",
     .first = "{\"stream_options\":{\"include_usage\":true},\"messages\":[],\"tools\":[T]}",
     .later = "{\"stream_options\":{\"include_usage\":true},\"messages\":[M],\"tools\":[T]}"},
    {.name = "of_a_member_given_twice_the_last_counts",
     .body = "{\"tools\":[1],\"messages\":[],\"tools\":[2]}",
     .first = "{\"tools\":[1],\"messages\":[],\"tools\":[2,T]}",
     .later = "{\"tools\":[1],\"messages\":[M],\"tools\":[2,T]}"},
};

static void check_written(const struct written *c, bool is_later, const char *expected)
{
    const struct chat_loop_additions add = {.tools = STR("T"),
                                            .messages = is_later ? STR("M") : STR(""),
                                            .is_later_round = is_later,
                                            .asks_for_usage = c->asks_for_usage,
                                            .only = STR_NONE};
    char *body = exact_copy(str_from_c(c->body));
    struct buf out = {.limit = 0};
    struct arena a = {.limit = 0};
    struct chat_loop_request r;

    if (!chat_loop_request_read(str_from(body, strlen(c->body)), &a, &r))
        fail_msg("%s is not read", c->name);
    chat_loop_request_write(&r, &add, &out);
    assert_str_c(buf_str(&out), expected);
    buf_fini(&out);
    arena_fini(&a);
    free(body);
}

static void a_body_goes_on_with_a_few_values_replaced(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        check_written(&cases[i], false, cases[i].first);
        check_written(&cases[i], true, cases[i].later);
    }
}

/* Of a server that reads no object in tool_choice. */
static void of_all_tools_the_forced_one_is_sent(void **state)
{
    static const struct {
        const char *forced, *tools;
    } tools[] = {
        {"own", "{\"type\":\"function\",\"function\":{\"name\":\"\\u006fwn\"}}"},
        {"ours", "{\"function\":{\"name\":\"ours\"}}"},
    };
    struct arena a = {.limit = 0};
    struct chat_loop_request r;

    (void)state;
    for (size_t i = 0; i < COUNT_OF(tools); i++) {
        struct buf body = {.limit = 0}, expected = {.limit = 0}, out = {.limit = 0};
        const struct chat_loop_additions add = {
            .tools = STR("{\"name\":\"x\"},{\"function\":{\"name\":\"ours\"}}"),
            .only = str_from_c(tools[i].forced),
            .choice = STR("\"required\""),
        };

        buf_c(&body,
              "{" MESSAGES ",\"tools\":[7,{\"type\":\"function\",\"function\":{\"name\":\"\\u006f"
              "wn\"}}],\"tool_choice\":{\"type\":\"function\",\"function\":{\"name\":\"");
        buf_c(&body, tools[i].forced);
        buf_c(&body, "\"}}}");
        buf_c(&expected, "{" MESSAGES ",\"tools\":[");
        buf_c(&expected, tools[i].tools);
        buf_c(&expected, "],\"tool_choice\":\"required\"}");
        assert_true(chat_loop_request_read(buf_str(&body), &a, &r));
        assert_str_c(r.forced, tools[i].forced);
        chat_loop_request_write(&r, &add, &out);
        buf_char(&expected, '\0');
        assert_str_c(buf_str(&out), expected.p);
        buf_fini(&body);
        buf_fini(&expected);
        buf_fini(&out);
    }
    arena_fini(&a);
}

static bool is_read(const char *body)
{
    struct arena a = {.limit = 0};
    struct chat_loop_request r;
    bool ok = chat_loop_request_read(str_from_c(body), &a, &r);

    arena_fini(&a);
    return ok;
}

static void what_tools_are_of_no_use_to_is_passed_on(void **state)
{
    static const char *const bodies[] = {
        "",
        "[]",
        "{" MESSAGES,
        "{\"model\":\"m\"}",
        "{\"messages\":\"x\"}",
        "{" MESSAGES ",\"tools\":{}}",
        "{" MESSAGES ",\"n\":2}",
        "{" MESSAGES ",\"n\":\"1\"}",
        "{" MESSAGES ",\"tool_choice\":\"none\"}",
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(bodies); i++) {
        if (is_read(bodies[i]))
            fail_msg("%s is read", bodies[i]);
    }
    assert_true(is_read("{" MESSAGES ",\"n\":1,\"tools\":null,\"tool_choice\":null}"));
}

static void names_flags_and_model_are_found(void **state)
{
    struct arena a = {.limit = 0};
    struct chat_loop_request r;

    (void)state;
    assert_true(chat_loop_request_read(
        STR("{" MESSAGES ",\"model\":\"m\",\"stream\":true,\"stream_options\":{\"include_usage\":"
            "true},\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"\\u0066\"}},"
            "{\"type\":\"custom\",\"custom\":{\"name\":\"c\"}},{\"name\":\"flat\"},7,{}]}"),
        &a, &r));
    assert_true(r.stream && r.include_usage);
    assert_str_c(r.model, "m");
    assert_int_equal(r.n_names, 3);
    assert_str_c(r.names[0], "f");
    assert_str_c(r.names[1], "c");
    assert_str_c(r.names[2], "flat");
    arena_fini(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_body_goes_on_with_a_few_values_replaced),
        cmocka_unit_test(of_all_tools_the_forced_one_is_sent),
        cmocka_unit_test(what_tools_are_of_no_use_to_is_passed_on),
        cmocka_unit_test(names_flags_and_model_are_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
