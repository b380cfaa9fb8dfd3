/* test_mcp_challenge.c -- parameters of WWW-Authenticate. */
#include "lib/test.h"

#include "lib/fixture.h"
#include "mcp/proto/mcp_challenge.h"

static void check(const char *header, const char *metadata, const char *scope, const char *error)
{
    char *copy = exact_copy(str_from_c(header));
    struct mcp_challenge c = mcp_challenge_read(str_from(copy, strlen(header)));

    assert_str_eq(c.resource_metadata, str_from_c(metadata));
    assert_str_eq(c.scope, str_from_c(scope));
    assert_str_eq(c.error, str_from_c(error));
    assert_int_equal(str_is_none(c.scope), scope == NULL);
    free(copy);
}

static void what_a_server_asks_for_is_found(void **state)
{
    (void)state;
    check("Bearer", NULL, NULL, NULL);
    check("Bearer realm=\"x\", error=\"invalid_token\", "
          "resource_metadata=\"https://h/.well-known/oauth-protected-resource/mcp\"",
          "https://h/.well-known/oauth-protected-resource/mcp", NULL, "invalid_token");
    check("Bearer scope=\"mcp:read mcp:write\"", NULL, "mcp:read mcp:write", NULL);
    check("Bearer SCOPE = files ,error=insufficient_scope", NULL, "files", "insufficient_scope");
}

static void several_challenges_are_one_list(void **state)
{
    (void)state;
    check("Basic realm=\"a, scope=b\", Bearer scope=c, Bearer scope=d", NULL, "c", NULL);
    check("Negotiate abc==, Bearer error=x", NULL, NULL, "x");
}

static void what_is_malformed_ends_nothing(void **state)
{
    (void)state;
    check("", NULL, NULL, NULL);
    check("=, \"x\" scope=\"a \\\" b\"", NULL, "a \\\" b", NULL);
    check("Bearer scope=\"open", NULL, "open", NULL);
    check("Bearer scope=\"open\\", NULL, "open\\", NULL);
    check("Bearer scope=", NULL, "", NULL);
    check("Bearer scope=\"\"", NULL, "", NULL);
    check("\xFF\x01,,=", NULL, NULL, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_server_asks_for_is_found),
        cmocka_unit_test(several_challenges_are_one_list),
        cmocka_unit_test(what_is_malformed_ends_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
