/* log_level.c -- one word: the end of what is set for a while (0: nothing is) above two levels. */
#include "ev/log_level.h"

#include <time.h>

#include "ev/log.h"

enum { LEVEL_BITS = 2, LEVEL_MASK = LOG_LEVEL_MASK };

_Static_assert((int)LOG_LEVEL_REST == 2 * (int)LEVEL_BITS, "as it is packed");

_Static_assert((int)LOG_LEVELS - 1 <= (int)LEVEL_MASK, "a level fits");

_Atomic(uint64_t) log_level_word = (uint64_t)LOG_INFO << LEVEL_BITS | LOG_INFO;

static const char *const names[LOG_LEVELS] = {
    [LOG_ERROR] = "error", [LOG_WARN] = "warn", [LOG_INFO] = "info", [LOG_DEBUG] = "debug"};

static uint64_t pack(enum log_level level, enum log_level base, uint64_t until_ms)
{
    return until_ms << (2 * LEVEL_BITS) | (uint64_t)base << LEVEL_BITS | (uint64_t)level;
}

static enum log_level level_of(uint64_t word)
{
    return (enum log_level)(word & LEVEL_MASK);
}

static enum log_level base_of(uint64_t word)
{
    return (enum log_level)(word >> LEVEL_BITS & LEVEL_MASK);
}

static uint64_t until_of(uint64_t word)
{
    return word >> (2 * LEVEL_BITS);
}

static uint64_t now_ms(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

const char *log_level_name(enum log_level level)
{
    return names[level];
}

bool log_level_read(str name, enum log_level *ret)
{
    for (int i = 0; i < LOG_LEVELS; i++) {
        if (!str_eq(name, str_from_c(names[i])))
            continue;
        *ret = (enum log_level)i;
        return true;
    }
    return false;
}

/* At the level that shows most of the two: it says why the lines become more, or fewer. */
static void log_change(enum log_level from, enum log_level to, uint64_t for_ms)
{
    if (from == to && for_ms == 0)
        return;
    log_always(LOG_INFO, "log_level",
               (struct log_field[]){LOG_STR("level", str_from_c(names[to])),
                                    LOG_COUNT("for_ms", for_ms),
                                    LOG_STR("former", str_from_c(names[from])), LOG_END});
}

/* The level's time is over: back to what is set for good, by whoever is first. */
static uint64_t put_back(uint64_t word)
{
    const uint64_t back = pack(base_of(word), base_of(word), 0);

    if (!atomic_compare_exchange_strong(&log_level_word, &word, back))
        return word; /* which has been set meanwhile */
    log_change(level_of(word), level_of(back), 0);
    return back;
}

static uint64_t current(void)
{
    const uint64_t word = atomic_load_explicit(&log_level_word, memory_order_relaxed);

    return until_of(word) != 0 && now_ms() >= until_of(word) ? put_back(word) : word;
}

enum log_level log_level(void)
{
    return level_of(current());
}

bool log_is_on_by_now(enum log_level level)
{
    return level <= level_of(current());
}

void log_level_init(enum log_level level)
{
    atomic_store(&log_level_word, pack(level, level, 0));
}

void log_set_level(enum log_level level, uint64_t for_ms)
{
    uint64_t was = current(), word;

    if (for_ms > LOG_LEVEL_MAX_MS)
        for_ms = LOG_LEVEL_MAX_MS;
    do {
        word = for_ms == 0 ? pack(level, level, 0) : pack(level, base_of(was), now_ms() + for_ms);
    } while (!atomic_compare_exchange_weak(&log_level_word, &was, word));
    log_change(level_of(was), level, for_ms);
}
