/* json_read.c -- one pass over the text, no allocation.
 *
 * The reader keeps a position, a depth and one bit a level for the kind of
 * container. Everything it passes is checked, wanted or not, so that a text
 * that reached jr_end() can be spliced elsewhere without another look. */
#include "json/json_read.h"

#include <assert.h>
#include <stdlib.h>

#include "base/block.h"
#include "base/utf8.h"
#include "json/json_text.h"

void jr_init(struct jr *j, str text)
{
    if (text.len == 0)
        text = STR(""); /* arithmetic on NULL is undefined */
    j->p = j->start = text.p;
    j->end = text.p + text.len;
    j->error = NULL;
    j->raw_key = STR_NONE;
    j->depth = 0;
    j->first = j->has_escape = false;
    memset(j->kinds, 0, sizeof(j->kinds)); /* key is filled before it is looked at */
}

bool jr_ok(const struct jr *j)
{
    return j->error == NULL;
}

size_t jr_offset(const struct jr *j)
{
    return (size_t)(j->p - j->start);
}

static bool set_error(struct jr *j, const char *what)
{
    if (j->error == NULL)
        j->error = what;
    return false;
}

static void skip_space(struct jr *j)
{
    while (j->p < j->end && (*j->p == ' ' || *j->p == '\n' || *j->p == '\t' || *j->p == '\r'))
        j->p++;
}

bool jr_end(struct jr *j)
{
    skip_space(j);
    if (j->error == NULL && (j->p != j->end || j->depth != 0))
        set_error(j, "text after the value");
    return j->error == NULL;
}

static enum jr_type type_of_byte(char c)
{
    static const unsigned char types[256] = {
        ['{'] = JR_OBJECT, ['['] = JR_ARRAY, ['"'] = JR_STRING, ['t'] = JR_TRUE,
        ['f'] = JR_FALSE,  ['n'] = JR_NULL,  ['-'] = JR_NUMBER, ['0' ... '9'] = JR_NUMBER,
    };

    return (enum jr_type)types[(unsigned char)c];
}

enum jr_type jr_type_of(str raw)
{
    return raw.len == 0 ? JR_NONE : type_of_byte(raw.p[0]);
}

enum jr_type jr_peek(struct jr *j)
{
    enum jr_type type;

    skip_space(j);
    if (j->error != NULL || j->p == j->end)
        return set_error(j, "value missing"), JR_NONE;
    type = type_of_byte(*j->p);
    if (type == JR_NONE)
        set_error(j, "not a value");
    return type;
}

/* ---- scalars */

static bool is_hex4(const char *p)
{
    for (int i = 0; i < 4; i++) {
        char c = p[i];

        if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F')))
            return false;
    }
    return true;
}

static const bool is_short_escape[256] = {
    ['"'] = true, ['\\'] = true, ['/'] = true, ['b'] = true,
    ['f'] = true, ['n'] = true,  ['r'] = true, ['t'] = true,
};

/* Checks the escape at p; returns what is behind it, or NULL. */
static const char *see_escape(struct jr *j, const char *p)
{
    j->has_escape = true;
    if (j->end - p < 2)
        return set_error(j, "string not closed"), NULL;
    if (is_short_escape[(unsigned char)p[1]])
        return p + 2;
    if (p[1] != 'u')
        return set_error(j, "bad escape"), NULL;
    if (j->end - p < 6 || !is_hex4(p + 2))
        return set_error(j, "bad \\u escape"), NULL;
    return p + 6;
}

static const char *see_multibyte(struct jr *j, const char *p)
{
    const size_t n = utf8_char(str_from(p, (size_t)(j->end - p)));

    return n == 0 ? set_error(j, "malformed UTF-8"), NULL : p + n;
}

/* All but ASCII that stands for itself. */
static inline block mark_special(block b)
{
    return (b == '"') | (b == '\\') | (b < ' ');
}

/* Returns what is behind it, or NULL at a quote or a mistake. */
static inline const char *see_special(const char *p, const char *end, void *arg)
{
    struct jr *j = arg;

    (void)end;
    if (*p == '"')
        return NULL;
    if (*p == '\\')
        return see_escape(j, p);
    if ((unsigned char)*p < ' ')
        return set_error(j, "control character in a string"), NULL;
    return see_multibyte(j, p);
}

