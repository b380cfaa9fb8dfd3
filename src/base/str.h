/* str.h -- a borrowed view of bytes.
 *
 * A str owns nothing and is passed by value. It may hold any byte and is not
 * NUL-terminated. An absent value is STR_NONE (p == NULL); an empty one has
 * p != NULL and len 0. A field that keeps a str says what it points into. */
#ifndef ANTIPHON_BASE_STR_H
#define ANTIPHON_BASE_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

typedef struct str {
    const char *p;
    size_t len;
} str;

/* STR("x") is a constant view of a literal; STR_INIT is the same for static tables. */
#define STR_INIT(literal)                                                                          \
    {                                                                                              \
        ("" literal), sizeof(literal) - 1                                                          \
    }
#define STR(literal) ((str)STR_INIT(literal))
#define STR_NONE     ((str){NULL, 0})

/* The number of rows of a table; LIST_OF(table) is the table and that number, as two arguments. */
#define COUNT_OF(array) (sizeof(array) / sizeof(*(array)))
#define LIST_OF(array)  (array), COUNT_OF(array)

/* For printf: printf("%.*s", STR_ARG(s)). */
#define STR_ARG(s) (int)(s).len, (s).p

static inline str str_from(const char *p, size_t len)
{
    return (str){p, len};
}

/* A C string as a view; NULL gives STR_NONE. */
static inline str str_from_c(const char *c)
{
    return c == NULL ? STR_NONE : (str){c, strlen(c)};
}

static inline bool str_is_none(str s)
{
    return s.p == NULL;
}

static inline bool str_eq(str a, str b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.p, b.p, a.len) == 0);
}

/* Equal, or both NULL. */
static inline bool str_same_c(const char *a, const char *b)
{
    return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

static inline bool str_starts_with(str s, str prefix)
{
    return s.len >= prefix.len && (prefix.len == 0 || memcmp(s.p, prefix.p, prefix.len) == 0);
}

static inline bool str_ends_with(str s, str suffix)
{
    return s.len >= suffix.len &&
           (suffix.len == 0 || memcmp(s.p + s.len - suffix.len, suffix.p, suffix.len) == 0);
}

/* The rest of s after the first n bytes; n beyond the end gives an empty view. */
static inline str str_skip(str s, size_t n)
{
    if (n < s.len)
        return (str){s.p + n, s.len - n};
    return (str){s.len == 0 ? s.p : s.p + s.len, 0}; /* NULL + 0 is undefined */
}

/* Below, equal to or above 0 as a comes before b, byte by byte: for qsort(). */
int str_order(str a, str b);

/* White space of JSON, and of most other texts. */
static inline bool str_is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* True when no byte of s ends a line or a C string. */
bool str_is_one_line(str s);

/* Visible ASCII characters only: what can stand as it is in a header, a URL, a terminal. */
bool str_is_visible(str s);

static inline char str_lower_char(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
}

/* Makes the ASCII letters of these n bytes small. */
void str_lower(char *p, size_t n);

/* Equal when ASCII letters are compared without case (header names, URL schemes). */
bool str_same_letters(const char *a, const char *b, size_t n); /* of n bytes each */

static inline bool str_eq_nocase(str a, str b)
{
    return a.len == b.len && str_same_letters(a.p, b.p, a.len);
}

bool str_starts_with_nocase(str s, str prefix);
bool str_ends_with_nocase(str s, str suffix);

/* Is s one of these words? str_is_one_of(s, LIST_OF(words)) */
bool str_is_one_of(str s, const str *words, size_t n);
bool str_is_one_of_nocase(str s, const str *words, size_t n);

/* s without leading white space. */
str str_trim_start(str s);

/* s without leading and trailing spaces, tabs, CR and LF. */
str str_trim(str s);

/* The position of byte c or of needle in s, or s.len when it does not occur. */
size_t str_find_char(str s, char c);
size_t str_find(str s, str needle);

/* What stands before the separator, or all: cut off from *rest, the separator with it. */
str str_cut(str *rest, char separator);

/* Does needle occur in s, ASCII letters compared without case? */
bool str_has_nocase(str s, str needle);

#endif
