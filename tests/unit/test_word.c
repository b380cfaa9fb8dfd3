/* test_word.c -- eight bytes at a time give the answer of one at a time. */
#include "base/word.h"
#include "lib/test.h"

/* Each byte value in each place, between neighbours that borrow from or carry into it. */
static void check_all(bool (*find)(uint64_t word), bool (*is_one)(unsigned char c))
{
    static const unsigned char neighbours[] = {0x00, 0x01, 0x1F, 0x20, 0x21, 0x22, 0x23,
                                               0x5C, 0x7F, 0x80, 0x81, 0xC2, 0xFF};

    for (size_t n = 0; n < COUNT_OF(neighbours); n++) {
        for (int c = 0; c < 256; c++) {
            for (size_t at = 0; at < WORD_BYTES; at++) {
                char bytes[WORD_BYTES];

                memset(bytes, neighbours[n], sizeof(bytes));
                bytes[at] = (char)c;
                assert_int_equal(find(word_load(bytes)),
                                 is_one(neighbours[n]) || is_one((unsigned char)c));
            }
        }
    }
}

static bool find_quote(uint64_t word)
{
    return word_find(word, '"') != 0;
}

static bool is_quote(unsigned char c)
{
    return c == '"';
}

static bool find_e2(uint64_t word)
{
    return word_find(word, 0xE2) != 0;
}

static bool is_e2(unsigned char c)
{
    return c == 0xE2;
}

static bool find_control(uint64_t word)
{
    return word_find_below(word, ' ') != 0;
}

static bool is_control(unsigned char c)
{
    return c < ' ';
}

static bool find_high(uint64_t word)
{
    return word_find_high(word) != 0;
}

static bool is_high(unsigned char c)
{
    return c >= 0x80;
}

static void words_give_the_answers_of_bytes(void **state)
{
    (void)state;
    check_all(find_quote, is_quote);
    check_all(find_e2, is_e2);
    check_all(find_control, is_control);
    check_all(find_high, is_high);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {cmocka_unit_test(words_give_the_answers_of_bytes)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