/* Moves to the next quote that is not escaped, or to the end of the text. */
static bool scan_text(struct jr *j)
{
    j->p = block_walk(j->p, j->end, mark_special, see_special, j);
    return j->error == NULL;
}

/* Checks the string whose opening quote p is at, and moves behind the closing one. */
static str scan_string(struct jr *j)
{
    const char *start = ++j->p;

    if (!scan_text(j))
        return STR_NONE;
    if (j->p == j->end)
        return set_error(j, "string not closed"), STR_NONE;
    return str_from(start, (size_t)(j->p++ - start));
}

static bool scan_digits(struct jr *j)
{
    const char *start = j->p;

    while (j->p < j->end && *j->p >= '0' && *j->p <= '9')
        j->p++;
    return j->p != start || set_error(j, "bad number");
}

static bool scan_number(struct jr *j)
{
    if (*j->p == '-')
        j->p++;
    if (j->p < j->end && *j->p == '0')
        j->p++;
    else if (!scan_digits(j))
        return false;
    if (j->p < j->end && *j->p == '.') {
        j->p++;
        if (!scan_digits(j))
            return false;
    }
    if (j->p < j->end && (*j->p == 'e' || *j->p == 'E')) {
        j->p++;
        if (j->p < j->end && (*j->p == '+' || *j->p == '-'))
            j->p++;
        if (!scan_digits(j))
            return false;
    }
    return true;
}

static bool scan_word(struct jr *j, str word)
{
    if (!str_starts_with(str_from(j->p, (size_t)(j->end - j->p)), word))
        return set_error(j, "not a value");
    j->p += word.len;
    return true;
}

/* ---- containers */

static bool is_in_object(const struct jr *j)
{
    int level = j->depth - 1;

    return (j->kinds[level / 8] >> (level % 8) & 1) != 0;
}

static void enter_container(struct jr *j, bool object)
{
    unsigned char bit;

    if (j->depth == JR_MAX_DEPTH) {
        set_error(j, "nested too deeply");
        return;
    }
    bit = (unsigned char)(1 << j->depth % 8);
    if (object)
        j->kinds[j->depth / 8] |= bit;
    else
        j->kinds[j->depth / 8] &= (unsigned char)~bit;
    j->depth++;
    j->p++;
    j->first = true;
}

bool jr_enter(struct jr *j, enum jr_type type)
{
    assert(type == JR_OBJECT || type == JR_ARRAY);
    if (jr_peek(j) != type) {
        jr_skip(j);
        return false;
    }
    enter_container(j, type == JR_OBJECT);
    return jr_ok(j);
}

/* Moves to the next member or element; false when the container ends there, or on error. */
static bool next_entry(struct jr *j, char close)
{
    if (j->error != NULL)
        return false;
    skip_space(j);
    if (j->p == j->end)
        return set_error(j, "container not closed");
    if (*j->p == close) {
        j->p++;
        j->depth--;
        j->first = false;
        return false;
    }
    if (!j->first) {
        if (*j->p != ',')
            return set_error(j, "comma missing");
        j->p++;
        skip_space(j);
    }
    j->first = false;
    return true;
}

static str decode_key(struct jr *j, str raw)
{
    struct buf out = {.p = j->key, .cap = sizeof(j->key)};

    /* An escape is never shorter than what it stands for, so key[] cannot overflow. */
    if (!j->has_escape || raw.len > sizeof(j->key))
        return raw;
    json_text_decode(raw, &out);
    return str_from(j->key, out.len);
}

bool jr_next_member(struct jr *j, str *ret_key)
{
    str raw;

    if (!next_entry(j, '}'))
        return false;
    if (j->p == j->end || *j->p != '"')
        return set_error(j, "member name missing");
    j->has_escape = false;
    raw = scan_string(j);
    skip_space(j);
    if (j->error != NULL || j->p == j->end || *j->p != ':')
        return set_error(j, "colon missing");
    j->p++;
    j->raw_key = raw;
    *ret_key = decode_key(j, raw);
    return true;
}

bool jr_next_element(struct jr *j)
{
    if (!next_entry(j, ']'))
        return false;
    if (j->p < j->end && *j->p == ']')
        return set_error(j, "value missing");
    return true;
}

