/* mcp_table.c -- mcp_config_key.def: the keys of a server's entry. */
#include "table.h"

static const struct row {
    enum { GROUP_ROW, KEY_ROW, ALSO_ROW } kind;
    const char *name, *initial, *help;
} rows[] = {
#define GROUP(title)                     {GROUP_ROW, title, NULL, NULL},
#define KEY(symbol, name, initial, help) {KEY_ROW, name, initial, help},
#define ALSO(symbol, name)               {ALSO_ROW, name, NULL, NULL},
#include "mcp/conf/mcp_config_key.def"
};

enum { ROWS = sizeof(rows) / sizeof(*rows) };

static void write_group(const char *title, struct buf *out)
{
    buf_c(out, "### ");
    buf_c(out, title);
    buf_c(out, "\n\n| Key | Default | Meaning |\n|---|---|---|\n");
}

static void write_key(size_t i, struct buf *out)
{
    const struct row *row = &rows[i];

    buf_c(out, "| `");
    buf_c(out, row->name);
    for (i++; i < ROWS && rows[i].kind == ALSO_ROW; i++) {
        buf_c(out, "`, `");
        buf_c(out, rows[i].name);
    }
    buf_c(out, "` | ");
    buf_c(out, row->initial);
    buf_c(out, row->initial[0] == '\0' ? "| " : " | ");
    buf_c(out, row->help);
    buf_c(out, " |\n");
}

void table_mcp_keys(struct buf *out)
{
    for (size_t i = 0; i < ROWS; i++) {
        if (rows[i].kind == GROUP_ROW) {
            buf_c(out, i == 0 ? "" : "\n");
            write_group(rows[i].name, out);
        } else if (rows[i].kind == KEY_ROW) {
            write_key(i, out);
        }
    }
}
