/* text_table.h -- columns for people, on a terminal.
 *
 *     struct text_table t = {.n_cells = 0};
 *
 *     text_table_cell(&t, STR("NAME"));
 *     text_table_cell(&t, STR("STATE"));
 *     text_table_end_row(&t);
 *     ...
 *     text_table_write(&t, out);
 *     text_table_fini(&t);
 *
 * A terminal obeys control characters, and texts come from others: no cell has any, nor one that changes how a
 * line is laid out or in which direction it is read; spaces stand in their place. Pure. */
#ifndef ANTIPHON_CLI_TEXT_TABLE_H
#define ANTIPHON_CLI_TEXT_TABLE_H

#include "base/buf.h"

enum { TEXT_TABLE_COLUMNS = 16 };

/* A zeroed one is empty. */
struct text_table {
    struct buf text; /* rows, not yet in columns */
    size_t n_cells;  /* of the row at hand */
    size_t widths[TEXT_TABLE_COLUMNS];
};

/* The next cell of the row at hand, which has TEXT_TABLE_COLUMNS at most. */
void text_table_cell(struct text_table *t, str text);
void text_table_end_row(struct text_table *t);

/* A line of its own below the row that has ended: indented, in no column. */
void text_table_note(struct text_table *t, str text);

/* Appends the table; *out has failed when the table has. */
void text_table_write(const struct text_table *t, struct buf *out);
void text_table_fini(struct text_table *t);

/* Appends words of others with their line feeds, and a space for every character that cells have none of. */
void text_table_words(str text, struct buf *out);

#endif
