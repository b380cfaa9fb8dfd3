/* mcp_failure.c -- the table of causes and their words. */
#include "mcp/proto/mcp_failure.h"

#include "base/utf8.h"
#include "json/json_write.h"
#include "mcp/proto/mcp_result.h"

enum { CODE_GIVEN = 0, BAD_GATEWAY = 502 };

/* In the words, %c is the code, %l the label, %m the message or the text of the
 * result, %s the seconds, %t the tool. */
static const struct row {
    const char *type;
    int64_t code;
    const char *text;
    const char *message; /* of the object; NULL: the text */
    const char *word;
} rows[MCP_CAUSE_COUNT] = {
    [MCP_FAILED_TOOL] = {"mcp_tool_execution_error", CODE_GIVEN, "%m", NULL, "tool_error"},
    [MCP_FAILED_RPC] = {"mcp_protocol_error", CODE_GIVEN, "%m (%c)", "%m", "rpc_error"},
    [MCP_FAILED_HTTP] = {"http_error", CODE_GIVEN, "MCP server %l: HTTP %c", NULL, "http_error"},
    [MCP_FAILED_UNREACHABLE] = {"http_error", BAD_GATEWAY, "MCP server %l is unreachable", NULL,
                                "unreachable"},
    [MCP_FAILED_CLOSED] = {"mcp_protocol_error", MCP_CONNECTION_CLOSED,
                           "MCP server %l closed the connection", NULL, "closed"},
    [MCP_FAILED_TIMEOUT] = {"mcp_protocol_error", MCP_REQUEST_TIMEOUT,
                            "tool %t timed out after %s s", NULL, "timeout"},
    [MCP_FAILED_ARGUMENTS] = {"mcp_protocol_error", JSONRPC_INVALID_PARAMS, "Invalid arguments: %m",
                              NULL, "invalid_arguments"},
    [MCP_FAILED_RESULT] = {"mcp_protocol_error", JSONRPC_INTERNAL_ERROR, "MCP server %l: %m", NULL,
                           "invalid_result"},
    [MCP_FAILED_LIMIT] = {"mcp_protocol_error", MCP_CONNECTION_CLOSED, "%m", NULL, "limit"},
};

const char *mcp_failure_word(enum mcp_cause cause)
{
    return rows[cause].word;
}

static int64_t code_of(const struct mcp_failure *f)
{
    return rows[f->cause].code == CODE_GIVEN ? f->code : rows[f->cause].code;
}

/* The limit here is in bytes: no character has more than four. */
static void write_message(const struct mcp_failure *f, struct buf *out)
{
    const struct mcp_result_options options = {.form = MCP_RESULT_TEXT,
                                               .limit_bytes = 4 * (size_t)MCP_FAILURE_MAX_CHARS};

    if (f->result != NULL)
        mcp_result_write(f->result, &options, out);
    else
        utf8_repair(f->message, out);
}

static void write_words(const char *words, const struct mcp_failure *f, struct buf *out)
{
    for (; *words != '\0'; words++) {
        if (*words != '%') {
            buf_char(out, *words);
            continue;
        }
        switch (*++words) {
        case 'c':
            buf_int(out, code_of(f));
            break;
        case 'l':
            buf_append(out, f->label);
            break;
        case 'm':
            write_message(f, out);
            break;
        case 's':
            buf_int(out, f->seconds);
            break;
        default:
            utf8_repair(f->tool, out);
            break;
        }
    }
}

/* Cuts what stands behind the first `from` bytes to MCP_FAILURE_MAX_CHARS. */
static void limit_chars(struct buf *out, size_t from)
{
    size_t n = 0;

    if (buf_failed(out))
        return;
    for (size_t i = from; i < out->len; i++) {
        n += ((unsigned char)out->p[i] & 0xC0) != 0x80;
        if (n > MCP_FAILURE_MAX_CHARS) {
            out->len = i;
            return;
        }
    }
}

static void write_limited(const char *words, const struct mcp_failure *f, struct buf *out)
{
    size_t from = out->len;

    write_words(words, f, out);
    limit_chars(out, from);
}

void mcp_failure_text(const struct mcp_failure *f, struct buf *out)
{
    size_t from = out->len;

    write_limited(rows[f->cause].text, f, out);
    if (out->len == from) /* a tool that failed without a word */
        buf_append(out, mcp_result_for_model(STR("")));
}

static void write_content(const struct mcp_failure *f, struct jw *w)
{
    const struct mcp_result_options options = {.form = MCP_RESULT_PARTS,
                                               .limit_bytes = MCP_FAILURE_MAX_CHARS};

    jw_key(w, "content");
    mcp_result_write(f->result, &options, w->out);
    w->comma = true;
}

void mcp_failure_object(const struct mcp_failure *f, struct buf *out)
{
    const struct row *row = &rows[f->cause];
    struct jw w = jw_to(out);
    struct buf words = {0};

    jw_object(&w);
    jw_key_string(&w, "type", str_from_c(row->type));
    if (f->result != NULL) {
        write_content(f, &w);
    } else {
        write_limited(row->message == NULL ? row->text : row->message, f, &words);
        jw_key_int(&w, "code", code_of(f));
        jw_key_string(&w, "message", buf_str(&words));
    }
    jw_object_end(&w);
    if (buf_failed(&words))
        out->failed = true;
    buf_fini(&words);
}

/* A server that reports an unknown tool as a result rather than as an error
 * mostly keeps the words of the error. Listing once too often does no harm. */
bool mcp_failure_wants_refresh(const struct mcp_failure *f)
{
    struct buf text = {0};
    bool wants;

    if (f->cause == MCP_FAILED_RPC)
        return f->code == JSONRPC_INVALID_PARAMS;
    if (f->cause != MCP_FAILED_TOOL)
        return false;
    write_message(f, &text);
    wants = str_has_nocase(buf_str(&text), STR("-32602")) ||
            str_has_nocase(buf_str(&text), STR("unknown tool"));
    buf_fini(&text);
    return wants;
}
