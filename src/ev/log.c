/* log.c -- builds one line on the stack; it is written with one system call.
 *
 * A line is at most PIPE_BUF bytes, so lines of several threads do not mix even
 * when stderr is a pipe. A value that does not fit is cut and the fields after
 * it are left out; the line stays well formed. */
#include "ev/log.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "base/utf8.h"
#include "ev/log_queue.h"
#include "metrics/metrics.h"

_Static_assert((int)LOG_QUEUE_LEVELS == (int)LOG_LEVELS, "one count for each");

enum {
    LINE_BYTES = LOG_QUEUE_LINE_BYTES,
    END_BYTES = 8,    /* kept free for the end of a value and of the line */
    FIELD_BYTES = 96, /* a field is begun only when so much is left */
    ESCAPE_BYTES = 6, /* the longest form of one byte: \u0000 */
};

struct line {
    char text[LINE_BYTES];
    size_t len;
};

static enum log_format line_format = LOG_TEXT;
static bool audit_is_on;

/* Lines that were not written while there was no queue, until a line says so. */
static atomic_uint_fast64_t n_lost[LOG_LEVELS];

void log_setup(enum log_level level, enum log_format format)
{
    log_level_init(level);
    line_format = format;
}

static size_t room_left(const struct line *l)
{
    return LINE_BYTES - END_BYTES - l->len;
}

static void put_text(struct line *l, str s)
{
    if (s.len > LINE_BYTES - l->len)
        s.len = LINE_BYTES - l->len;
    if (s.len == 0)
        return;
    memcpy(l->text + l->len, s.p, s.len);
    l->len += s.len;
}

/* The short escape of a byte, the same in both formats, or 0. */
static char short_escape(char c)
{
    switch (c) {
    case '"':
    case '\\':
        return c;
    case '\n':
        return 'n';
    case '\r':
        return 'r';
    case '\t':
        return 't';
    default:
        return 0;
    }
}

/* Puts one character of plain text; returns how many bytes of s it was. */
static size_t put_escaped_char(struct line *l, str s)
{
    char escape = short_escape(s.p[0]);
    size_t n = utf8_char(s);

    if (escape != 0) {
        put_text(l, str_from((char[]){'\\', escape}, 2));
    } else if (n > 0 && (utf8_is_control(s) || utf8_is_layout(s))) {
        char code[ESCAPE_BYTES + 1];

        (void)snprintf(code, sizeof(code), "\\u%04x", (unsigned)utf8_code_point(s));
        put_text(l, str_from_c(code));
    } else if (n == 0) {
        put_text(l, STR("?")); /* not UTF-8: a log collector would drop the whole line */
        n = 1;
    } else {
        put_text(l, str_from(s.p, n));
    }
    return n;
}

/* How many bytes from the start on stand in a line as they are. */
static size_t plain_length(str s)
{
    size_t n = 0;

    while (n < s.len && s.p[n] >= ' ' && s.p[n] < 0x7f && short_escape(s.p[n]) == 0)
        n++;
    return n;
}

/* Text is cut where the longest form of a byte would have no room any more. */
static void put_escaped(struct line *l, str s)
{
    while (s.len > 0 && room_left(l) >= ESCAPE_BYTES) {
        size_t most = room_left(l) - (ESCAPE_BYTES - 1),
               n = plain_length(str_from(s.p, s.len < most ? s.len : most));

        put_text(l, str_from(s.p, n));
        s = str_skip(s, n > 0 ? n : put_escaped_char(l, s));
    }
}

/* True when a text value may stand without quotes. */
static bool is_bare(str s)
{
    for (size_t i = 0; i < s.len; i++) {
        unsigned char c = (unsigned char)s.p[i];

        if (c <= 0x20 || c >= 0x7f || c == '"' || c == '=' || c == '\\')
            return false;
    }
    return s.len > 0;
}

static void put_string(struct line *l, str s)
{
    if (line_format == LOG_TEXT && is_bare(s)) {
        put_escaped(l, s);
        return;
    }
    put_text(l, STR("\""));
    put_escaped(l, s);
    put_text(l, STR("\""));
}

