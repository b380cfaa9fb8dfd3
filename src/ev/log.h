/* log.h -- one line an event, for whoever is woken by it.
 *
 *     log_line(LOG_INFO, "turn", (struct log_field[]){
 *         LOG_STR("id", id_str(&id)), LOG_INT("tokens", n), LOG_END});
 *
 * gives "2026-01-02T03:04:05.678Z info turn id=resp_... tokens=12" or the same
 * as JSON. Values are escaped; a line is one write(2) to stderr or a file
 * (log_file.h). Nobody waits for who reads it: from log_start() to log_stop() a
 * thread writes, and lines that it has no room for are dropped and counted
 * (log_queue.h). Before and after, a line waits LOG_PATIENCE_MS at most. Never pass
 * request bodies, tool results or credentials. Any thread. */
#ifndef ANTIPHON_EV_LOG_H
#define ANTIPHON_EV_LOG_H

#include <stdint.h>

#include "base/str.h"
#include "ev/log_file.h"
#include "ev/log_level.h"

enum { LOG_PATIENCE_MS = 100 };
enum log_format { LOG_TEXT, LOG_JSON };

struct log_field {
    const char *key; /* NULL ends the list */
    enum { LOG_FIELD_STR, LOG_FIELD_INT, LOG_FIELD_COUNT, LOG_FIELD_FLAG } kind;
    str text;          /* STR_NONE: the field is left out */
    size_t most_bytes; /* of the text; 0: as many as the line has room for */
    int64_t number;    /* COUNT: 0 is left out; FLAG: 0 is left out, else it is true */
};

#define LOG_STR(k, s)                                                                              \
    {                                                                                              \
        .key = (k), .kind = LOG_FIELD_STR, .text = (s)                                             \
    }
/* Limits for texts that clients choose, so that the fields behind them still fit. */
enum { LOG_NAME_BYTES = 64, LOG_PATH_BYTES = 256 };
#define LOG_NAME(k, s)                                                                             \
    {                                                                                              \
        .key = (k), .kind = LOG_FIELD_STR, .text = (s), .most_bytes = LOG_NAME_BYTES               \
    }
#define LOG_PATH(k, s)                                                                             \
    {                                                                                              \
        .key = (k), .kind = LOG_FIELD_STR, .text = (s), .most_bytes = LOG_PATH_BYTES               \
    }
#define LOG_INT(k, n)                                                                              \
    {                                                                                              \
        .key = (k), .kind = LOG_FIELD_INT, .number = (int64_t)(n)                                  \
    }
#define LOG_COUNT(k, n)                                                                            \
    {                                                                                              \
        .key = (k), .kind = LOG_FIELD_COUNT, .number = (int64_t)(n)                                \
    }
#define LOG_FLAG(k, is)                                                                            \
    {                                                                                              \
        .key = (k), .kind = LOG_FIELD_FLAG, .number = (is)                                         \
    }
#define LOG_END                                                                                    \
    {                                                                                              \
        .key = NULL                                                                                \
    }

/* Sets level and format; once, before other threads start. The level may be changed later: log_set_level(). */
void log_setup(enum log_level level, enum log_format format);

/* Start and end the writing thread, before and after all other threads that log. While it does not
 * run, each line is written by the thread that logs it. log_stop() waits for a bounded time. */
void log_start(size_t queue_bytes);
void log_stop(void);

void log_line(enum log_level level, const char *event, const struct log_field *fields);

/* Writes a line whatever the level is set to. */
void log_always(enum log_level level, const char *event, const struct log_field *fields);

/* A line `audit`, of level info whatever the level is set to, for the target of that name; whoever makes it
 * asks log_audit_is_on() first. log_audit_set() is called before other threads start. */
void log_audit_set(bool is_on);
bool log_audit_is_on(void);
void log_audit(const struct log_field *fields);

/* A part of the configuration was read again: a line `reload` and one for the audit. more: a
 * further field of the first, or NULL. */
void log_reload(const char *part, bool is_good, const struct log_field *more);

/* Opens files again that were moved away, and says so; one that cannot be is told and stays. From one
 * thread. */
void log_reopen(void);

/* Writes text to standard output, in order with the lines, and like them without waiting. */
void log_print(str text);

/* A line that is only a message: log_msg(LOG_WARN, "store is full: ..."). */
void log_msg(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
