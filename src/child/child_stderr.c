/* child_stderr.c -- lines of a child into the log and into a ring. */
#include "child/child_stderr.h"

#include <stdio.h>

#include "base/utf8.h"
#include "ev/log.h"

enum { READ_BYTES = 2 * CHILD_STDERR_LINE_BYTES }; /* of a line, before secrets are taken out */

void child_stderr_init(struct child_stderr *s, const struct loop *loop, const char *kind,
                       const char *label, child_redact *redact, void *redact_arg)
{
    *s = (struct child_stderr){
        .loop = loop, .kind = kind, .label = label, .redact = redact, .redact_arg = redact_arg};
    child_line_init(&s->lines, READ_BYTES, true);
}

void child_stderr_fini(struct child_stderr *s)
{
    child_line_fini(&s->lines);
    for (size_t i = 0; i < CHILD_STDERR_KEPT_LINES; i++)
        buf_fini(&s->kept[i]);
}

static void append_redacted(const struct child_stderr *s, str text, struct buf *out)
{
    if (s->redact != NULL)
        s->redact(s->redact_arg, text, out);
    else
        buf_append(out, text);
}

static str cut_text(str text, size_t limit_bytes)
{
    return str_from(text.p, utf8_cut(text, limit_bytes));
}

/* Logs a text. Lines that were left out for their rate are counted in the next one that is not. */
static void log_text(const struct child_stderr *s, enum log_level level, const char *what,
                     uint64_t n_left_out, str text)
{
    struct log_field fields[] = {LOG_STR("server", str_from_c(s->label)), LOG_INT("pid", s->pid),
                                 LOG_STR("text", text), LOG_INT("left_out", n_left_out), LOG_END};

    char event[32];

    if (n_left_out == 0)
        fields[3].key = NULL;
    (void)snprintf(event, sizeof(event), "%s_%s", s->kind, what);
    log_line(level, event, fields);
}

/* Secrets go before the line is cut: the half of one would not be known for one. */
static void on_stderr_line(void *arg, str line)
{
    struct child_stderr *s = arg;
    struct buf *slot = &s->kept[s->n_lines++ % CHILD_STDERR_KEPT_LINES];
    uint64_t n_left_out;

    buf_reset(slot);
    append_redacted(s, line, slot);
    slot->len = cut_text(buf_str(slot), CHILD_STDERR_LINE_BYTES).len;
    if (slot->len > 0 && log_rate_take(&s->rate, loop_now_ms(s->loop), &n_left_out))
        log_text(s, LOG_INFO, "stderr", n_left_out, buf_str(slot));
}

/* A cutter that cuts fails for want of memory only; then the rest is not logged. */
void child_stderr_feed(struct child_stderr *s, str bytes)
{
    (void)child_line_feed(&s->lines, bytes, on_stderr_line, s);
}

void child_stderr_end(struct child_stderr *s)
{
    (void)child_line_end(&s->lines, on_stderr_line, s);
}

void child_stderr_noise(struct child_stderr *s, str line)
{
    struct buf text = {.limit = 0};
    uint64_t n_left_out;

    if (!log_rate_take(&s->noise_rate, loop_now_ms(s->loop), &n_left_out))
        return;
    append_redacted(s, line, &text);
    log_text(s, LOG_WARN, "noise", n_left_out, cut_text(buf_str(&text), CHILD_NOISE_BYTES));
    buf_fini(&text);
}

void child_stderr_last(const struct child_stderr *s, struct buf *out)
{
    size_t n = s->n_lines < CHILD_STDERR_KEPT_LINES ? s->n_lines : CHILD_STDERR_KEPT_LINES;

    for (size_t i = s->n_lines - n; i < s->n_lines; i++) {
        buf_append(out, buf_str(&s->kept[i % CHILD_STDERR_KEPT_LINES]));
        buf_char(out, '\n');
    }
}