static void put_key(struct line *l, const char *key)
{
    put_text(l, line_format == LOG_TEXT ? STR(" ") : STR(",\""));
    put_text(l, str_from_c(key));
    put_text(l, line_format == LOG_TEXT ? STR("=") : STR("\":"));
}

static bool is_left_out(const struct log_field *f)
{
    switch (f->kind) {
    case LOG_FIELD_STR:
        return str_is_none(f->text);
    case LOG_FIELD_COUNT:
    case LOG_FIELD_FLAG:
        return f->number == 0;
    case LOG_FIELD_INT:
        break;
    }
    return false;
}

static void put_field(struct line *l, const struct log_field *f)
{
    char digits[24];

    if (is_left_out(f))
        return;
    put_key(l, f->key);
    if (f->kind == LOG_FIELD_STR) {
        put_string(l, f->most_bytes == 0 ? f->text
                                         : str_from(f->text.p, utf8_cut(f->text, f->most_bytes)));
        return;
    }
    (void)snprintf(digits, sizeof(digits), "%lld", (long long)f->number);
    put_text(l, f->kind == LOG_FIELD_FLAG ? STR("true") : str_from_c(digits));
}

/* Time and level, which start every line. */
static void put_start(struct line *l, enum log_level level)
{
    struct timespec now;
    struct tm utc;
    char text[96], day[32];

    (void)clock_gettime(CLOCK_REALTIME, &now);
    (void)gmtime_r(&now.tv_sec, &utc);
    (void)strftime(day, sizeof(day), "%Y-%m-%dT%H:%M:%S", &utc);
    (void)snprintf(text, sizeof(text),
                   line_format == LOG_TEXT ? "%s.%03dZ %s"
                                           : "{\"time\":\"%s.%03dZ\",\"level\":\"%s\"",
                   day, (int)(now.tv_nsec / 1000000), log_level_name(level));
    put_text(l, str_from_c(text));
}

/* ---- without a queue */

/* A pipe that is ready has room for a whole line, so write() does not wait behind this. */
static bool write_now(int fd, str text)
{
    while (text.len > 0) {
        struct pollfd ready = {.fd = fd, .events = POLLOUT};
        ssize_t n;

        if (poll(&ready, 1, LOG_PATIENCE_MS) == 0)
            return false;
        n = write(fd, text.p, text.len);
        if (n > 0)
            text = str_skip(text, (size_t)n);
        else if (n == 0 || errno != EINTR)
            return false; /* there is no one left to tell */
    }
    return true;
}

static size_t write_loss(const struct log_loss *loss, char text[LINE_BYTES]);

/* Tells what was lost before, when lines get through again. */
static void tell_lost(int fd)
{
    struct log_loss loss;
    char text[LINE_BYTES];
    uint64_t n = 0;

    for (size_t i = 0; i < LOG_LEVELS; i++)
        n += loss.n[i] = atomic_load(&n_lost[i]);
    if (n == 0 || !write_now(fd, str_from(text, write_loss(&loss, text))))
        return;
    for (size_t i = 0; i < LOG_LEVELS; i++)
        atomic_fetch_sub(&n_lost[i], loss.n[i]);
}

static void write_line_now(int fd, enum log_level level, str line)
{
    tell_lost(fd);
    if (!write_now(fd, line))
        atomic_fetch_add(&n_lost[level], 1);
}

/* ---- whole lines */

static void line_end(struct line *l)
{
    put_text(l, line_format == LOG_TEXT ? STR("\n") : STR("}\n"));
}

static void line_put(const struct line *l, enum log_level level, int fd)
{
    if (!log_queue_put(fd, level, str_from(l->text, l->len)))
        write_line_now(fd, level, str_from(l->text, l->len));
}

/* Errors are for whoever has started us as well, who may not know of a file. */
static void line_write(struct line *l, enum log_level level, enum log_target target)
{
    const int fd = log_file_fd(target);

    line_end(l);
    line_put(l, level, fd);
    if (level == LOG_ERROR && fd != STDERR_FILENO)
        line_put(l, level, STDERR_FILENO);
}

void log_print(str text)
{
    while (text.len > 0) {
        str piece = str_from(text.p, text.len < LINE_BYTES ? text.len : LINE_BYTES);

        if (!log_queue_put(STDOUT_FILENO, LOG_INFO, piece))
            (void)write_now(STDOUT_FILENO, piece);
        text = str_skip(text, piece.len);
    }
}

