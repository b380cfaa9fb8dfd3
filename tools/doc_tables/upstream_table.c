/* upstream_table.c -- model_family.def and upstream_kind.def: what is known of models and servers. */
#include "base/str.h"
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

/* ---- servers */

static const char *choice_word(enum chat_tool_choice c)
{
    return c == CHAT_CHOICE_FULL ? "full" : c == CHAT_CHOICE_STRINGS ? "strings" : "auto";
}

static const char *continuation_word(enum chat_continuation c)
{
    return c == CHAT_NOT_CONTINUED ? "-" : c == CHAT_CONTINUED_BY_ITSELF ? "itself" : "told";
}

static void write_kind(const struct upstream_profile *p, struct buf *out)
{
    buf_c(out, "| `");
    buf_append(out, p->word);
    buf_c(out, "` |");
    write_cell(p->token_field == CHAT_MAX_TOKENS ? "max_tokens" : "max_completion_tokens", out);
    write_cell(choice_word(p->tool_choice), out);
    write_cell(p->schema_with_tools == UPSTREAM_TOGETHER ? "together" : "after", out);
    write_cell(upstream_has(p, UPSTREAM_THINKING_SWITCH) ? "true" : "false", out);
    write_cell(upstream_has(p, UPSTREAM_COUNTS_UNASKED) ? "false" : "true", out);
    write_cell(continuation_word(p->continuation), out);
    write_cell(p->words.len == 0 ? "-" : p->words.p, out);
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
    buf_c(out, "| `upstream_kind` | `token_field` | `tool_choice_support` | Format and tools | "
               "`thinking_switch` | `include_usage` | Unfinished | Model settings | Why |\n"
               "|---|---|---|---|---|---|---|---|---|\n");
    for (int k = 0; k < UPSTREAM_KINDS; k++)
        write_kind(upstream_profile((enum upstream_kind)k), out);
}

void table_upstream_fields(struct buf *out)
{
    buf_c(out, "| `upstream_kind` | Fields |\n|---|---|\n");
    for (int k = 0; k < UPSTREAM_KINDS; k++)
        write_fields(upstream_profile((enum upstream_kind)k), out);
}
