/* test_secrets.c -- texts without the secrets that were in them. */
#include "base/secrets.h"

#include "lib/fixture.h"
#include "lib/test.h"

/* From a block of exactly its size. */
static void check_hidden(const struct secrets *s, const char *text, const char *expected)
{
    char *copy = exact_copy(str_from_c(text));
    struct buf out = {0};

    secrets_hide(s, str_from(copy, strlen(text)), &out);
    assert_string_equal(buf_cstr(&out), expected);
    buf_fini(&out);
    free(copy);
}

static void every_occurrence_is_hidden(void **state)
{
    struct secrets s = {0};

    (void)state;
    check_hidden(&s, "token-1 token-2", "token-1 token-2");
    secrets_add(&s, STR("token-1"));
    secrets_add(&s, STR("token-2"));
    check_hidden(&s, "", "");
    check_hidden(&s, "token-", "token-");
    check_hidden(&s, "token-1", "[redacted]");
    check_hidden(&s, "a token-1, token-2 and token-1.", "a [redacted], [redacted] and [redacted].");
    check_hidden(&s, "token-token-2", "token-[redacted]");
    secrets_fini(&s);
    check_hidden(&s, "token-1", "token-1");
}

static void of_secrets_inside_each_other_the_longest_is_hidden(void **state)
{
    static const str secrets[] = {STR_INIT("abcd"), STR_INIT("abcdef"), STR_INIT("cdef")};

    (void)state;
    for (size_t first = 0; first < COUNT_OF(secrets); first++) {
        struct secrets s = {0};

        for (size_t i = 0; i < COUNT_OF(secrets); i++)
            secrets_add(&s, secrets[(first + i) % COUNT_OF(secrets)]);
        check_hidden(&s, "-abcdef-abcd-cdef-", "-[redacted]-[redacted]-[redacted]-");
        secrets_fini(&s);
    }
}

static void nothing_is_left_of_secrets_that_overlap(void **state)
{
    struct secrets s = {0};

    (void)state;
    secrets_add(&s, STR("abcdef"));
    secrets_add(&s, STR("xxab"));
    check_hidden(&s, "-xxabcdef-", "-[redacted]-");
    secrets_add(&s, STR("aaaa"));
    check_hidden(&s, "aaaaaa!", "[redacted]!");
    secrets_fini(&s);
}

static void short_ones_are_left_alone(void **state)
{
    struct secrets s = {0};

    (void)state;
    secrets_add(&s, STR_NONE);
    secrets_add(&s, STR(""));
    secrets_add(&s, STR("the"));
    check_hidden(&s, "the theme", "the theme");
    secrets_add(&s, STR("them"));
    check_hidden(&s, "the theme", "the [redacted]e");
    secrets_fini(&s);
}

static void the_credential_of_a_header_is_hidden_without_its_scheme(void **state)
{
    struct secrets s = {0};

    (void)state;
    secrets_add_header(&s, STR("Bearer  tok.en "));
    check_hidden(&s, "Bearer  tok.en", "[redacted]");
    check_hidden(&s, "bad token: tok.en; Bearer", "bad token: [redacted]; Bearer");
    secrets_fini(&s);
}

static void secrets_may_hold_any_byte(void **state)
{
    struct secrets s = {0};
    struct buf out = {0};

    (void)state;
    secrets_add(&s, STR("a\0\xff z"));
    secrets_hide(&s, STR("1 a\0\xff z\0 2"), &out);
    assert_str_eq(buf_str(&out), STR("1 [redacted]\0 2"));
    buf_fini(&out);
    secrets_fini(&s);
}

