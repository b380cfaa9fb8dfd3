/* str.c -- the searches on views that are not worth inlining. */
#include "base/str.h"

void str_lower(char *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        p[i] = str_lower_char(p[i]);
}

int str_order(str a, str b)
{
    size_t n = a.len < b.len ? a.len : b.len;
    int order = n == 0 ? 0 : memcmp(a.p, b.p, n);

    return order != 0 ? order : (a.len > b.len) - (a.len < b.len);
}

bool str_same_letters(const char *a, const char *b, size_t n)
{
    if (n == 0 || memcmp(a, b, n) == 0)
        return true; /* as they mostly are */
    for (size_t i = 0; i < n; i++) {
        if (str_lower_char(a[i]) != str_lower_char(b[i]))
            return false;
    }
    return true;
}

bool str_starts_with_nocase(str s, str prefix)
{
    return s.len >= prefix.len && str_eq_nocase(str_from(s.p, prefix.len), prefix);
}

bool str_ends_with_nocase(str s, str suffix)
{
    return s.len >= suffix.len && str_eq_nocase(str_skip(s, s.len - suffix.len), suffix);
}

bool str_is_one_of(str s, const str *words, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (str_eq(s, words[i]))
            return true;
    }
    return false;
}

bool str_is_one_of_nocase(str s, const str *words, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (str_eq_nocase(s, words[i]))
            return true;
    }
    return false;
}

str str_trim_start(str s)
{
    while (s.len > 0 && str_is_space(s.p[0]))
        s = str_skip(s, 1);
    return s;
}

str str_trim(str s)
{
    s = str_trim_start(s);
    while (s.len > 0 && str_is_space(s.p[s.len - 1]))
        s.len--;
    return s;
}

size_t str_find_char(str s, char c)
{
    const char *p = s.len == 0 ? NULL : memchr(s.p, c, s.len);

    return p == NULL ? s.len : (size_t)(p - s.p);
}

str str_cut(str *rest, char separator)
{
    size_t n = str_find_char(*rest, separator);
    str piece = str_from(rest->p, n);

    *rest = str_skip(*rest, n < rest->len ? n + 1 : n);
    return piece;
}

size_t str_find(str s, str needle)
{
    const char *p = s.len == 0 ? NULL : memmem(s.p, s.len, needle.p, needle.len);

    return p == NULL ? s.len : (size_t)(p - s.p);
}

bool str_has_nocase(str s, str needle)
{
    for (size_t i = 0; i + needle.len <= s.len; i++) {
        if (str_eq_nocase(str_from(s.p + i, needle.len), needle))
            return true;
    }
    return false;
}

bool str_is_one_line(str s)
{
    return s.len == 0 || (memchr(s.p, '\r', s.len) == NULL && memchr(s.p, '\n', s.len) == NULL &&
                          memchr(s.p, '\0', s.len) == NULL);
}

bool str_is_visible(str s)
{
    for (size_t i = 0; i < s.len; i++) {
        if (s.p[i] <= ' ' || s.p[i] > '~')
            return false;
    }
    return true;
}
