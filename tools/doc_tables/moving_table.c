/* moving_table.c -- moving.def, as tables of docs/moving.md. */
#include "config/config_key.h"
#include "table.h"

static void write_variables(enum config_preset program, struct buf *out)
{
    buf_c(out, "| Variable | What it does here |\n|---|---|\n");
    for (const struct config_alias *a = config_aliases; a->key != NULL; a++) {
        if (a->program != program)
            continue;
        buf_c(out, "| `");
        buf_append(out, a->variable);
        buf_c(out, "` | sets `");
        buf_c(out, a->key);
        buf_c(out, "` |\n");
    }
    for (const struct config_told *t = config_told; t->why != NULL; t++) {
        if (t->program != program)
            continue;
        buf_c(out, "| `");
        buf_append(out, t->variable);
        buf_c(out, "` | nothing, told at start: ");
        buf_c(out, t->why);
        buf_c(out, " |\n");
    }
}

static void write_preset(enum config_preset program, struct buf *out)
{
    buf_c(out, "| Key | Value | Since |\n|---|---|---|\n");
    for (const struct config_preset_value *v = config_preset_values; v->key != NULL; v++) {
        if (v->program != program)
            continue;
        buf_c(out, "| `");
        buf_c(out, v->key);
        buf_c(out, "` | `");
        buf_c(out, v->value);
        buf_c(out, "` | ");
        buf_c(out, v->why);
        buf_c(out, " |\n");
    }
}

void table_moved_ors(struct buf *out)
{
    write_variables(CONFIG_PRESET_ORS, out);
}

void table_moved_vr(struct buf *out)
{
    write_variables(CONFIG_PRESET_VR, out);
}

void table_preset_ors(struct buf *out)
{
    write_preset(CONFIG_PRESET_ORS, out);
}

void table_preset_vr(struct buf *out)
{
    write_preset(CONFIG_PRESET_VR, out);
}