/* Passes a scalar, or enters a container. */
static void enter_value(struct jr *j)
{
    switch (jr_peek(j)) {
    case JR_OBJECT:
    case JR_ARRAY:
        enter_container(j, *j->p == '{');
        break;
    case JR_STRING:
        (void)scan_string(j);
        break;
    case JR_NUMBER:
        (void)scan_number(j);
        break;
    case JR_TRUE:
        (void)scan_word(j, STR("true"));
        break;
    case JR_FALSE:
        (void)scan_word(j, STR("false"));
        break;
    case JR_NULL:
        (void)scan_word(j, STR("null"));
        break;
    case JR_NONE:
        break;
    }
}

void jr_skip(struct jr *j)
{
    int base = j->depth;
    str key;

    enter_value(j);
    while (j->error == NULL && j->depth > base) {
        if (is_in_object(j) ? jr_next_member(j, &key) : jr_next_element(j))
            enter_value(j);
    }
}

/* ---- values */

str jr_raw(struct jr *j)
{
    const char *start;

    skip_space(j);
    start = j->p;
    jr_skip(j);
    return j->error != NULL ? STR_NONE : str_from(start, (size_t)(j->p - start));
}

str jr_string(struct jr *j)
{
    if (jr_peek(j) != JR_STRING) {
        jr_skip(j);
        return STR_NONE;
    }
    return scan_string(j);
}

double jr_number_value(str raw)
{
    char text[320];
    size_t n = raw.len < sizeof(text) - 1 ? raw.len : sizeof(text) - 1;

    memcpy(text, raw.p, n);
    text[n] = '\0';
    return strtod(text, NULL);
}

int64_t jr_int(struct jr *j, int64_t fallback)
{
    const double limit = 9007199254740992.0; /* from here on integers are not exact */
    double value;
    str raw;

    if (jr_peek(j) != JR_NUMBER) {
        jr_skip(j);
        return fallback;
    }
    raw = jr_raw(j);
    if (str_is_none(raw))
        return fallback;
    value = jr_number_value(raw);
    if (!(value > -limit && value < limit) || (double)(int64_t)value != value)
        return fallback;
    return (int64_t)value;
}

bool jr_bool(struct jr *j, bool fallback)
{
    enum jr_type type = jr_peek(j);

    jr_skip(j);
    return type == JR_TRUE || (type != JR_FALSE && fallback);
}

const char *jr_type_name(enum jr_type type)
{
    static const char *const names[] = {
        [JR_NONE] = "nothing",    [JR_OBJECT] = "an object", [JR_ARRAY] = "an array",
        [JR_STRING] = "a string", [JR_NUMBER] = "a number",  [JR_TRUE] = "a boolean",
        [JR_FALSE] = "a boolean", [JR_NULL] = "null",
    };

    return names[type];
}

str jr_member(str raw, str name)
{
    str key, value = STR_NONE;
    struct jr j;

    jr_init(&j, raw);
    if (!jr_enter(&j, JR_OBJECT))
        return value;
    while (jr_next_member(&j, &key)) {
        if (str_eq(key, name))
            value = jr_raw(&j);
        else
            jr_skip(&j);
    }
    return value;
}

str jr_string_of(str raw)
{
    return jr_type_of(raw) == JR_STRING ? str_from(raw.p + 1, raw.len - 2) : STR_NONE;
}

str jr_member_string(str raw, str name)
{
    return jr_string_of(jr_member(raw, name));
}

int64_t jr_member_int(str raw, str name, int64_t fallback)
{
    struct jr j;

    jr_init(&j, jr_member(raw, name));
    return jr_int(&j, fallback);
}

size_t jr_count(str raw)
{
    struct jr j;
    size_t n = 0;
    str name;

    jr_init(&j, raw);
    if (jr_type_of(raw) == JR_ARRAY) {
        (void)jr_enter(&j, JR_ARRAY);
        for (; jr_next_element(&j); n++)
            jr_skip(&j);
    } else if (jr_enter(&j, JR_OBJECT)) {
        for (; jr_next_member(&j, &name); n++)
            jr_skip(&j);
    }
    return n;
}

bool jr_is_string_content(str text)
{
    struct jr j;

    jr_init(&j, text);
    return scan_text(&j) && j.p == j.end;
}

bool jr_is_valid(str text)
{
    struct jr j;

    jr_init(&j, text);
    jr_skip(&j);
    return jr_end(&j);
}
