/* test_seal.c -- what is sealed comes back to its owner, and nothing else comes back. */
#include "lib/test.h"

#include "ev/seal.h"
#include "lib/fixture.h"

static const char *const old_key = "an-old-secret-of-32-characters--";
static const char *const new_key = "a-new-secret-of-32-characters---";

static struct seal_keys *keys_of(const char *first, const char *second)
{
    const char *const secrets[] = {first, second};
    struct err e;
    struct seal_keys *keys = seal_keys_new(secrets,
                                           first == NULL    ? 0
                                           : second == NULL ? 1
                                                            : 2,
                                           "test", &e);

    assert_non_null(keys);
    return keys;
}

/* buf_fini() it. */
static struct buf seal(const struct seal_keys *keys, str text, str owner)
{
    struct buf sealed = {.limit = 0};

    assert_true(seal_close(keys, text, owner, &sealed));
    assert_false(buf_failed(&sealed));
    return sealed;
}

/* Does it open, and is it this text then? */
static bool opens(const struct seal_keys *keys, str sealed, str owner, str expected)
{
    struct arena arena = {0};
    char *exact = exact_copy(sealed);
    str text = STR_NONE;
    bool ok = seal_open(keys, str_from(exact, sealed.len), owner, &arena, &text);

    free(exact);
    if (ok)
        assert_str_eq(text, expected);
    else
        assert_true(str_is_none(text));
    arena_fini(&arena);
    return ok;
}

/* ---- what comes back */

static void texts_come_back_to_their_owner(void **state)
{
    static const str texts[] = {STR_INIT(""), STR_INIT("a"), STR_INIT("Let me \\\"think\\\".\\n"),
                                STR_INIT("\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80"), STR_INIT("a\0b")};
    static const str owners[] = {STR_INIT(""), STR_INIT("alice"), STR_INIT("key-0123456789abcdef")};
    struct seal_keys *keys = keys_of(new_key, NULL);

    (void)state;
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        for (size_t k = 0; k < COUNT_OF(owners); k++) {
            struct buf sealed = seal(keys, texts[i], owners[k]);

            assert_true(opens(keys, buf_str(&sealed), owners[k], texts[i]));
            buf_fini(&sealed);
        }
    }
    seal_keys_free(keys);
}

static void a_long_text_comes_back(void **state)
{
    const size_t n = (1 << 20) + 1;
    char *text = malloc(n);
    struct seal_keys *keys = keys_of(new_key, NULL);
    struct buf sealed;

    (void)state;
    assert_non_null(text);
    memset(text, 'x', n);
    sealed = seal(keys, str_from(text, n), STR("alice"));
    assert_true(opens(keys, buf_str(&sealed), STR("alice"), str_from(text, n)));
    buf_fini(&sealed);
    seal_keys_free(keys);
    free(text);
}

