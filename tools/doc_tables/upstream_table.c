/* upstream_table.c -- model_setting.def, model_family.def and upstream_kind.def: what can be said, and
 * what is known, of models and servers. */
#include "config/config_key.h"
#include "roff.h"
#include "table.h"
#include "wire/dialect/upstream_kind.h"

static void write_cell(const char *text, struct buf *out)
{
    buf_c(out, " ");
    buf_c(out, text);
    buf_c(out, " |");
}

/* ---- models */

#define THINK_LINES "`<think>`"
#define THINK_MARKS "`[THINK]`"

static const struct {
    const char *patterns, *think, *calls, *field, *history, *messages, *tags, *source;
} families[] = {
#define FAMILY(patterns, think, calls, field, history, messages, tags, source)                     \
    {patterns, think, calls, field, history, messages, tags, source},
#include "wire/dialect/model_family.def"
};

static void write_patterns(const char *patterns, struct buf *out)
{
    buf_c(out, "| `");
    for (const char *p = patterns; *p != '\0'; p++) {
        if (*p == '|')
            buf_c(out, "`, `");
        else
            buf_char(out, *p);
    }
    buf_c(out, "` |");
}

void table_model_families(struct buf *out)
{
    buf_c(out, "| Model | `reasoning_field` | `reasoning_history` | `think_tags` | `text_calls` | "
               "Messages | Tags | Why |\n"
               "|---|---|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < sizeof(families) / sizeof(*families); i++) {
        write_patterns(families[i].patterns, out);
        write_cell(families[i].field, out);
        write_cell(families[i].history, out);
        write_cell(families[i].think, out);
        write_cell(families[i].calls, out);
        write_cell(families[i].messages, out);
        write_cell(families[i].tags, out);
        write_cell(families[i].source, out);
        buf_char(out, '\n');
    }
}

static const struct {
    const char *name, *words, *help;
    const char *range; /* of a number, which has no words; else NULL */
} settings[] = {
#define MODEL_SETTING(symbol, name, kind, words, values, help) {#name, words, help, NULL},
#define MODEL_NUMBER(symbol, name, smallest, largest, help)                                        \
    {#name, NULL, help, "a number, " #smallest ".." #largest},
#include "wire/dialect/model_setting.def"
};

static void write_taken(size_t i, struct buf *out)
{
    if (settings[i].range == NULL)
        config_write_words(settings[i].words, out);
    else
        buf_c(out, settings[i].range);
}

void table_model_settings(struct buf *out)
{
    for (size_t i = 0; i < sizeof(settings) / sizeof(*settings); i++) {
        buf_c(out, i == 0 ? "### `" : "\n### `");
        buf_c(out, settings[i].name);
        buf_c(out, "`\n\n");
        buf_c(out, settings[i].help);
        buf_c(out, "\n\nTakes ");
        write_taken(i, out);
        buf_c(out, ".\n");
    }
}

void man_model_settings(struct buf *out)
{
    for (size_t i = 0; i < sizeof(settings) / sizeof(*settings); i++) {
        struct buf words = {0};

        write_taken(i, &words);
        buf_c(out, ".TP\n\\fB");
        roff_c(settings[i].name, out);
        buf_c(out, "\\fR\n");
        roff_c(settings[i].help, out);
        buf_c(out, "\nTakes ");
        roff_text(buf_str(&words), out);
        buf_c(out, ".\n");
        buf_fini(&words);
    }
}

/* ---- servers */

static const char *continuation_word(enum chat_continuation c)
{
    return c == CHAT_NOT_CONTINUED ? "-" : c == CHAT_CONTINUED_BY_ITSELF ? "itself" : "told";
}

static void write_kind(const struct upstream_profile *p, struct buf *out)
{
    buf_c(out, "| `");
    buf_append(out, p->word);
    buf_c(out, "` |");
    write_cell(p->words.len == 0 ? "-" : p->words.p, out);
    write_cell(continuation_word(p->continuation), out);
    write_cell(p->source, out);
    buf_char(out, '\n');
}

static void write_fields(const struct upstream_profile *p, struct buf *out)
{
    buf_c(out, "| `");
    buf_append(out, p->word);
    buf_c(out, "` | ");
    for (size_t i = 0; i < p->fields.n; i++) {
        buf_c(out, i == 0 ? "`" : ", `");
        buf_c(out, p->fields.names[i]);
        buf_char(out, '`');
    }
    buf_c(out, " |\n");
}

void table_upstream_kinds(struct buf *out)
{
    buf_c(out, "| `upstream_kind` | Settings | Unfinished | Why |\n|---|---|---|---|\n");
    for (int k = 0; k < UPSTREAM_KINDS; k++)
        write_kind(upstream_profile((enum upstream_kind)k), out);
}

void table_upstream_fields(struct buf *out)
{
    buf_c(out, "| `upstream_kind` | Fields |\n|---|---|\n");
    for (int k = 0; k < UPSTREAM_KINDS; k++)
        write_fields(upstream_profile((enum upstream_kind)k), out);
}
