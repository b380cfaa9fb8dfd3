/* token_table.c -- token_way.def: how servers count. */
#include "table.h"
#include "wire/dialect/token_way.h"

/* Of the servers that know the way. */
static void write_kinds(enum token_way way, struct buf *out)
{
    const char *before = " `";

    if (token_way_has(way, TOKEN_WAY_ASKS_MODEL)) {
        buf_c(out, " any");
        return;
    }
    for (int k = UPSTREAM_GENERIC + 1; k < UPSTREAM_KINDS; k++) {
        if (!token_way_is_of(way, (enum upstream_kind)k))
            continue;
        buf_c(out, before);
        buf_append(out, upstream_profile((enum upstream_kind)k)->word);
        buf_char(out, '`');
        before = ", `";
    }
}

void table_token_ways(struct buf *out)
{
    buf_c(out, "| Way | `upstream_kind` | Counts | Why |\n|---|---|---|---|\n");
    for (enum token_way way = 0; way < TOKEN_WAYS; way++) {
        buf_c(out, "| `");
        buf_append(out, token_way_word(way));
        buf_c(out, "` |");
        write_kinds(way, out);
        buf_c(out, token_way_has(way, TOKEN_WAY_COUNTS_MEDIA) ? " | all | " : " | text | ");
        buf_c(out, token_way_source(way));
        buf_c(out, " |\n");
    }
}
