/* log.h -- one line an event, for whoever is woken by it.
 *
 *     log_line(LOG_INFO, "turn", (struct log_field[]){
 *         LOG_STR("id", id_str(&id)), LOG_INT("tokens", n), LOG_END});
 *
 * gives "2026-01-02T03:04:05.678Z info turn id=resp_... tokens=12" or the same
 * as JSON. Values are escaped; a line is one write(2) to stderr. Nobody waits for
 * who reads it: from log_start() to log_stop() a thread writes, and lines that it
 * has no room for are dropped and counted (log_queue.h). Never pass request
 * bodies, tool results or credentials. Any thread. */
#ifndef ANTIPHON_EV_LOG_H
#define ANTIPHON_EV_LOG_H

#include <stdint.h>

#include "base/str.h"

enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG };
enum log_format { LOG_TEXT, LOG_JSON };

struct log_field {
    const char *key; /* NULL ends the list */
    enum { LOG_FIELD_STR, LOG_FIELD_INT } kind;
    str text;          /* STR_NONE: the field is left out */
    size_t most_bytes; /* of the text; 0: as many as the line has room for */
    int64_t number;
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
#define LOG_END                                                                                    \
    {                                                                                              \
        .key = NULL                                                                                \
    }

/* Sets level and format; once, before other threads start. */
void log_setup(enum log_level level, enum log_format format);

/* Start and end the writing thread, before and after all other threads that log. While it does not
 * run, each line is written by the thread that logs it. log_stop() waits for a bounded time. */
void log_start(size_t queue_bytes);
void log_stop(void);

bool log_is_on(enum log_level level);
void log_line(enum log_level level, const char *event, const struct log_field *fields);

/* Writes text to standard output, in order with the lines, and like them without waiting. */
void log_print(str text);

/* A line that is only a message: log_msg(LOG_WARN, "store is full: ..."). */
void log_msg(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
