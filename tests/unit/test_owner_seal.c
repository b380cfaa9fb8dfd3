/* test_owner_seal.c -- the keys of the configuration, as the core meets them. */
#include "unit/config_fixture.h"

#include "ev/log.h"
#include "turn/owner_seal.h"

#define ONE "the-first-secret-of-two"
#define TWO "the-second-secret-of-two"

/* The keys of a gateway that was started with these secrets. */
static struct seal_keys *start(const char *secrets)
{
    struct load l = {.args = {"--encryption-keys", secrets}};
    struct err e;
    struct seal_keys *keys;

    if (secrets == NULL)
        l.args[0] = NULL;
    load_fine(&l);
    keys = owner_seal_reasoning_keys(&l.config.encryption_keys, &e);
    load_end(&l); /* nothing of it is kept */
    assert_non_null(keys);
    return keys;
}

static struct buf seal_for(const struct seal_keys *keys, str owner, str text)
{
    struct owner_seal turn;
    const struct text_seal *seal = &turn.text;
    struct buf sealed = {.limit = 0};

    owner_seal_init(&turn, keys, owner);
    assert_true(seal->close(seal->arg, text, &sealed));
    return sealed;
}

/* Does it open in a turn of this owner, to this text? */
static bool opens_for(const struct seal_keys *keys, str owner, str sealed, str expected)
{
    struct owner_seal turn;
    const struct text_seal *seal = &turn.text;
    struct arena arena = {0};
    str text;
    bool ok;

    owner_seal_init(&turn, keys, owner);
    ok = seal->open(seal->arg, sealed, &arena, &text);
    if (ok)
        assert_str_eq(text, expected);
    arena_fini(&arena);
    return ok;
}

static void reasoning_survives_a_restart_with_its_secret(void **state)
{
    static const struct {
        const char *before, *after;
        bool survives;
    } cases[] = {
        {ONE, ONE, true},          {ONE, ONE "," TWO, true},
        {ONE, TWO "," ONE, true},  {ONE, TWO, false},
        {ONE, NULL, false},        {NULL, ONE, false},
        {NULL, NULL, false},       {TWO "," ONE, TWO, true},
        {TWO "," ONE, ONE, false}, {ONE, ONE "-and-more", false},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct seal_keys *before = start(cases[i].before), *after = start(cases[i].after);
        struct buf sealed = seal_for(before, STR("alice"), STR("why \\u00e9"));

        assert_int_equal(opens_for(after, STR("alice"), buf_str(&sealed), STR("why \\u00e9")),
                         cases[i].survives);
        buf_fini(&sealed);
        seal_keys_free(before);
        seal_keys_free(after);
    }
}

static void reasoning_belongs_to_the_owner_of_the_key(void **state)
{
    struct seal_keys *keys = start(ONE);
    struct buf of_alice = seal_for(keys, STR("alice"), STR("private"));
    struct buf of_nobody = seal_for(keys, STR(""), STR("open"));

    (void)state;
    assert_true(opens_for(keys, STR("alice"), buf_str(&of_alice), STR("private")));
    assert_true(opens_for(keys, STR(""), buf_str(&of_nobody), STR("open")));
    assert_false(opens_for(keys, STR("bob"), buf_str(&of_alice), STR("private")));
    assert_false(opens_for(keys, STR(""), buf_str(&of_alice), STR("private")));
    assert_false(opens_for(keys, STR("alice"), buf_str(&of_nobody), STR("open")));
    buf_fini(&of_alice);
    buf_fini(&of_nobody);
    seal_keys_free(keys);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reasoning_survives_a_restart_with_its_secret),
        cmocka_unit_test(reasoning_belongs_to_the_owner_of_the_key),
    };

    log_setup(LOG_ERROR, LOG_TEXT);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
