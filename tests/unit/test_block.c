/* test_block.c -- sixteen bytes at a time give the answer of one at a time. */
#include "base/block.h"
#include "lib/test.h"

static void a_mark_is_found_in_every_place(void **state)
{
    char bytes[BLOCK_BYTES];

    (void)state;
    memset(bytes, 'a', sizeof(bytes));
    assert_int_equal(block_first(block_load(bytes) == '"'), BLOCK_BYTES);
    for (size_t at = BLOCK_BYTES; at-- > 0;) {
        bytes[at] = '"'; /* the later ones stay: the first is the answer */
        assert_int_equal(block_first(block_load(bytes) == '"'), at);
    }
}

static void less_than_a_space_is_control_or_not_ascii(void **state)
{
    char bytes[BLOCK_BYTES];

    (void)state;
    for (int c = 0; c < 256; c++) {
        memset(bytes, 'a', sizeof(bytes));
        bytes[5] = (char)c;
        assert_int_equal(block_first(block_load(bytes) < ' '),
                         c < ' ' || c >= 0x80 ? 5 : BLOCK_BYTES);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_mark_is_found_in_every_place),
        cmocka_unit_test(less_than_a_space_is_control_or_not_ascii),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
