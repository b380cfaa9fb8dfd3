/* store_time.c -- measuring the time of a store. */
#include "store/store_time.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "ev/log.h"
#include "store/store_holder.h"
#include "store/store_queue.h"
#include "store/store_session.h"

enum {
    MS_PER_S = 1000,
    MINUTE_MS = 60 * MS_PER_S,
    LOOK_EVERY_MS = 5 * MS_PER_S,
    WRITE_EVERY_MS = 10 * MINUTE_MS,
    JUMP_MS = MINUTE_MS, /* less may be a clock that is being corrected */
    WARN_EVERY_MS = 10 * MINUTE_MS,
    HOUR_MS = 60 * MINUTE_MS,
    DAY_MS = 24 * HOUR_MS
};

/* ---- the machine */

/* Milliseconds since the machine was started, sleep included. From the file where there is one:
 * what stands between a program and its clocks (a debugger, a library for tests) may set
 * clock_gettime(), but not the kernel's own files. */
static uint64_t uptime_now_ms(void)
{
    enum { UNDECIDED, THE_FILE, THE_CLOCK };
    static atomic_int source = UNDECIDED; /* in a container the two may differ by much */
    struct timespec now;
    char text[64];

    if (atomic_load(&source) != THE_CLOCK && kernel_file_read("/proc/uptime", text, sizeof(text))) {
        atomic_store(&source, THE_FILE);
        return (uint64_t)(strtod(text, NULL) * MS_PER_S);
    }
    if (atomic_load(&source) == THE_FILE)
        return 0; /* no descriptor is left: not known just now */
    atomic_store(&source, THE_CLOCK);
    (void)clock_gettime(CLOCK_BOOTTIME, &now);
    return (uint64_t)now.tv_sec * MS_PER_S + (uint64_t)now.tv_nsec / 1000000;
}

/* Distance that the wall clock has gone beyond what was measured since the last look. */
static int64_t wall_jump_ms(struct store_time *t)
{
    const uint64_t uptime_ms = uptime_now_ms();
    int64_t difference = store_clock_ms() - (int64_t)uptime_ms;
    int64_t jump_ms = t->wall_less_uptime == 0 ? 0 : difference - t->wall_less_uptime;

    if (uptime_ms == 0)
        return 0;
    t->wall_less_uptime = difference;
    return jump_ms;
}

/* Looks at the clocks, so that a jump before the first housekeeping is one too. */
int store_time_init(struct store_time *t)
{
    *t = (struct store_time){.time_ms = 0};
    (void)wall_jump_ms(t);
    return uv_mutex_init(&t->mutex) == 0 ? 0 : -1;
}

void store_time_fini(struct store_time *t)
{
    uv_mutex_destroy(&t->mutex);
}

/* ---- the table */

struct clock_row {
    int64_t time_ms, newest_use_ms;
};

static int on_clock(void *arg, const struct sql_value *columns, struct err *reterr)
{
    (void)reterr;
    *(struct clock_row *)arg = (struct clock_row){columns[0].i, columns[1].i};
    return 0;
}

static int clock_write(struct store_session *s, int64_t time_ms, struct err *reterr)
{
    return session_do(s, SQL_CLOCK_SET, &(struct sql_value){.i = time_ms}, reterr);
}

static int64_t row_now_ms(const struct clock_row *row)
{
    const int64_t most_ms = row->time_ms + HOUR_MS;
    const int64_t newest_ms = row->newest_use_ms < most_ms ? row->newest_use_ms : most_ms;

    return newest_ms > row->time_ms ? newest_ms : row->time_ms;
}

/* ---- going on */

static int64_t own_now_ms(const struct store_time *t, uint64_t uptime_ms)
{
    uint64_t elapsed_ms = uptime_ms > t->uptime_ms ? uptime_ms - t->uptime_ms : 0;

    return t->time_ms + (int64_t)(elapsed_ms < DAY_MS ? elapsed_ms : DAY_MS);
}

static int64_t advance_time(struct store_time *t, const struct clock_row *row)
{
    const uint64_t uptime_ms = uptime_now_ms();
    int64_t now_ms = row->time_ms, own_ms;

    uv_mutex_lock(&t->mutex);
    own_ms = t->time_ms == 0 ? row_now_ms(row) : own_now_ms(t, uptime_ms);
    if (own_ms > now_ms)
        now_ms = own_ms;
    t->time_ms = now_ms;
    if (uptime_ms != 0)
        t->uptime_ms = uptime_ms;
    t->looked_at_ms = store_monotonic_ms();
    uv_mutex_unlock(&t->mutex);
    return now_ms;
}

static int read_clock(struct store_session *s, int64_t *ret_now_ms, struct err *reterr)
{
    struct clock_row row = {.time_ms = 0};

    if (session_run(s, SQL_CLOCK_GET, NULL, on_clock, &row, NULL, reterr) == -1)
        return -1;
    *ret_now_ms = advance_time(s->time, &row);
    return 0;
}