static void sealed_text_needs_no_escape(void **state)
{
    struct seal_keys *keys = keys_of(new_key, NULL);
    struct buf sealed = seal(keys, STR("any text"), STR(""));

    (void)state;
    assert_true(str_starts_with(buf_str(&sealed), STR("gw1.")));
    assert_int_equal(strspn(buf_cstr(&sealed),
                            "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                            "0123456789-_."),
                     sealed.len);
    buf_fini(&sealed);
    seal_keys_free(keys);
}

static void sealed_text_is_appended(void **state)
{
    struct seal_keys *keys = keys_of(new_key, NULL);
    struct buf out = {.limit = 0};

    (void)state;
    buf_c(&out, "\"");
    assert_true(seal_close(keys, STR("a"), STR(""), &out));
    assert_true(str_starts_with(buf_str(&out), STR("\"gw1.")));
    assert_true(opens(keys, str_skip(buf_str(&out), 1), STR(""), STR("a")));
    buf_fini(&out);
    seal_keys_free(keys);
}

static void no_two_sealed_texts_are_alike(void **state)
{
    struct seal_keys *keys = keys_of(new_key, NULL);
    struct buf one = seal(keys, STR("the same"), STR("")),
               two = seal(keys, STR("the same"), STR(""));
    size_t n_same = 0;

    (void)state;
    assert_int_equal(one.len, two.len);
    while (one.p[n_same] == two.p[n_same])
        n_same++;
    assert_in_range(n_same, 12, 17); /* prefix and key, then chance */
    buf_fini(&one);
    buf_fini(&two);
    seal_keys_free(keys);
}

/* Made by another implementation, from what seal.h and seal.c say: Node's hkdfSync() and
 * createCipheriv(), the salt being the bytes 0 to 15. */
static void the_form_stays_what_it_is(void **state)
{
    const str sealed = STR("gw1.Cdc7F7KoAAECAwQFBgcICQoLDA0ODwVYRjj2BVXFqirN93qIrh1eQBBXcRAW8Zcqk6_"
                           "tsn--Ng");
    struct seal_keys *keys = keys_of("correct-horse-battery-staple", NULL);

    (void)state;
    assert_true(opens(keys, sealed, STR("alice"), STR("Let me \\\"think\\\".")));
    seal_keys_free(keys);
}

/* ---- keys */

static void the_first_key_seals_and_all_open(void **state)
{
    struct seal_keys *before = keys_of(old_key, NULL), *both = keys_of(new_key, old_key),
                     *after = keys_of(new_key, NULL);
    struct buf old = seal(before, STR("old"), STR("alice"));
    struct buf new = seal(both, STR("new"), STR("alice"));

    (void)state;
    assert_true(opens(both, buf_str(&old), STR("alice"), STR("old")));
    assert_true(opens(both, buf_str(&new), STR("alice"), STR("new")));
    assert_true(opens(after, buf_str(&new), STR("alice"), STR("new")));
    assert_false(opens(after, buf_str(&old), STR("alice"), STR("old")));
    assert_false(opens(before, buf_str(&new), STR("alice"), STR("new")));
    buf_fini(&old);
    buf_fini(&new);
    seal_keys_free(before);
    seal_keys_free(both);
    seal_keys_free(after);
}

static void without_secrets_each_start_has_a_key_of_its_own(void **state)
{
    struct seal_keys *one = keys_of(NULL, NULL), *two = keys_of(NULL, NULL);
    struct buf sealed = seal(one, STR("a"), STR(""));

    (void)state;
    assert_true(opens(one, buf_str(&sealed), STR(""), STR("a")));
    assert_false(opens(two, buf_str(&sealed), STR(""), STR("a")));
    buf_fini(&sealed);
    seal_keys_free(one);
    seal_keys_free(two);
}

static void another_purpose_has_other_keys(void **state)
{
    struct err e;
    struct seal_keys *one = keys_of(new_key, NULL),
                     *two = seal_keys_new(&new_key, 1, "another", &e);
    struct buf sealed = seal(one, STR("a"), STR(""));

    (void)state;
    assert_non_null(two);
    assert_false(opens(two, buf_str(&sealed), STR(""), STR("a")));
    buf_fini(&sealed);
    seal_keys_free(one);
    seal_keys_free(two);
}

/* ---- what does not open */

static void other_owners_cannot_open(void **state)
{
    static const str others[] = {STR_INIT(""), STR_INIT("bob"), STR_INIT("alic"),
                                 STR_INIT("alicea"), STR_INIT("Alice")};
    struct seal_keys *keys = keys_of(new_key, NULL);
    struct buf sealed = seal(keys, STR("private"), STR("alice"));
    struct buf of_all = seal(keys, STR("alice"), STR(""));

    (void)state;
    for (size_t i = 0; i < COUNT_OF(others); i++)
        assert_false(opens(keys, buf_str(&sealed), others[i], STR("private")));
    assert_false(opens(keys, buf_str(&of_all), STR("alice"), STR("alice")));
    buf_fini(&sealed);
    buf_fini(&of_all);
    seal_keys_free(keys);
}

static void any_byte_in_place_of_another_is_noticed(void **state)
{
    struct seal_keys *keys = keys_of(new_key, old_key);
    struct buf sealed = seal(keys, STR("think"), STR("alice"));

    (void)state;
    for (size_t i = 0; i < sealed.len; i++) {
        const char good = sealed.p[i];

        for (int c = 0; c < 256; c++) {
            sealed.p[i] = (char)(unsigned char)c;
            if (sealed.p[i] != good)
                assert_false(opens(keys, buf_str(&sealed), STR("alice"), STR("think")));
        }
        sealed.p[i] = good;
    }
    assert_true(opens(keys, buf_str(&sealed), STR("alice"), STR("think")));
    buf_fini(&sealed);
    seal_keys_free(keys);
}

static void what_is_missing_or_added_is_noticed(void **state)
{
    static const char *const more[] = {"A", "AA", "AAAA", "=", "==", "\n", "."};
    struct seal_keys *keys = keys_of(new_key, NULL);
    struct buf sealed = seal(keys, STR("think"), STR(""));
    const size_t n = sealed.len;

    (void)state;
    for (size_t i = 0; i < n; i++) {
        assert_false(opens(keys, str_from(sealed.p, i), STR(""), STR("")));
        assert_false(opens(keys, str_from(sealed.p + n - i, i), STR(""), STR("")));
    }
    for (size_t i = 0; i < COUNT_OF(more); i++) {
        sealed.len = n;
        buf_c(&sealed, more[i]);
        assert_false(opens(keys, buf_str(&sealed), STR(""), STR("think")));
    }
    buf_fini(&sealed);
    seal_keys_free(keys);
}

static void what_others_have_made_takes_no_memory(void **state)
{
    static const str foreign[] = {
        STR_INIT(""),
        STR_INIT("gw1"),
        STR_INIT("gw1."),
        STR_INIT("gw1.AAAAAAAA"),
        STR_INIT("gAAAAABoGWSEPsq0Ff6YbYVJ0xm8XjHf1S6bRk4xY0lBLMq9oGg="),
        STR_INIT("gw2.AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"),
        STR_INIT("gw1.AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"),
        STR_INIT("\\u0067w1.AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA")};
    struct seal_keys *keys = keys_of(new_key, old_key);
    struct arena arena = {0};
    str text;

    (void)state;
    for (size_t i = 0; i < COUNT_OF(foreign); i++)
        assert_false(seal_open(keys, foreign[i], STR(""), &arena, &text));
    assert_int_equal(arena.used, 0);
    arena_fini(&arena);
    seal_keys_free(keys);
}

/* ---- limits */

static void a_full_buffer_is_left_as_it_is(void **state)
{
    struct seal_keys *keys = keys_of(new_key, NULL);
    struct buf out;

    (void)state;
    buf_init(&out, 40);
    buf_c(&out, "before");
    assert_false(seal_close(keys, STR("think"), STR(""), &out));
    assert_str_c(buf_str(&out), "before");
    buf_fini(&out);
    seal_keys_free(keys);
}

static void a_full_arena_opens_nothing(void **state)
{
    struct seal_keys *keys = keys_of(new_key, NULL);
    struct buf sealed = seal(keys, STR("think"), STR(""));
    struct arena arena;
    str text;

    (void)state;
    arena_init(&arena, 8);
    assert_false(seal_open(keys, buf_str(&sealed), STR(""), &arena, &text));
    assert_true(arena.is_full);
    arena_fini(&arena);
    buf_fini(&sealed);
    seal_keys_free(keys);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_come_back_to_their_owner),
        cmocka_unit_test(a_long_text_comes_back),
        cmocka_unit_test(sealed_text_needs_no_escape),
        cmocka_unit_test(sealed_text_is_appended),
        cmocka_unit_test(no_two_sealed_texts_are_alike),
        cmocka_unit_test(the_form_stays_what_it_is),
        cmocka_unit_test(the_first_key_seals_and_all_open),
        cmocka_unit_test(without_secrets_each_start_has_a_key_of_its_own),
        cmocka_unit_test(another_purpose_has_other_keys),
        cmocka_unit_test(other_owners_cannot_open),
        cmocka_unit_test(any_byte_in_place_of_another_is_noticed),
        cmocka_unit_test(what_is_missing_or_added_is_noticed),
        cmocka_unit_test(what_others_have_made_takes_no_memory),
        cmocka_unit_test(a_full_buffer_is_left_as_it_is),
        cmocka_unit_test(a_full_arena_opens_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
