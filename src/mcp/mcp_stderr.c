/* mcp_stderr.c -- lines of a server into the log and into a ring. */
#include "mcp/mcp_stderr.h"

#include "base/utf8.h"
#include "ev/log.h"

enum { READ_BYTES = 2 * MCP_STDERR_LINE_BYTES }; /* of a line, before secrets are taken out */

void mcp_stderr_init(struct mcp_stderr *s, const struct loop *loop, const char *label,
                     mcp_redact *redact, void *redact_arg)
{
    *s = (struct mcp_stderr){
        .loop = loop, .label = label, .redact = redact, .redact_arg = redact_arg};
    mcp_line_init(&s->lines, READ_BYTES, true);
}

void mcp_stderr_fini(struct mcp_stderr *s)
{
    mcp_line_fini(&s->lines);
    for (size_t i = 0; i < MCP_STDERR_KEPT_LINES; i++)
        buf_fini(&s->kept[i]);
}

static void redacted(const struct mcp_stderr *s, str text, struct buf *out)
{
    if (s->redact != NULL)
        s->redact(s->redact_arg, text, out);
    else
        buf_append(out, text);
}

static str cut(str text, size_t limit_bytes)
{
    return str_from(text.p, utf8_cut(text, limit_bytes));
}

/* What was left out for its rate is told with the next line that is not. */
static void log_text(const struct mcp_stderr *s, enum log_level level, const char *event,
                     uint64_t n_left_out, str text)
{
    struct log_field fields[] = {LOG_STR("server", str_from_c(s->label)), LOG_INT("pid", s->pid),
                                 LOG_STR("text", text), LOG_INT("left_out", n_left_out), LOG_END};

    if (n_left_out == 0)
        fields[3].key = NULL;
    log_line(level, event, fields);
}

/* Secrets go before the line is cut: the half of one would not be known for one. */
static void on_line(void *arg, str line)
{
    struct mcp_stderr *s = arg;
    struct buf *slot = &s->kept[s->n_lines++ % MCP_STDERR_KEPT_LINES];
    uint64_t n_left_out;

    buf_reset(slot);
    redacted(s, line, slot);
    slot->len = cut(buf_str(slot), MCP_STDERR_LINE_BYTES).len;
    if (mcp_rate_take(&s->rate, loop_now_ms(s->loop), &n_left_out))
        log_text(s, LOG_INFO, "mcp_stderr", n_left_out, buf_str(slot));
}

/* A cutter that cuts fails for want of memory only; then the rest is not logged. */
void mcp_stderr_feed(struct mcp_stderr *s, str bytes)
{
    (void)mcp_line_feed(&s->lines, bytes, on_line, s);
}

void mcp_stderr_end(struct mcp_stderr *s)
{
    (void)mcp_line_end(&s->lines, on_line, s);
}

void mcp_stderr_noise(struct mcp_stderr *s, str line)
{
    struct buf text = {.limit = 0};
    uint64_t n_left_out;

    if (!mcp_rate_take(&s->noise_rate, loop_now_ms(s->loop), &n_left_out))
        return;
    redacted(s, line, &text);
    log_text(s, LOG_WARN, "mcp_noise", n_left_out, cut(buf_str(&text), MCP_NOISE_BYTES));
    buf_fini(&text);
}

void mcp_stderr_last(const struct mcp_stderr *s, struct buf *out)
{
    size_t n = s->n_lines < MCP_STDERR_KEPT_LINES ? s->n_lines : MCP_STDERR_KEPT_LINES;

    for (size_t i = s->n_lines - n; i < s->n_lines; i++) {
        buf_append(out, buf_str(&s->kept[i % MCP_STDERR_KEPT_LINES]));
        buf_char(out, '\n');
    }
}
