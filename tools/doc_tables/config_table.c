/* config_table.c -- config.def, as sections of docs/config.md and as a part of the man page. */
#include "config/config_key.h"
#include "roff.h"
#include "table.h"

/* ---- Markdown */

static void write_key(const struct config_key *k, struct buf *out)
{
    buf_c(out, "### `");
    buf_c(out, k->name);
    buf_c(out, "`\n\n");
    buf_c(out, k->help);
    buf_c(out, "\n\nFlag `");
    config_key_flag(k, out);
    buf_c(out, "`, variable `");
    config_key_variable(k, out);
    buf_c(out, "`. Takes ");
    config_key_takes(k, out);
    buf_c(out, ". Default: ");
    buf_c(out, k->initial[0] == '\0' ? "none" : "`");
    buf_c(out, k->initial);
    buf_c(out, k->initial[0] == '\0' ? ".\n" : "`.\n");
}

void table_keys(struct buf *out)
{
    for (const struct config_key *k = config_keys; k->name != NULL; k++) {
        buf_c(out, k == config_keys ? "" : "\n");
        if (k->kind != CONFIG_GROUP) {
            write_key(k, out);
            continue;
        }
        buf_c(out, "## ");
        buf_c(out, k->name);
        buf_char(out, '\n');
    }
}

/* ---- the man page */

static void write_flag(const struct config_key *k, struct buf *out)
{
    struct buf flag = {0};

    config_key_flag(k, &flag);
    buf_c(out, ".TP\n\\fB");
    roff_text(buf_str(&flag), out);
    buf_c(out, "\\fR");
    if (config_key_is_flag(k)) {
        buf_c(out, ", \\fB\\-\\-no");
        roff_text(str_skip(buf_str(&flag), 1), out);
        buf_c(out, "\\fR");
    } else {
        buf_c(out, " \\fI");
        roff_c(config_key_placeholder(k), out);
        buf_c(out, "\\fR");
    }
    buf_char(out, '\n');
    buf_fini(&flag);
}

static void write_option(const struct config_key *k, struct buf *out)
{
    struct buf takes = {0}, initial = {0};

    config_key_takes(k, &takes);
    config_key_initial(k, &initial);
    write_flag(k, out);
    roff_c(k->help, out);
    buf_c(out, "\nTakes ");
    roff_text(buf_str(&takes), out);
    buf_c(out, ".\nDefault: ");
    roff_text(buf_str(&initial), out);
    buf_c(out, ".\n");
    buf_fini(&takes);
    buf_fini(&initial);
}

void man_options(struct buf *out)
{
    for (const struct config_key *k = config_keys; k->name != NULL; k++) {
        if (k->kind != CONFIG_GROUP) {
            write_option(k, out);
            continue;
        }
        buf_c(out, ".SS ");
        roff_c(k->name, out);
        buf_char(out, '\n');
    }
}

void man_variables(struct buf *out)
{
    for (const struct config_alias *a = config_aliases; a->key != NULL; a++) {
        buf_c(out, ".TP\n\\fB");
        roff_text(a->variable, out);
        buf_c(out, "\\fR\nSets \\fB");
        roff_c(a->key, out);
        buf_c(out, "\\fR.\n");
    }
}
