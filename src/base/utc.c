/* utc.c -- a calendar without a time zone. */
#include "base/utc.h"

#include <stdio.h>

enum { DAY_S = 86400, HOUR_S = 3600, MINUTE_S = 60 };

/* Takes n digits off, and the character behind them unless that is '\0'. */
static bool take_number(str *rest, size_t n, char behind, unsigned *ret)
{
    *ret = 0;
    for (size_t i = 0; i < n; i++) {
        if (i >= rest->len || rest->p[i] < '0' || rest->p[i] > '9')
            return false;
        *ret = 10 * *ret + (unsigned)(rest->p[i] - '0');
    }
    *rest = str_skip(*rest, n);
    if (behind == '\0')
        return true;
    if (rest->len == 0 || rest->p[0] != behind)
        return false;
    *rest = str_skip(*rest, 1);
    return true;
}

static bool is_leap(unsigned year)
{
    return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

static unsigned days_of(unsigned year, unsigned month)
{
    static const unsigned char days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};

    return month == 2 && is_leap(year) ? 29 : days[month - 1];
}

static int64_t days_before(unsigned year, unsigned month)
{
    int64_t days = 0;

    for (unsigned y = 1970; y < year; y++)
        days += is_leap(y) ? 366 : 365;
    for (unsigned m = 1; m < month; m++)
        days += days_of(year, m);
    return days;
}

/* The first second of a day. */
static bool take_date(str *rest, int64_t *ret_s)
{
    unsigned year, month, day;

    if (!take_number(rest, 4, '-', &year) || !take_number(rest, 2, '-', &month) ||
        !take_number(rest, 2, '\0', &day) || year < 1970 || month < 1 || month > 12 || day < 1 ||
        day > days_of(year, month))
        return false;
    *ret_s = (days_before(year, month) + day - 1) * DAY_S;
    return true;
}

static bool take_clock(str *rest, int64_t *ret_s)
{
    unsigned hour, minute, second;

    if (!take_number(rest, 2, ':', &hour) || !take_number(rest, 2, ':', &minute) ||
        !take_number(rest, 2, '\0', &second) || hour > 23 || minute > 59 || second > 59)
        return false;
    *ret_s = (int64_t)hour * HOUR_S + minute * MINUTE_S + second;
    return true;
}

/* By how much the clock is ahead of UTC. */
static bool take_offset(str *rest, int64_t *ret_s)
{
    const char sign = rest->len == 0 ? '\0' : rest->p[0];
    unsigned hour, minute;

    *ret_s = 0;
    *rest = str_skip(*rest, 1);
    if (sign == 'Z')
        return true;
    if ((sign != '+' && sign != '-') || !take_number(rest, 2, ':', &hour) ||
        !take_number(rest, 2, '\0', &minute) || hour > 23 || minute > 59)
        return false;
    *ret_s = (sign == '-' ? -1 : 1) * ((int64_t)hour * HOUR_S + minute * MINUTE_S);
    return true;
}

bool utc_read(str text, int64_t *ret_unix_s)
{
    int64_t day_s, clock_s, offset_s;

    if (!take_date(&text, &day_s))
        return false;
    if (text.len == 0) {
        *ret_unix_s = day_s + DAY_S;
        return true;
    }
    if (text.p[0] != 'T')
        return false;
    text = str_skip(text, 1);
    if (!take_clock(&text, &clock_s) || !take_offset(&text, &offset_s) || text.len > 0)
        return false;
    *ret_unix_s = day_s + clock_s - offset_s;
    return true;
}

void utc_write(int64_t unix_s, struct buf *out)
{
    enum { LAST_YEAR = 9999 };
    const int64_t clock_s = unix_s % DAY_S;
    int64_t day = unix_s / DAY_S;
    unsigned year = 1970, month = 1;
    char text[32];

    if (unix_s < 0 || day >= days_before(LAST_YEAR + 1, 1)) {
        buf_char(out, '?');
        return;
    }
    for (; day >= (is_leap(year) ? 366 : 365); year++)
        day -= is_leap(year) ? 366 : 365;
    for (; day >= days_of(year, month); month++)
        day -= days_of(year, month);
    (void)snprintf(text, sizeof(text), "%04u-%02u-%02u %02d:%02d:%02d UTC", year, month,
                   (unsigned)day + 1, (int)(clock_s / HOUR_S), (int)(clock_s / MINUTE_S % 60),
                   (int)(clock_s % MINUTE_S));
    buf_c(out, text);
}