static void secrets_are_found_in_json_strings(void **state)
{
    struct secrets s = {0};

    (void)state;
    secrets_add(&s, STR("a/b\"c\\d\xc3\xa9\xf0\x9f\x94\x91"));
    check_hidden(&s, "{\"k\":\"a/b\\\"c\\\\d\xc3\xa9\xf0\x9f\x94\x91\"}", "{\"k\":\"[redacted]\"}");
    check_hidden(&s, "\"a\\/b\\\"c\\\\d\\u00e9\\ud83d\\udd11\"", "\"[redacted]\"");
    check_hidden(&s, "\"a\\/b\\\"c\\\\d\\u00E9\\uD83D\\uDD11\"", "\"[redacted]\"");
    check_hidden(&s, "-\\u0061\\u002fb\\u0022c\\u005Cd\xc3\xa9\xf0\x9f\x94\x91-", "-[redacted]-");
    secrets_add(&s, STR("1\t2\r\n3"));
    check_hidden(&s, "1\\t2\\r\\n3 1\\u00092\\r\n3", "[redacted] [redacted]");
    secrets_fini(&s);
}

static void what_only_looks_like_an_escape_is_left_alone(void **state)
{
    static const char *const texts[] = {
        "ab\\/",
        "ab\\/c",
        "ab\\",
        "ab\\u",
        "ab\\u002",
        "ab\\u002gcd",
        "ab\\x2fcd",
        "ab\\u00e9cd",
        "ab\\ud83dcd",
        "ab\\ud83d\\u002fcd",
        "ab\\\\/cd",
        "ab\\uD83D\\uDD1",
        "ab\\ud83d\\udd11",
        "ab\\udd11cd",
    };
    struct secrets s = {0};

    (void)state;
    secrets_add(&s, STR("ab/cd"));
    secrets_add(&s, STR("ab\xf0\x9f\x94\x91\xf0\x9f\x94\x91"));
    for (size_t i = 0; i < COUNT_OF(texts); i++)
        check_hidden(&s, texts[i], texts[i]);
    secrets_fini(&s);
}

static void a_secret_is_kept_once(void **state)
{
    struct secrets s = {0}, once;

    (void)state;
    secrets_add(&s, STR("token-1"));
    once = s;
    secrets_add_header(&s, STR("token-1"));
    assert_ptr_equal(s.first, once.first);
    secrets_fini(&s);
}

/* Secrets of a client and the text of its server, made for each other. */
static void a_text_that_takes_too_long_to_search_is_hidden_from_there(void **state)
{
    enum { SECRETS = 300, SECRET_BYTES = 200, UNITS = 20000 };
    static const str unit = STR_INIT("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\\u0061");
    struct secrets s = {0};
    struct buf text = {0}, out = {0};
    char secret[SECRET_BYTES];

    (void)state;
    memset(secret, 'a', sizeof(secret));
    for (int i = 0; i < SECRETS; i++) {
        (void)snprintf(secret + SECRET_BYTES - 4, 4, "%03d", i);
        secrets_add(&s, str_from(secret, SECRET_BYTES - 1));
    }
    for (int i = 0; i < UNITS; i++)
        buf_append(&text, unit);
    secrets_hide(&s, buf_str(&text), &out);
    assert_false(buf_failed(&text) || buf_failed(&out));
    assert_true(out.len < text.len / 2);
    assert_true(str_starts_with(buf_str(&text), str_from(out.p, out.len - 10)));
    assert_true(str_ends_with(buf_str(&out), STR("[redacted]")));
    buf_fini(&text);
    buf_fini(&out);
    secrets_fini(&s);
}

static void a_set_that_lost_one_hides_all(void **state)
{
    struct secrets s = {.failed = true};

    (void)state;
    check_hidden(&s, "any text", "[redacted]");
    secrets_fini(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_occurrence_is_hidden),
        cmocka_unit_test(of_secrets_inside_each_other_the_longest_is_hidden),
        cmocka_unit_test(nothing_is_left_of_secrets_that_overlap),
        cmocka_unit_test(short_ones_are_left_alone),
        cmocka_unit_test(the_credential_of_a_header_is_hidden_without_its_scheme),
        cmocka_unit_test(secrets_may_hold_any_byte),
        cmocka_unit_test(secrets_are_found_in_json_strings),
        cmocka_unit_test(what_only_looks_like_an_escape_is_left_alone),
        cmocka_unit_test(a_secret_is_kept_once),
        cmocka_unit_test(a_text_that_takes_too_long_to_search_is_hidden_from_there),
        cmocka_unit_test(a_set_that_lost_one_hides_all),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
