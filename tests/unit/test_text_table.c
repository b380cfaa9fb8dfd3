/* test_text_table.c -- columns, and what terminals would obey. */
#include "lib/failing_malloc.h"
#include "lib/test.h"

#include "cli/text_table.h"

static void add_row(struct text_table *t, const char *const *cells, size_t n)
{
    for (size_t i = 0; i < n; i++)
        text_table_cell(t, str_from_c(cells[i]));
    text_table_end_row(t);
}

static void check_written(struct text_table *t, const char *expected)
{
    struct buf out = {.limit = 0};

    text_table_write(t, &out);
    assert_false(buf_failed(&out));
    assert_string_equal(buf_cstr(&out), expected);
    buf_fini(&out);
    text_table_fini(t);
}

static void columns_are_as_wide_as_their_widest_cell(void **state)
{
    static const char *const rows[][3] = {
        {"NAME", "N", "WHERE"}, {"a-long-name", "7", "here"}, {"b", "123456", ""}};
    struct text_table t = {.n_cells = 0};

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        add_row(&t, rows[i], 3);
    check_written(&t, "NAME         N       WHERE\n"
                      "a-long-name  7       here\n"
                      "b            123456\n");
}

static void characters_count_and_not_bytes(void **state)
{
    static const char *const rows[][2] = {{"\xC3\xA9\xC3\xA9", "x"}, {"abc", "y"}};
    struct text_table t = {.n_cells = 0};

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        add_row(&t, rows[i], 2);
    check_written(&t, "\xC3\xA9\xC3\xA9   x\nabc  y\n");
}

static void empty_cells_keep_their_column(void **state)
{
    static const char *const rows[][3] = {{"A", "B", "C"}, {"", "", "c"}, {"", "", ""}};
    struct text_table t = {.n_cells = 0};

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        add_row(&t, rows[i], 3);
    check_written(&t, "A  B  C\n      c\n\n");
}

static void a_note_widens_no_column(void **state)
{
    static const char *const row[] = {"a", "b"};
    struct text_table t = {.n_cells = 0};

    (void)state;
    add_row(&t, row, 2);
    text_table_note(&t, STR("a long line\nof its own"));
    add_row(&t, row, 2);
    check_written(&t, "a  b\n  a long line of its own\na  b\n");
}

static void no_cell_commands_the_terminal(void **state)
{
    /* ESC, its C1 form, a tab, line ends, a right-to-left override, half a character */
    static const char *const row[] = {"a\x1B[2J",
                                      "\xC2\x9B"
                                      "1m",
                                      "\t\r\n",
                                      "\xE2\x80\xAE"
                                      "x",
                                      "\xC3",
                                      "z"};
    struct text_table t = {.n_cells = 0};

    (void)state;
    add_row(&t, row, COUNT_OF(row));
    check_written(&t, "a [2J   1m        x     z\n");
}

static void words_keep_their_lines(void **state)
{
    struct buf out = {.limit = 0};

    (void)state;
    text_table_words(STR("one\ntwo\x1B\r\n"), &out);
    assert_string_equal(buf_cstr(&out), "one\ntwo  \n");
    buf_fini(&out);
}

static void a_table_without_rows_is_nothing(void **state)
{
    struct text_table t = {.n_cells = 0};

    (void)state;
    check_written(&t, "");
}

static void out_of_memory_fails_what_is_written_to(void **state)
{
    static const char *const row[] = {"a", "b"};

    (void)state;
    for (long n = 0;; n++) {
        struct text_table t = {.n_cells = 0};
        struct buf out = {.limit = 0};
        bool has_failed;

        failing_malloc_begin(n, FAILS_ONCE);
        add_row(&t, row, 2);
        text_table_note(&t, STR("a note"));
        text_table_write(&t, &out);
        has_failed = failing_malloc_end();
        assert_int_equal(buf_failed(&out), has_failed);
        text_table_fini(&t);
        buf_fini(&out);
        if (!has_failed)
            return;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_are_as_wide_as_their_widest_cell),
        cmocka_unit_test(characters_count_and_not_bytes),
        cmocka_unit_test(empty_cells_keep_their_column),
        cmocka_unit_test(a_note_widens_no_column),
        cmocka_unit_test(no_cell_commands_the_terminal),
        cmocka_unit_test(words_keep_their_lines),
        cmocka_unit_test(a_table_without_rows_is_nothing),
        cmocka_unit_test(out_of_memory_fails_what_is_written_to),
    };

    return cmocka_run_group_tests_name("text_table", tests, NULL, NULL);
}
