/* fuzz_seal.c -- sealed text that has been tampered with: it opens when it is what was
 * sealed, and else not.
 *
 * The input is a text to seal, a NUL, and what is done to it: pairs of a place and a byte
 * that is written there. The whole input is opened as well, for somebody for whom nothing
 * has been sealed. */
#include "fuzz/fuzz.h"

#include "base/base64.h"
#include "ev/seal.h"
#include "lib/fixture.h"

static const struct seal_keys *the_keys(void)
{
    static struct seal_keys *keys; /* until the process ends */
    struct err e;

    if (keys == NULL)
        keys = seal_keys_new(NULL, 0, "fuzz", &e);
    fuzz_promise(keys != NULL, "there are keys");
    return keys;
}

/* STR_NONE when it does not open. */
static str open_exactly(str sealed, str owner, struct arena *a)
{
    char *exact = exact_copy(sealed);
    str text = STR_NONE;

    if (!seal_open(the_keys(), str_from(exact, sealed.len), owner, a, &text))
        text = STR_NONE;
    free(exact);
    return text;
}

static void tamper(struct buf *sealed, str changes)
{
    for (; changes.len >= 2; changes = str_skip(changes, 2))
        sealed->p[(unsigned char)changes.p[0] % sealed->len] = changes.p[1];
}

static void check_tampered(str text, str changes)
{
    struct buf good = {.limit = 0}, changed = {.limit = 0};
    struct arena arena = {0};
    str found;

    fuzz_promise(seal_close(the_keys(), text, STR("owner"), &good), "a text can be sealed");
    buf_append(&changed, buf_str(&good));
    tamper(&changed, changes);
    found = open_exactly(buf_str(&changed), STR("owner"), &arena);
    if (str_eq(buf_str(&good), buf_str(&changed)))
        fuzz_promise(!str_is_none(found) && str_eq(found, text), "a sealed text comes back");
    else
        fuzz_promise(str_is_none(found), "a changed text does not open");
    buf_fini(&good);
    buf_fini(&changed);
    arena_fini(&arena);
}

/* libFuzzer reads what is compared, and so comes to know texts that are sealed for the owner. */
static void check_foreign(str input)
{
    struct arena arena = {0};

    fuzz_promise(str_is_none(open_exactly(input, STR("somebody else"), &arena)),
                 "what is not for an owner does not open");
    arena_fini(&arena);
}

static void check_letters(str input)
{
    struct buf again = {.limit = 0};
    const size_t n = base64url_bytes(input.len);
    char *exact = exact_copy(input), *bytes = malloc(n + 1);

    fuzz_promise(bytes != NULL, "there is memory");
    if (base64url_read(str_from(exact, input.len), bytes)) {
        base64url_write(str_from(bytes, n), &again);
        fuzz_promise(str_eq(buf_str(&again), input), "letters that are read would be written");
    }
    buf_fini(&again);
    free(exact);
    free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    const str input = fuzz_input(bytes, n);
    const size_t end = str_find_char(input, '\0');

    check_tampered(str_from(input.p, end), str_skip(input, end + 1));
    check_foreign(input);
    check_letters(input);
    return 0;
}
