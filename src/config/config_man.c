/* config_man.c -- the table of keys as a part of the man page. */
#include "config/config_key.h"
#include "config/prose.h"

static void roff(const char *text, struct buf *out)
{
    prose_roff(str_from_c(text), out);
}

static void man_flag(const struct config_key *k, struct buf *out)
{
    struct buf flag = {0};

    config_key_flag(k, &flag);
    buf_c(out, ".TP\n\\fB");
    prose_roff(buf_str(&flag), out);
    buf_c(out, "\\fR");
    if (config_key_is_flag(k)) {
        buf_c(out, ", \\fB\\-\\-no");
        prose_roff(str_skip(buf_str(&flag), 1), out);
        buf_c(out, "\\fR");
    } else {
        buf_c(out, " \\fI");
        roff(config_key_placeholder(k), out);
        buf_c(out, "\\fR");
    }
    buf_char(out, '\n');
    buf_fini(&flag);
}

static void man_key(const struct config_key *k, struct buf *out)
{
    struct buf takes = {0}, initial = {0};

    config_key_takes(k, &takes);
    config_key_initial(k, &initial);
    man_flag(k, out);
    roff(k->help, out);
    buf_c(out, "\nTakes ");
    prose_roff(buf_str(&takes), out);
    buf_c(out, ".\nDefault: ");
    prose_roff(buf_str(&initial), out);
    buf_c(out, ".\n");
    buf_fini(&takes);
    buf_fini(&initial);
}

void config_man_options(struct buf *out)
{
    for (const struct config_key *k = config_keys; k->name != NULL; k++) {
        if (k->kind != CONFIG_GROUP) {
            man_key(k, out);
            continue;
        }
        buf_c(out, ".SS ");
        roff(k->name, out);
        buf_char(out, '\n');
    }
}

void config_man_variables(struct buf *out)
{
    for (const struct config_alias *a = config_aliases; a->key != NULL; a++) {
        buf_c(out, ".TP\n\\fB");
        prose_roff(a->variable, out);
        buf_c(out, "\\fR\nSets \\fB");
        roff(a->key, out);
        buf_c(out, "\\fR.\n");
    }
}
