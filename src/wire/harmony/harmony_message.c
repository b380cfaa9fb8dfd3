/* harmony_message.c -- headers, ends, and the system message.
 *
 * The markers of the format are written here, and texts of others between them are broken where
 * they contain any. */
#include "wire/harmony/harmony_message.h"

#include "text/harmony_text.h"

/* ---- any message */

static void write_name(struct harmony_name n, struct buf *out)
{
    size_t from = out->len;

    if (n.space.len > 0) {
        buf_append(out, n.space);
        buf_char(out, '.');
    }
    buf_append(out, n.name);
    harmony_neutralise_from(from, out);
}

/* "all" is what no recipient means. */
static bool is_addressed(struct harmony_name recipient)
{
    return recipient.name.len > 0 && !str_eq(recipient.name, STR("all"));
}

size_t harmony_message_open(const struct harmony_message *m, struct buf *out)
{
    buf_append(out, STR("<|start|>"));
    write_name(m->role, out);
    if (m->name.len > 0) {
        buf_char(out, ':');
        harmony_neutralise(m->name, out);
    }
    if (is_addressed(m->recipient)) {
        buf_append(out, STR(" to="));
        write_name(m->recipient, out);
    }
    if (m->channel.len > 0) {
        buf_append(out, STR("<|channel|>"));
        buf_append(out, m->channel);
    }
    if (m->content_type.len > 0) {
        buf_char(out, ' ');
        buf_append(out, m->content_type);
    }
    buf_append(out, STR("<|message|>"));
    return out->len;
}

void harmony_message_close(const struct harmony_message *m, size_t from, struct buf *out)
{
    bool is_call = str_eq(m->role.name, STR("assistant")) && m->recipient.name.len > 0;

    harmony_neutralise_from(from, out);
    buf_append(out, is_call ? STR("<|call|>") : STR("<|end|>"));
}

void harmony_section_begin(size_t from, struct buf *out)
{
    if (out->len > from)
        buf_append(out, STR("\n\n"));
}

/* ---- the system message */

static const str browser =
    STR_INIT("## browser\n"
             "\n"
             "// Tool for browsing.\n"
             "// The `cursor` appears in brackets before each browsing display: `[{cursor}]`.\n"
             "// Cite information from the tool using the following format:\n"
             "// `【{cursor}†L{line_start}(-L{line_end})?】`, for example: `【6†L9-L11】` or "
             "`【8†L3】`.\n"
             "// Do not quote more than 10 words directly from the tool output.\n"
             "// sources=web (default: web)\n"
             "namespace browser {\n"
             "\n"
             "// Searches for information related to `query` and displays `topn` results.\n"
             "type search = (_: {\n"
             "query: string,\n"
             "topn?: number, // default: 10\n"
             "source?: string,\n"
             "}) => any;\n"
             "\n"
             "// Opens the link `id` from the page indicated by `cursor` starting at line number "
             "`loc`, showing `num_lines` lines.\n"
             "// Valid link ids are displayed with the formatting: `【{id}†.*】`.\n"
             "// If `cursor` is not provided, the most recent page is implied.\n"
             "// If `id` is a string, it is treated as a fully qualified URL associated with "
             "`source`.\n"
             "// If `loc` is not provided, the viewport will be positioned at the beginning of the "
             "document or centered on the most relevant passage, if available.\n"
             "// Use this function without `id` to scroll to a new location of an opened page.\n"
             "type open = (_: {\n"
             "id?: number | string, // default: -1\n"
             "cursor?: number, // default: -1\n"
             "loc?: number, // default: -1\n"
             "num_lines?: number, // default: -1\n"
             "view_source?: boolean, // default: false\n"
             "source?: string,\n"
             "}) => any;\n"
             "\n"
             "// Finds exact matches of `pattern` in the current page, or the page given by "
             "`cursor`.\n"
             "type find = (_: {\n"
             "pattern: string,\n"
             "cursor?: number, // default: -1\n"
             "}) => any;\n"
             "\n"
             "} // namespace browser");

static const str python =
    STR_INIT("## python\n"
             "\n"
             "Use this tool to execute Python code in your chain of thought. The code will not be "
             "shown to the user. This tool should be used for internal reasoning, but not for code "
             "that is intended to be visible to the user (e.g. when creating plots, tables, or "
             "files).\n"
             "\n"
             "When you send a message containing Python code to python, it will be executed in a "
             "stateful Jupyter notebook environment. python will respond with the output of the "
             "execution or time out after 120.0 seconds. The drive at '/mnt/data' can be used to "
             "save and persist user files. Internet access for this session is UNKNOWN. Depends on "
             "the cluster.");

static void write_line(size_t from, str label, str text, struct buf *out)
{
    if (text.len == 0)
        return;
    if (out->len > from)
        buf_char(out, '\n');
    buf_append(out, label);
    buf_append(out, text);
}

static void write_builtin(size_t from, bool is_there, str text, struct buf *out)
{
    if (!is_there)
        return;
    harmony_section_begin(from, out);
    buf_append(out, text);
}

static void write_channels(const struct harmony_system *s, struct buf *out)
{
    buf_append(out, STR("# Valid channels: "));
    buf_append(out, s->channels);
    buf_append(out, STR(". Channel must be included for every message."));
    if (s->has_functions)
        buf_append(out, STR("\nCalls to these tools must go to the commentary channel: "
                            "'functions'."));
}

void harmony_system_write(const struct harmony_system *s, struct buf *out)
{
    const size_t from = out->len;

    write_line(from, STR(""), s->identity, out);
    write_line(from, STR("Knowledge cutoff: "), s->knowledge_cutoff, out);
    write_line(from, STR("Current date: "), s->date, out);
    if (s->effort.len > 0) {
        harmony_section_begin(from, out);
        write_line(out->len, STR("Reasoning: "), s->effort, out);
    }
    write_builtin(from, s->has_browser || s->has_python, STR("# Tools"), out);
    write_builtin(from, s->has_browser, browser, out);
    write_builtin(from, s->has_python, python, out);
    if (s->channels.len > 0) {
        harmony_section_begin(from, out);
        write_channels(s, out);
    }
}
