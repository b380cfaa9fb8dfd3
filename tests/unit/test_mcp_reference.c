/* test_mcp_reference.c -- where redirects and endpoints of MCP servers may lead. */
#include "lib/test.h"

#include "mcp/proto/mcp_reference.h"

struct example {
    const char *base, *reference, *url; /* url: NULL when it is not to be followed */
};

static void check(const struct example *e, enum mcp_reference expected)
{
    struct buf url = {.limit = 0};
    enum mcp_reference is =
        mcp_reference_resolve(str_from_c(e->base), str_from_c(e->reference), &url);

    if (is != expected)
        fail_msg("%s from %s is %d", e->reference, e->base, (int)is);
    assert_str_c(buf_str(&url), e->url == NULL ? "" : e->url);
    buf_fini(&url);
}

static void a_reference_is_resolved_against_the_url(void **state)
{
    static const struct example examples[] = {
        {"http://h:1/sse", "/messages?session=1", "http://h:1/messages?session=1"},
        {"http://h:1/sse", "messages", "http://h:1/messages"},
        {"http://h:1/a/sse?x=/y", "messages", "http://h:1/a/messages"},
        {"http://h:1/a/b/", "messages/", "http://h:1/a/b/messages/"},
        {"http://h:1/a/b/c", "../m", "http://h:1/a/m"},
        {"http://h:1/a/b/c", "./m/..", "http://h:1/a/b/"},
        {"http://h:1/a", "../../../m", "http://h:1/m"},
        {"http://h:1/a", "/x/./y/../z", "http://h:1/x/z"},
        {"http://h:1/a/b?c=1", "?d=2", "http://h:1/a/b?d=2"},
        {"http://h:1/a/b?c=1", "b#part", "http://h:1/a/b"},
        {"http://h:1", "m", "http://h:1/m"},
        {"http://h:1", "?q", "http://h:1/?q"},
        {"http://h:1?q=/x", "m", "http://h:1/m"},
        {"http://h:1/a", " /m \r\n", "http://h:1/m"},
        {"http://h:1/a", "/m:x//y", "http://h:1/m:x//y"},
        {"http://h:1/a", "./m:x", "http://h:1/m:x"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(examples); i++)
        check(&examples[i], MCP_REFERENCE_OK);
}

static void the_same_origin_may_be_written_out(void **state)
{
    static const struct example examples[] = {
        {"http://h:1/sse", "http://h:1/m", "http://h:1/m"},
        {"http://h/sse", "http://h:80/m", "http://h/m"},
        {"https://h:443/sse", "HTTPS://H/m", "https://h:443/m"},
        {"https://h/sse", "//h/m", "https://h/m"},
        {"https://h/sse", "https://h", "https://h/"},
        {"https://h/sse", "https://h?a=@b", "https://h/?a=@b"},
        {"http://[::1]:9/sse", "http://[::1]:9/m", "http://[::1]:9/m"},
        {"https://me:pass@h/sse", "https://h/m", "https://me:pass@h/m"},
        {"https://me:p@ss@h/sse", "/m", "https://me:p@ss@h/m"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(examples); i++)
        check(&examples[i], MCP_REFERENCE_OK);
}

static void another_origin_is_foreign(void **state)
{
    static const struct example examples[] = {
        {"https://h/sse", "http://h/m", NULL},
        {"https://h/sse", "https://h:444/m", NULL},
        {"https://h/sse", "https://h.evil/m", NULL},
        {"https://h/sse", "//evil/m", NULL},
        {"https://h/sse", "https://h@evil/m", NULL},
        {"https://h/sse", "https://u@h/m", NULL},
        {"https://h/sse", "https://evil/@h", NULL},
        {"https://h/sse", "https://", NULL},
        {"https://h/sse", "file:///etc/passwd", NULL},
        {"http://[::1]/sse", "http://[::2]/", NULL},
        {"https://u@h/sse", "https://u@h/m", NULL},
        {"https://h/sse", "https:///m", NULL},
        {"https://h/sse", "https://evil#@h/", NULL},
        {"https://h/sse", "https://evil?@h/", NULL},
        {"http://h:1/sse", "http://h:01/m", NULL},
        {"https://me:p@ss@h/sse", "https://h/m", NULL},
        {"https://h/sse", "https://h@h@h/m", NULL},
        {"https://h/sse", "https://h:443:1/m", NULL},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(examples); i++)
        check(&examples[i], MCP_REFERENCE_FOREIGN);
}

static void what_is_no_reference_is_bad(void **state)
{
    static const struct example examples[] = {
        {"https://h/sse", "", NULL},           {"https://h/sse", "  ", NULL},
        {"https://h/sse", "/a b", NULL},       {"https://h/sse", "/a\nb", NULL},
        {"https://h/sse", "/\\evil", NULL},    {"https://h/sse", "/\xC3\xA4", NULL},
        {"https://h/sse", "mailto:x@h", NULL}, {"https://h/sse", "https:m", NULL},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(examples); i++)
        check(&examples[i], MCP_REFERENCE_BAD);
}

static void a_reference_has_a_limit(void **state)
{
    static char longest[MCP_REFERENCE_MAX_BYTES + 2];
    struct buf url = {.limit = 0};

    (void)state;
    memset(longest, 'x', sizeof(longest) - 1);
    assert_int_equal(mcp_reference_resolve(STR("http://h/"), str_from_c(longest), &url),
                     MCP_REFERENCE_BAD);
    assert_int_equal(mcp_reference_resolve(STR("http://h/"), str_from_c(longest + 1), &url),
                     MCP_REFERENCE_OK);
    buf_fini(&url);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_reference_is_resolved_against_the_url),
        cmocka_unit_test(the_same_origin_may_be_written_out),
        cmocka_unit_test(another_origin_is_foreign),
        cmocka_unit_test(what_is_no_reference_is_bad),
        cmocka_unit_test(a_reference_has_a_limit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
