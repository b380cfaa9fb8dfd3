/* test_base64.c -- bytes as letters and back. */
#include "lib/test.h"

#include "base/base64.h"
#include "lib/fixture.h"

/* The test vectors of RFC 4648, 10, and the two digits in which the alphabets differ. */
static const struct {
    str bytes;
    const char *plain, *url;
} cases[] = {
    {STR_INIT(""), "", ""},
    {STR_INIT("f"), "Zg==", "Zg"},
    {STR_INIT("fo"), "Zm8=", "Zm8"},
    {STR_INIT("foo"), "Zm9v", "Zm9v"},
    {STR_INIT("foob"), "Zm9vYg==", "Zm9vYg"},
    {STR_INIT("fooba"), "Zm9vYmE=", "Zm9vYmE"},
    {STR_INIT("foobar"), "Zm9vYmFy", "Zm9vYmFy"},
    {STR_INIT("\0\xFF\xEF\xBE\xFB"), "AP/vvvs=", "AP_vvvs"},
    {STR_INIT("\xFB\xEF\xBE"), "++++", "----"},
};

static void bytes_become_letters(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct buf plain = {.limit = 0}, url = {.limit = 0};

        base64_write(cases[i].bytes, &plain);
        base64url_write(cases[i].bytes, &url);
        assert_str_c(buf_str(&plain), cases[i].plain);
        assert_str_c(buf_str(&url), cases[i].url);
        assert_int_equal(base64url_letters(cases[i].bytes.len), url.len);
        buf_fini(&plain);
        buf_fini(&url);
    }
}

/* Reads from and writes to blocks of exactly their size. */
static bool read_exactly(str letters, str expected)
{
    size_t n = base64url_bytes(letters.len);
    char *from = exact_copy(letters), *to = malloc(n == 0 ? 1 : n);
    bool ok;

    assert_non_null(to);
    ok = base64url_read(str_from(from, letters.len), to);
    if (ok)
        assert_str_eq(str_from(to, n), expected);
    free(from);
    free(to);
    return ok;
}

static void letters_become_bytes_again(void **state)
{
    char bytes[256];
    struct buf letters = {.limit = 0};

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        assert_true(read_exactly(str_from_c(cases[i].url), cases[i].bytes));
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (char)(unsigned char)i;
    for (size_t n = 0; n <= sizeof(bytes); n++) {
        buf_reset(&letters);
        base64url_write(str_from(bytes, n), &letters);
        assert_true(read_exactly(buf_str(&letters), str_from(bytes, n)));
    }
    buf_fini(&letters);
}

static void only_letters_that_would_be_written_are_read(void **state)
{
    static const char *const wrong[] = {
        "Z",   "Zm9vZ", "Zg==",  "Zm8=", "Zh",         "Zm9",  "Z g",    "Zg\n",
        "+++", "////",  "Zm9v=", "=Zm9", "Zm\xC3\xA9", "Zm.v", "Zm9vYh", "Zm9vYmG",
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(wrong); i++)
        assert_false(read_exactly(str_from_c(wrong[i]), STR("")));
}

/* Into a block of exactly the size that its bytes have. */
static bool read_padded(str letters, str expected)
{
    str unpadded = base64_unpadded(letters);
    size_t n = base64url_bytes(unpadded.len);
    char *to = malloc(n == 0 ? 1 : n);
    bool ok;

    assert_non_null(to);
    ok = !str_is_none(unpadded) && base64_read(unpadded, to);
    if (ok)
        assert_str_eq(str_from(to, n), expected);
    free(to);
    return ok;
}

static void padded_letters_become_bytes_again(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        assert_true(read_padded(str_from_c(cases[i].plain), cases[i].bytes));
}

static void only_padded_letters_of_the_plain_alphabet_are_read(void **state)
{
    static const char *const wrong[] = {"Zg",   "Zg=",   "Zg===", "====", "Z===", "----",
                                        "__8=", "Zm9v=", "Zm=v",  "Zh==", "Zm9=", "Zm9vZg== "};

    (void)state;
    for (size_t i = 0; i < COUNT_OF(wrong); i++)
        assert_false(read_padded(str_from_c(wrong[i]), STR("")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_become_letters),
        cmocka_unit_test(letters_become_bytes_again),
        cmocka_unit_test(only_letters_that_would_be_written_are_read),
        cmocka_unit_test(padded_letters_become_bytes_again),
        cmocka_unit_test(only_padded_letters_of_the_plain_alphabet_are_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
