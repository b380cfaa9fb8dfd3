/* document.c -- goes through a page line by line. */
#include "document.h"

#include "table.h"

static const struct {
    str name;
    void (*write)(struct buf *out);
} tables[] = {
    {STR_INIT("admin routes"), table_admin_routes},
    {STR_INIT("audit"), table_audit},
    {STR_INIT("commands"), man_commands},
    {STR_INIT("completion commands"), completion_commands},
    {STR_INIT("completion flags"), completion_flags},
    {STR_INIT("completion of fish"), completion_fish},
    {STR_INIT("doctor checks"), table_doctor_checks},
    {STR_INIT("doctor findings"), table_doctor_findings},
    {STR_INIT("endpoints"), table_endpoints},
    {STR_INIT("endpoints of the man page"), man_endpoints},
    {STR_INIT("errors"), table_errors},
    {STR_INIT("events"), table_events},
    {STR_INIT("history repairs"), table_history_repairs},
    {STR_INIT("key settings"), table_key_settings},
    {STR_INIT("keys"), table_keys},
    {STR_INIT("listen marks"), table_listen_marks},
    {STR_INIT("mcp keys"), table_mcp_keys},
    {STR_INIT("metric buckets"), table_metric_buckets},
    {STR_INIT("metrics"), table_metrics},
    {STR_INIT("model families"), table_model_families},
    {STR_INIT("model settings"), table_model_settings},
    {STR_INIT("moved ors"), table_moved_ors},
    {STR_INIT("moved vllm-responses"), table_moved_vr},
    {STR_INIT("preset ors"), table_preset_ors},
    {STR_INIT("preset vllm-responses"), table_preset_vr},
    {STR_INIT("options"), man_options},
    {STR_INIT("options of models"), man_model_settings},
    {STR_INIT("reject reasons"), table_reject_reasons},
    {STR_INIT("schema"), table_schema},
    {STR_INIT("synopsis"), man_synopsis},
    {STR_INIT("title"), man_title},
    {STR_INIT("turn line"), table_turn_line},
    {STR_INIT("upstream fields"), table_upstream_fields},
    {STR_INIT("upstream images"), table_upstream_images},
    {STR_INIT("token ways"), table_token_ways},
    {STR_INIT("trace variables"), table_trace_variables},
    {STR_INIT("upstream kinds"), table_upstream_kinds},
    {STR_INIT("upstream members"), table_upstream_members},
    {STR_INIT("upstream overrides"), table_upstream_overrides},
    {STR_INIT("upstream policies"), table_upstream_policies},
    {STR_INIT("retry words"), table_retry_words},
    {STR_INIT("upstream windows"), table_upstream_windows},
    {STR_INIT("variables"), man_variables},
};

static const str markdown = STR_INIT("<!-- "), roff = STR_INIT(".\\\" "), shell = STR_INIT("# ");

/* Takes the next line off, with its end. */
static str next_line(str *rest)
{
    str line = *rest;

    line.len = str_find_char(*rest, '\n');
    line.len += line.len < rest->len ? 1 : 0;
    *rest = str_skip(*rest, line.len);
    return line;
}

/* What a line says that is a comment; STR_NONE for others. */
static str comment_of(str line)
{
    str text = str_trim(line);

    if (str_starts_with(text, roff))
        return str_skip(text, roff.len);
    if (str_starts_with(text, shell))
        return str_skip(text, shell.len);
    if (!str_starts_with(text, markdown) || !str_ends_with(text, STR(" -->")))
        return STR_NONE;
    text = str_skip(text, markdown.len);
    return str_from(text.p, text.len - strlen(" -->"));
}

/* The name behind these words of a comment; STR_NONE when they are not there. */
static str name_behind(str line, str words)
{
    str comment = comment_of(line);

    return str_starts_with(comment, words) ? str_skip(comment, words.len) : STR_NONE;
}

/* Blank lines set a table of Markdown apart from the comments; in roff they would be space. */
static int write_table(str name, bool is_markdown, struct buf *out, struct err *reterr)
{
    for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++) {
        if (!str_eq(tables[i].name, name))
            continue;
        buf_c(out, is_markdown ? "\n" : "");
        tables[i].write(out);
        buf_c(out, is_markdown ? "\n" : "");
        return 0;
    }
    err_set(reterr, ERR_INTERNAL, "nobody makes a table \"%.*s\"", STR_ARG(name));
    return -1;
}

/* Skips what the table held before, and appends the line that ends it. */
static int skip_table(str name, str *rest, struct buf *out, struct err *reterr)
{
    while (rest->len > 0) {
        str line = next_line(rest);

        if (str_eq(name_behind(line, STR("end of table ")), name)) {
            buf_append(out, line);
            return 0;
        }
    }
    err_set(reterr, ERR_INTERNAL, "the table \"%.*s\" has no end", STR_ARG(name));
    return -1;
}

int document_fill(str text, struct buf *out, struct err *reterr)
{
    while (text.len > 0) {
        str line = next_line(&text);
        str name = name_behind(line, STR("table "));

        buf_append(out, line);
        if (str_is_none(name))
            continue;
        if (write_table(name, str_starts_with(line, markdown), out, reterr) == -1 ||
            skip_table(name, &text, out, reterr) == -1)
            return -1;
    }
    return 0;
}