int store_time_read(struct store_session *s, struct err *reterr)
{
    int64_t now_ms;

    return read_clock(s, &now_ms, reterr);
}

static bool write_is_due(const struct store_session *s, int64_t now_ms)
{
    const struct store_time *t = s->time;
    const int64_t every_ms = s->driver->one_writer ? WRITE_EVERY_MS : LOOK_EVERY_MS;

    return t->written_ms == 0 || now_ms - t->written_ms >= every_ms;
}

static int keep_clock(struct store_session *s, int64_t *ret_now_ms, struct err *reterr)
{
    if (read_clock(s, ret_now_ms, reterr) == -1)
        return -1;
    return write_is_due(s, *ret_now_ms) ? clock_write(s, *ret_now_ms, reterr) : 0;
}

static void log_jump(struct store_time *t)
{
    uint64_t now_ms = store_monotonic_ms();
    int64_t jump_ms = wall_jump_ms(t);

    if (llabs(jump_ms) < JUMP_MS ||
        (t->warned_at_ms != 0 && now_ms < t->warned_at_ms + WARN_EVERY_MS))
        return;
    t->warned_at_ms = now_ms;
    log_line(LOG_WARN, "clock_jumped",
             (struct log_field[]){
                 LOG_INT("by_s", jump_ms / MS_PER_S),
                 LOG_STR("reason", STR("the wall clock was set; nothing is removed for it, since "
                                       "the store measures age by itself")),
                 LOG_END});
}

static bool look_is_due(const struct store_time *t)
{
    return t->written_ms == 0 || store_monotonic_ms() >= t->looked_at_ms + LOOK_EVERY_MS;
}

int store_time_keep(struct store_session *s, struct err *reterr)
{
    struct store_time *t = s->time;
    int64_t now_ms = 0;
    struct tx tx;

    if (!look_is_due(t))
        return 0;
    log_jump(t);
    if (tx_begin(&tx, s, STORE_WRITE, reterr) == -1 ||
        tx_end(&tx, keep_clock(s, &now_ms, reterr), reterr) == -1)
        return -1;
    if (write_is_due(s, now_ms))
        t->written_ms = now_ms;
    return 0;
}

void store_time_end(struct store_session *s)
{
    struct tx tx;
    int64_t now_ms;

    if (tx_begin(&tx, s, STORE_WRITE, NULL) == -1)
        return;
    (void)tx_end(&tx, read_clock(s, &now_ms, NULL) == -1 ? -1 : clock_write(s, now_ms, NULL), NULL);
}

int64_t store_time_ms(struct store_time *t)
{
    uint64_t now_ms = store_monotonic_ms();
    int64_t own_ms;

    uv_mutex_lock(&t->mutex);
    own_ms = t->time_ms;
    if (now_ms > t->looked_at_ms)
        own_ms +=
            (int64_t)(now_ms - t->looked_at_ms < MINUTE_MS ? now_ms - t->looked_at_ms : MINUTE_MS);
    if (own_ms > t->last_ms)
        t->last_ms = own_ms;
    own_ms = t->last_ms;
    uv_mutex_unlock(&t->mutex);
    return own_ms;
}

/* ---- the wall clock's opinion */

void store_time_compare(struct store_time *t)
{
    int64_t ahead_ms = store_clock_ms() - store_time_ms(t);

    if (llabs(ahead_ms) < DAY_MS)
        return;
    log_line(
        LOG_INFO, "store_time",
        (struct log_field[]){
            LOG_INT("clock_ahead_s", ahead_ms / MS_PER_S),
            LOG_STR("reason",
                    ahead_ms > 0
                        ? STR("the machine was off, or its clock is wrong; ages are those that "
                              "the store has measured, so nothing is removed for it; antiphon "
                              "store purge --trust-clock counts this time as well")
                        : STR("the clock is behind the store's own time, or was ahead when "
                              "the store was made; ages are those that the store has "
                              "measured, so nothing is removed for it")),
            LOG_END});
}

static int clock_trust(struct store_session *s, int64_t *ret_by_s, struct err *reterr)
{
    const int64_t wall_ms = store_clock_ms();
    int64_t now_ms;

    *ret_by_s = 0;
    if (read_clock(s, &now_ms, reterr) == -1)
        return -1;
    if (wall_ms <= now_ms)
        return 0;
    *ret_by_s = (wall_ms - now_ms) / MS_PER_S;
    if (clock_write(s, wall_ms, reterr) == -1)
        return -1;
    return read_clock(s, &now_ms, reterr);
}

int store_trust_clock(struct store_session *s, int64_t *ret_by_s, struct err *reterr)
{
    struct tx tx;

    if (tx_begin(&tx, s, STORE_WRITE, reterr) == -1)
        return -1;
    return tx_end(&tx, clock_trust(s, ret_by_s, reterr), reterr);
}

int64_t store_now_ms(struct store_session *s)
{
    return store_time_ms(s->time);
}
