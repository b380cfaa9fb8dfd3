/* test_local_shell.c -- arguments of the shell function as an action. */
#include "lib/test.h"

#include "lib/fixture.h"
#include "response/local_shell.h"

static const struct {
    const char *arguments; /* escaped */
    const char *action;
} cases[] = {
    {"{\\\"command\\\":[\\\"ls\\\",\\\"-l\\\"]}",
     "{\"type\":\"exec\",\"command\":[\"ls\",\"-l\"],\"env\":{}}"},
    {"{ \\\"command\\\" : [ \\\"ls\\\" ] , \\\"workdir\\\":\\\"/tmp\\\",\\\"timeout_ms\\\":1000,"
     "\\\"env\\\":{\\\"A\\\":\\\"b\\\"}}",
     "{\"type\":\"exec\",\"command\":[\"ls\"],\"env\":{\"A\":\"b\"},\"timeout_ms\":1000,"
     "\"working_directory\":\"/tmp\"}"},
    {"{\\\"command\\\":[\\\"\\\\u00e9\\\"],\\\"workdir\\\":null,\\\"timeout_ms\\\":null,"
     "\\\"env\\\":null}",
     "{\"type\":\"exec\",\"command\":[\"\\u00e9\"],\"env\":{}}"},
    {"{\\\"command\\\":[\\\"a\\\"],\\\"timeout_ms\\\":1.5,\\\"env\\\":{\\\"A\\\":1},"
     "\\\"other\\\":1}",
     "{\"type\":\"exec\",\"command\":[\"a\"],\"env\":{}}"},
    /* what is no such object names no program */
    {"{\\\"command\\\":\\\"ls\\\"}",
     "{\"type\":\"exec\",\"command\":[\"{\\\"command\\\":\\\"ls\\\"}\"],\"env\":{}}"},
    {"{\\\"command\\\":[1]}",
     "{\"type\":\"exec\",\"command\":[\"{\\\"command\\\":[1]}\"],\"env\":{}}"},
    {"ls", "{\"type\":\"exec\",\"command\":[\"ls\"],\"env\":{}}"},
    {"", "{\"type\":\"exec\",\"command\":[\"\"],\"env\":{}}"},
};

static void arguments_become_an_action(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        str arguments = str_from_c(cases[i].arguments);
        char *exact = exact_copy(arguments);
        struct buf out = {.limit = 0};

        local_shell_action(str_from(exact, arguments.len), &out);
        assert_str_c(buf_str(&out), cases[i].action);
        buf_fini(&out);
        free(exact);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(arguments_become_an_action)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
