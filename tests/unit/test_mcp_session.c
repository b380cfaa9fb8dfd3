/* test_mcp_session.c -- eras, versions, starting, ending and starting again. */
#include "mcp_session_fixture.h"

static void a_session_starts_agrees_lists_and_is_ready(void **state)
{
    (void)state;
    session_start();
    assert_states(" ready");
    assert_tools(" [echo]");
    assert_sent(" initialize tools/list");
    assert_int_equal(count_sent(MCP_INITIALIZED), 1);
    assert_int_equal(mcp_session_version(fx.session), MCP_2025_11_25);
    assert_true(mcp_session_is_available(fx.session));
    assert_str_c(mcp_session_error(fx.session), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SESSION_TEST(a_session_starts_agrees_lists_and_is_ready),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
