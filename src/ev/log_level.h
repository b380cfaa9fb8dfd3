/* log_level.h -- which lines are logged, now and for a while.
 *
 * Levels are asked for by every thread and changed by few, so all there is to know is in one word:
 * the level, the one to go back to, and when. Nobody waits for that moment: whoever asks first after
 * it puts the level back. Any thread. */
#ifndef ANTIPHON_EV_LOG_LEVEL_H
#define ANTIPHON_EV_LOG_LEVEL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG };
enum { LOG_LEVELS = 4 };

/* The longest that a level may be set for. */
enum { LOG_LEVEL_MAX_MS = 7 * 24 * 60 * 60 * 1000 };

/* Sets the level for good (for_ms 0), or for that long, and then it is again what was set for good
 * last. A line `log_level` tells of it, unless it changes nothing. */
void log_set_level(enum log_level level, uint64_t for_ms);

enum log_level log_level(void);

/* log_level.c's own but for what is inlined here: the level in the lowest bits, and above LOG_LEVEL_REST the
 * end of what is set for a while. */
extern _Atomic(uint64_t) log_level_word;
enum { LOG_LEVEL_MASK = 3, LOG_LEVEL_REST = 4 };
bool log_is_on_by_now(enum log_level level);

static inline bool log_is_on(enum log_level level)
{
    const uint64_t word = atomic_load_explicit(&log_level_word, memory_order_relaxed);

    return word >> LOG_LEVEL_REST == 0 ? level <= (word & LOG_LEVEL_MASK) : log_is_on_by_now(level);
}

/* "error", "warn", "info", "debug". */
const char *log_level_name(enum log_level level);

/* The level of that name; false: there is none. */
bool log_level_read(str name, enum log_level *ret);

/* Without a line: before there is a log. */
void log_level_init(enum log_level level);

#endif
