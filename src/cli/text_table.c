/* text_table.c -- rows are kept as lines of cells, each with a mark behind it that no cell can have; columns
 * are as wide as they have to be, which is known at the end alone. */
#include "cli/text_table.h"

#include <assert.h>

#include "base/utf8.h"

enum { GAP = 2, CELL_END = '\t', ROW_END = '\n', NOTE = '\r' };

/* Returns the number of characters appended. */
static size_t append_visible(str s, bool keeps_lines, struct buf *out)
{
    size_t n_chars = 0;

    for (; s.len > 0; n_chars++) {
        size_t n = utf8_char(s);
        bool is_shown = n > 0 && !utf8_is_control(s) && !utf8_is_layout(s);

        if (is_shown || (keeps_lines && s.p[0] == '\n'))
            buf_append(out, str_from(s.p, n));
        else
            buf_char(out, ' ');
        s = str_skip(s, n > 0 ? n : 1);
    }
    return n_chars;
}

void text_table_words(str text, struct buf *out)
{
    (void)append_visible(text, true, out);
}

/* ---- rows */

void text_table_cell(struct text_table *t, str text)
{
    size_t n_chars = append_visible(text, false, &t->text);

    assert(t->n_cells < TEXT_TABLE_COLUMNS);
    buf_char(&t->text, CELL_END);
    if (n_chars > t->widths[t->n_cells])
        t->widths[t->n_cells] = n_chars;
    t->n_cells++;
}

void text_table_end_row(struct text_table *t)
{
    buf_char(&t->text, ROW_END);
    t->n_cells = 0;
}

void text_table_note(struct text_table *t, str text)
{
    buf_char(&t->text, NOTE);
    (void)append_visible(text, false, &t->text);
    buf_char(&t->text, ROW_END);
}

/* ---- columns */

/* The last cell is as long as it is, the others are padded; no line ends in spaces. */
static void write_row(const struct text_table *t, str row, struct buf *out)
{
    size_t start = out->len;

    for (size_t i = 0; row.len > 0; i++) {
        str cell = str_cut(&row, CELL_END);

        buf_append(out, cell);
        for (size_t k = utf8_count(cell); row.len > 0 && k < t->widths[i] + GAP; k++)
            buf_char(out, ' ');
    }
    while (out->len > start && out->p[out->len - 1] == ' ')
        out->len--;
}

void text_table_write(const struct text_table *t, struct buf *out)
{
    str rest = buf_str(&t->text);

    out->failed = out->failed || buf_failed(&t->text);
    while (rest.len > 0 && !buf_failed(out)) {
        str row = str_cut(&rest, ROW_END);

        if (row.len > 0 && row.p[0] == NOTE) {
            buf_c(out, "  ");
            buf_append(out, str_skip(row, 1));
        } else {
            write_row(t, row, out);
        }
        buf_char(out, '\n');
    }
}

void text_table_fini(struct text_table *t)
{
    buf_fini(&t->text);
    *t = (struct text_table){.n_cells = 0};
}
