/* test_harmony_route.c -- where a message goes, by its recipient or its channel. */
#include "lib/test.h"

#include "text/harmony_route.h"

static const struct {
    const char *recipient;
    enum harmony_channel channel;
    bool has_tools; /* python and browser */
    enum harmony_target target;
    const char *label, *name;
} routes[] = {
    {"", HARMONY_FINAL, true, HARMONY_TO_ANSWER, "", ""},
    {"", HARMONY_NO_CHANNEL, true, HARMONY_TO_ANSWER, "", ""},
    {"", HARMONY_COMMENTARY, true, HARMONY_TO_PREAMBLE, "", ""},
    {"", HARMONY_ANALYSIS, true, HARMONY_TO_REASONING, "", ""},
    {"", HARMONY_OTHER_CHANNEL, true, HARMONY_TO_REASONING, "", ""},

    {"functions.f", HARMONY_FINAL, true, HARMONY_TO_FUNCTION, "", "f"},
    {"functions.unknown", HARMONY_ANALYSIS, true, HARMONY_TO_FUNCTION, "", "unknown"},
    {"functions.a.b", HARMONY_COMMENTARY, true, HARMONY_TO_FUNCTION, "", "a.b"},
    {"f", HARMONY_ANALYSIS, true, HARMONY_TO_FUNCTION, "", "f"},
    {"a.f", HARMONY_ANALYSIS, true, HARMONY_TO_FUNCTION, "", "a.f"},
    {"F", HARMONY_ANALYSIS, true, HARMONY_TO_MCP, "F", "F"},

    {"python", HARMONY_FINAL, true, HARMONY_TO_PYTHON, "", "python"},
    {"python", HARMONY_FINAL, false, HARMONY_TO_REASONING, "", ""},
    {"browser", HARMONY_ANALYSIS, true, HARMONY_TO_BROWSER, "", "search"},
    {"browser.open", HARMONY_ANALYSIS, true, HARMONY_TO_BROWSER, "", "open"},
    {"browser.find", HARMONY_ANALYSIS, true, HARMONY_TO_BROWSER, "", "find"},
    {"browser.search", HARMONY_ANALYSIS, true, HARMONY_TO_BROWSER, "", "search"},
    {"browser.", HARMONY_ANALYSIS, true, HARMONY_TO_BROWSER, "", "search"},
    {"browser.open", HARMONY_FINAL, false, HARMONY_TO_REASONING, "", ""},

    {"container", HARMONY_ANALYSIS, false, HARMONY_TO_MCP, "container", "exec"},
    {"container.feed", HARMONY_ANALYSIS, false, HARMONY_TO_MCP, "container", "feed"},
    {"containers.x", HARMONY_ANALYSIS, false, HARMONY_TO_MCP, "containers", "x"},
    {"mcp.docs.ask.it", HARMONY_COMMENTARY, false, HARMONY_TO_MCP, "docs", "ask.it"},
    {"mcp.docs", HARMONY_COMMENTARY, false, HARMONY_TO_MCP, "docs", "docs"},
    {"docs.ask", HARMONY_COMMENTARY, false, HARMONY_TO_MCP, "docs", "ask"},
    {"docs", HARMONY_COMMENTARY, false, HARMONY_TO_MCP, "docs", "docs"},

    {"functions.", HARMONY_COMMENTARY, false, HARMONY_TO_REASONING, "", ""},
    {"mcp.", HARMONY_COMMENTARY, false, HARMONY_TO_REASONING, "", ""},
    {".ask", HARMONY_FINAL, false, HARMONY_TO_REASONING, "", ""},
    {"docs.", HARMONY_FINAL, false, HARMONY_TO_REASONING, "", ""},
};

static bool is_function(void *arg, str name)
{
    (void)arg;
    return str_eq(name, STR("f")) || str_eq(name, STR("a.f"));
}

static void the_recipient_decides_or_else_the_channel(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(routes); i++) {
        const struct harmony_header header = {.is_assistant = true,
                                              .channel = routes[i].channel,
                                              .recipient = str_from_c(routes[i].recipient)};
        const struct harmony_route_tools tools = {.is_function = is_function,
                                                  .has_python = routes[i].has_tools,
                                                  .has_browser = routes[i].has_tools};
        struct harmony_route route = harmony_route(&header, &tools);

        if (route.target != routes[i].target)
            fail_msg("to=%s on %d goes to %d", routes[i].recipient, (int)routes[i].channel,
                     (int)route.target);
        assert_str_c(route.label, routes[i].label);
        assert_str_c(route.name, routes[i].name);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_recipient_decides_or_else_the_channel),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
