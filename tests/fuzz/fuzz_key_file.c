/* fuzz_key_file.c -- any text as the file of keys: read again it gives the same, what names may lies within
 * bounds and is one thing for all keys of a name; and nothing of a line that is wrong is ever shown. */
#include "fuzz/fuzz.h"

#include "access/api_key_internal.h"
#include "access/rate_limit.h"

static void check_allowance(const struct allowance *a)
{
    const struct rate_limits none = {.rpm = 0};
    const struct rate_limits limits = allowance_limits(a, &none);

    fuzz_promise(a == NULL || a->given != 0, "an allowance says something");
    fuzz_promise(limits.rpm <= RATE_MOST && limits.tpm <= RATE_MOST &&
                     limits.concurrency <= RATE_MOST,
                 "limits are numbers that can be counted with");
    fuzz_promise(allowance_weight(a) >= 1 && allowance_weight(a) <= 100, "a weight is a share");
    fuzz_promise(!allowance_is_choosy(a) || a->models.len > 0, "some models are named");
    (void)allowance_has_model(a, STR("gpt-oss-20b"));
}

static void check_keys(const struct api_keys *keys)
{
    for (size_t i = 0; i < keys->n; i++) {
        const struct caller *c = &keys->list[i].caller;

        fuzz_promise(str_is_visible(c->owner), "an owner can be shown");
        fuzz_promise(c->allowance == api_keys_allowance(keys, c->owner),
                     "keys of one name may the same");
        check_allowance(c->allowance);
    }
}

static void check_again(const struct api_keys *first, str text, struct arena *owners)
{
    struct api_keys second = {.owners = owners, .former = first};
    struct config_problems problems = {.n_kept = 0};
    const size_t used = owners->used;

    api_keys_parse(&second, "keys", text, &problems);
    fuzz_promise(second.n == first->n && owners->used == used,
                 "the same again takes no memory that stays");
    for (size_t i = 0; i < second.n; i++)
        fuzz_promise(str_eq(second.list[i].caller.owner, first->list[i].caller.owner) &&
                         second.list[i].caller.allowance == first->list[i].caller.allowance,
                     "and is the same");
    config_problems_fini(&problems);
    api_keys_fini(&second);
}

static void check_file(str text)
{
    struct arena owners = {.limit = 0};
    struct api_keys keys = {.owners = &owners};
    struct config_problems problems = {.n_kept = 0};

    api_keys_parse(&keys, "keys", text, &problems);
    check_keys(&keys);
    if (problems.n_errors == 0)
        check_again(&keys, text, &owners);
    config_problems_fini(&problems);
    api_keys_fini(&keys);
    arena_fini(&owners);
}

/* No word of a setting, and no value that one may have: a line that ends with it is wrong. */
#define SECRET "~hush~"

static void check_secrecy(str text)
{
    struct api_keys keys = {.list = NULL};
    struct config_problems problems = {.n_kept = 0};
    struct buf marked = {.limit = 0}, shown = {.limit = 0};

    while (text.len > 0) {
        buf_append(&marked, str_cut(&text, '\n'));
        buf_c(&marked, SECRET "\n");
    }
    api_keys_parse(&keys, "keys", buf_str(&marked), &problems);
    config_problems_print(&problems, &shown);
    fuzz_promise(str_find(buf_str(&shown), STR(SECRET)) == shown.len, "nothing of a line is shown");
    config_problems_fini(&problems);
    api_keys_fini(&keys);
    buf_fini(&marked);
    buf_fini(&shown);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    check_file(fuzz_input(bytes, n));
    check_secrecy(fuzz_input(bytes, n));
    return 0;
}
