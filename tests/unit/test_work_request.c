/* test_work_request.c -- a request that waits in the store comes back as it was, to whom it may. */
#include "lib/test.h"

#include "lib/fixture.h"
#include "turn/owner_seal.h"
#include "turn/work_request.h"

#define BODY "{\"model\":\"m\",\n \"input\":\"\\u00e9\\n\"}"

static struct seal_keys *keys_of(const char *secret)
{
    const char *items[] = {secret};
    const struct config_list secrets = {items, 1};
    struct err e;
    struct seal_keys *keys = owner_seal_request_keys(&secrets, &e);

    assert_non_null(keys);
    return keys;
}

static const struct work_request whole = {
    .body = STR_INIT(BODY),
    .request_id = STR_INIT("req_\"1\""),
    .client = STR_INIT("::1"),
    .is_named = true,
    .authorization = STR_INIT("Bearer sk-secret"),
    .scope = STR_INIT("\x01\xff{\n"),
};

static const struct work_request least = {
    .body = STR_INIT(BODY), .request_id = STR_INIT("r"), .client = STR_INIT("unix")};

static void assert_same(str a, str b)
{
    assert_int_equal(str_is_none(a), str_is_none(b));
    assert_str_eq(a, b);
}

static void check_read(str stored, const struct text_seal *seal,
                       const struct work_request *expected)
{
    struct arena a;
    struct work_request r;
    struct err e;

    arena_init(&a, 0);
    assert_int_equal(work_request_read(stored, seal, &a, &r, &e), 0);
    assert_same(r.body, expected->body);
    assert_same(r.request_id, expected->request_id);
    assert_same(r.client, expected->client);
    assert_int_equal(r.is_named, expected->is_named);
    assert_same(r.authorization, expected->authorization);
    assert_same(r.scope, expected->scope);
    arena_fini(&a);
}

static void check_refused(str stored, const struct text_seal *seal, const char *words)
{
    struct arena a;
    struct work_request r;
    struct err e = {.code = ERR_NONE};

    arena_init(&a, 0);
    assert_int_equal(work_request_read(stored, seal, &a, &r, &e), -1);
    assert_int_equal(e.code, ERR_INTERNAL);
    assert_non_null(strstr(e.msg, words));
    arena_fini(&a);
}

static struct buf written(const struct work_request *r, const struct text_seal *seal)
{
    struct buf out = {.limit = 0};
    struct err e;

    assert_int_equal(work_request_write(r, seal, &out, &e), 0);
    return out;
}

static void it_comes_back_as_it_was(void **state)
{
    struct seal_keys *keys = keys_of("a-secret-that-is-long-enough");
    struct owner_seal seal;

    (void)state;
    owner_seal_init(&seal, keys, STR("me"));
    for (int i = 0; i < 4; i++) {
        const struct work_request *r = i % 2 == 0 ? &whole : &least;
        struct buf out = written(r, i < 2 ? NULL : &seal.text);

        check_read(buf_str(&out), &seal.text, r);
        buf_fini(&out);
    }
    seal_keys_free(keys);
}

static void secrets_are_not_to_be_read(void **state)
{
    struct seal_keys *keys = keys_of("a-secret-that-is-long-enough");
    struct seal_keys *others = keys_of("another-secret-as-long-as-it");
    struct owner_seal seal, stranger, elsewhere;
    struct buf out;

    (void)state;
    owner_seal_init(&seal, keys, STR("me"));
    owner_seal_init(&stranger, keys, STR("you"));
    owner_seal_init(&elsewhere, others, STR("me"));
    out = written(&whole, &seal.text);
    assert_null(strstr(buf_cstr(&out), "sk-secret"));
    assert_null(strstr(buf_cstr(&out), "model"));
    check_refused(buf_str(&out), &stranger.text, "encryption_keys");
    check_refused(buf_str(&out), &elsewhere.text, "encryption_keys");
    buf_fini(&out);
    seal_keys_free(keys);
    seal_keys_free(others);
}

/* Whatever it is cut to is refused, and so is a line that is none. */
static void what_is_damaged_is_refused(void **state)
{
    static const char *const damaged[] = {
        "",
        "{}",
        "[]\n{}",
        "{\"request_id\":\"r\"}\n{}",
        "{\"request_id\":\"r\",\"client\":\"c\",\"scope\":\"0g\"}\n{}",
        "{\"request_id\":\"r\",\"client\":\"c\"\n{}",
        "{\"sealed\":7}",
    };
    struct seal_keys *keys = keys_of("a-secret-that-is-long-enough");
    struct owner_seal seal;
    struct buf out = written(&whole, NULL);

    (void)state;
    owner_seal_init(&seal, keys, STR("me"));
    for (size_t i = 0; i < COUNT_OF(damaged); i++)
        check_refused(str_from_c(damaged[i]), &seal.text, "damaged");
    for (size_t n = 0; n <= str_find_char(buf_str(&out), '\n'); n++)
        check_refused(str_from(out.p, n), &seal.text, "damaged");
    buf_fini(&out);
    seal_keys_free(keys);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_comes_back_as_it_was),
        cmocka_unit_test(secrets_are_not_to_be_read),
        cmocka_unit_test(what_is_damaged_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
