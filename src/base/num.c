/* num.c -- decimal numbers and their unit tables. */
#include "base/num.h"

struct unit {
    str name;
    uint64_t factor;
};

static const struct unit durations[] = {
    {STR_INIT("ms"), 1},        {STR_INIT("s"), 1000},           {STR_INIT(""), 1000},
    {STR_INIT("m"), 60 * 1000}, {STR_INIT("h"), 60 * 60 * 1000},
};

static const struct unit sizes[] = {
    {STR_INIT(""), 1},          {STR_INIT("B"), 1},         {STR_INIT("KiB"), 1 << 10},
    {STR_INIT("MiB"), 1 << 20}, {STR_INIT("GiB"), 1 << 30}, {STR_INIT("TiB"), 1ULL << 40},
    {STR_INIT("KB"), 1000},     {STR_INIT("MB"), 1000000},  {STR_INIT("GB"), 1000000000},
};

static size_t count_digits(str s)
{
    size_t n = 0;

    while (n < s.len && s.p[n] >= '0' && s.p[n] <= '9')
        n++;
    return n;
}

int num_hex_digit(char c)
{
    const str digits = STR("0123456789abcdef0123456789ABCDEF");
    size_t at = str_find_char(digits, c);

    return at < digits.len ? (int)(at % 16) : -1;
}

bool num_uint(str s, uint64_t *ret)
{
    uint64_t n = 0;

    if (s.len == 0 || count_digits(s) != s.len)
        return false;
    for (size_t i = 0; i < s.len; i++) {
        uint64_t d = (uint64_t)(s.p[i] - '0');

        if (n > (UINT64_MAX - d) / 10)
            return false;
        n = n * 10 + d;
    }
    *ret = n;
    return true;
}

/* Up to three digits after a dot, as thousandths. */
static size_t read_fraction(str s, uint64_t *ret_thousandths)
{
    size_t n;
    uint64_t value = 0;

    *ret_thousandths = 0;
    if (s.len == 0 || s.p[0] != '.')
        return 0;
    n = count_digits(str_skip(s, 1));
    for (size_t i = 0; i < 3; i++)
        value = value * 10 + (i < n ? (uint64_t)(s.p[1 + i] - '0') : 0);
    *ret_thousandths = value;
    return n == 0 ? 0 : n + 1;
}

static bool read_with_unit(str s, const struct unit *units, size_t n_units, uint64_t *ret)
{
    size_t whole = count_digits(s);
    uint64_t n, thousandths;
    str unit;

    if (!num_uint(str_from(s.p, whole), &n))
        return false;
    unit = str_skip(s, whole);
    unit = str_skip(unit, read_fraction(unit, &thousandths));
    for (size_t i = 0; i < n_units; i++) {
        if (!str_eq_nocase(unit, units[i].name))
            continue;
        if (n > (UINT64_MAX >> 11) / units[i].factor)
            return false;
        *ret = n * units[i].factor + thousandths * units[i].factor / 1000;
        return true;
    }
    return false;
}

bool num_duration_ms(str s, uint64_t *ret)
{
    return read_with_unit(s, LIST_OF(durations), ret);
}

bool num_size_bytes(str s, uint64_t *ret)
{
    return read_with_unit(s, LIST_OF(sizes), ret);
}