static void put_event(struct line *l, enum log_level level, const char *event,
                      const struct log_field *fields)
{
    put_start(l, level);
    if (line_format == LOG_TEXT) {
        put_text(l, STR(" "));
        put_text(l, str_from_c(event));
    } else {
        put_key(l, "event");
        put_string(l, str_from_c(event));
    }
    for (; fields->key != NULL && room_left(l) >= FIELD_BYTES; fields++)
        put_field(l, fields);
}

void log_always(enum log_level level, const char *event, const struct log_field *fields)
{
    struct line l = {.len = 0};

    metrics_count(METRIC_LOG_LINES, level);
    put_event(&l, level, event, fields);
    line_write(&l, level, LOG_TARGET_MAIN);
}

void log_line(enum log_level level, const char *event, const struct log_field *fields)
{
    if (log_is_on(level))
        log_always(level, event, fields);
}

void log_audit_set(bool is_on)
{
    audit_is_on = is_on;
}

bool log_audit_is_on(void)
{
    return audit_is_on;
}

void log_audit(const struct log_field *fields)
{
    struct line l = {.len = 0};

    put_event(&l, LOG_INFO, "audit", fields);
    line_write(&l, LOG_INFO, LOG_TARGET_AUDIT);
}

void log_reload(const char *part, bool is_good, const struct log_field *more)
{
    const struct log_field none = LOG_END;
    const str outcome = is_good ? STR("ok") : STR("error");

    log_line(is_good ? LOG_INFO : LOG_ERROR, "reload",
             (struct log_field[]){LOG_STR("part", str_from_c(part)), LOG_STR("result", outcome),
                                  more == NULL ? none : *more, LOG_END});
    if (log_audit_is_on())
        log_audit((struct log_field[]){LOG_STR("what", STR("reload")), LOG_STR("outcome", outcome),
                                       LOG_STR("part", str_from_c(part)), LOG_END});
}

void log_msg(enum log_level level, const char *format, ...)
{
    struct line l = {.len = 0};
    char text[2048];
    va_list args;

    if (!log_is_on(level))
        return;
    metrics_count(METRIC_LOG_LINES, level);
    va_start(args, format);
    (void)vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    put_start(&l, level);
    if (line_format == LOG_TEXT) {
        put_text(&l, STR(" "));
        put_escaped(&l, str_from_c(text));
    } else {
        put_key(&l, "message");
        put_string(&l, str_from_c(text));
    }
    line_write(&l, level, LOG_TARGET_MAIN);
}

void log_reopen(void)
{
    struct err e;

    for (int i = 0; i < LOG_TARGETS; i++) {
        if (log_file_reopen((enum log_target)i, &e) == -1)
            log_msg(LOG_ERROR, "%s; the old one stays open", e.msg);
    }
    log_line(LOG_DEBUG, "log_reopened",
             (struct log_field[]){LOG_FLAG("log_file", log_file_is_open(LOG_TARGET_MAIN)),
                                  LOG_FLAG("audit", log_file_is_open(LOG_TARGET_AUDIT)), LOG_END});
}

/* Writes the line that counts dropped lines; it is shown at every level. */
static size_t write_loss(const struct log_loss *loss, char text[LINE_BYTES])
{
    struct line l = {.len = 0};
    uint64_t n = 0;

    for (size_t i = 0; i < LOG_QUEUE_LEVELS; i++)
        n += loss->n[i];
    put_event(&l, LOG_WARN, "log_dropped",
              (struct log_field[]){LOG_INT("lines", n), LOG_INT("errors", loss->n[LOG_ERROR]),
                                   LOG_INT("warnings", loss->n[LOG_WARN]), LOG_END});
    line_end(&l);
    memcpy(text, l.text, l.len);
    return l.len;
}

void log_start(size_t queue_bytes)
{
    if (!log_queue_start(queue_bytes, write_loss))
        log_msg(LOG_WARN, "no memory or thread for the log: a reader that stalls will stop us");
}

void log_stop(void)
{
    log_queue_stop();
}
