/* tool_name.c -- clean, join and shorten tool names. */
#include "conv/tool_name.h"

#include <stdint.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/utf8.h"
#include "json/json_text.h"

enum { KEPT_CHARS = 55 }; /* of a long name, before "_" and the 8 digits of its hash */

bool tool_name_is_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
}

bool tool_name_is_clean(str name)
{
    for (size_t i = 0; i < name.len; i++) {
        if (!tool_name_is_char(name.p[i]))
            return false;
    }
    return name.len > 0 && name.len <= TOOL_NAME_MAX;
}

/* FNV-1a: two long names that begin alike must stay apart, no more. */
static uint32_t hash(str s)
{
    uint32_t h = 2166136261U;

    for (size_t i = 0; i < s.len; i++)
        h = (h ^ (unsigned char)s.p[i]) * 16777619U;
    return h;
}

/* Replaces every other character of s, not byte, by one '_'; returns the
 * length of the whole result, of which out holds the first TOOL_NAME_MAX. */
static size_t clean(str s, char out[TOOL_NAME_MAX])
{
    size_t n = 0;

    while (s.len > 0) {
        size_t len = utf8_char(s);

        char c = tool_name_is_char(s.p[0]) ? s.p[0] : '_';

        if (n < TOOL_NAME_MAX)
            out[n] = c;
        n++;
        s = str_skip(s, len > 0 ? len : 1);
    }
    return n;
}

static str name_dup(struct arena *a, str whole)
{
    char name[TOOL_NAME_MAX + 1];
    size_t n = clean(whole, name);

    if (n == 0)
        return STR("_");
    if (n > TOOL_NAME_MAX)
        n = KEPT_CHARS +
            (size_t)snprintf(name + KEPT_CHARS, sizeof(name) - KEPT_CHARS, "_%08x", hash(whole));
    return arena_dup(a, str_from(name, n));
}

str tool_name_for_upstream(struct arena *a, str name_space, str name)
{
    struct buf whole = {0};
    str result = STR_NONE;

    if (name_space.len == 0 && tool_name_is_clean(name))
        return name;
    if (name_space.len > 0) {
        json_text_decode(name_space, &whole);
        buf_append(&whole, STR("__"));
    }
    json_text_decode(name, &whole);
    if (!buf_failed(&whole))
        result = name_dup(a, buf_str(&whole));
    buf_fini(&whole);
    return result;
}
