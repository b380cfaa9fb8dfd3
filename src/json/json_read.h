/* json_read.h -- pull JSON apart in one pass, without building a tree (RFC 8259).
 *
 * The reader walks over text that stays where it is and hands out views into
 * it. Strings come raw: the bytes between the quotes, escapes untouched, so
 * they can be spliced into other JSON as they are; json_text.h decodes them.
 *
 *     struct jr j;
 *     str key;
 *
 *     jr_init(&j, text);
 *     if (jr_enter(&j, JR_OBJECT)) {
 *         while (jr_next_member(&j, &key)) {
 *             if (str_eq(key, STR("model")))
 *                 model = jr_string(&j);
 *             else
 *                 jr_skip(&j);
 *         }
 *     }
 *     if (!jr_end(&j)) ...           the text is not one valid JSON value
 *
 * After jr_next_member() or jr_next_element() returned true the value must be
 * consumed exactly once. Errors are sticky: after the first, every call
 * returns "nothing" and jr_ok() is false. The reader is strict: UTF-8, escapes,
 * numbers and control characters are checked in everything it passes over. */
#ifndef ANTIPHON_JSON_JSON_READ_H
#define ANTIPHON_JSON_JSON_READ_H

#include <stdint.h>

#include "base/str.h"

enum jr_type { JR_NONE, JR_OBJECT, JR_ARRAY, JR_STRING, JR_NUMBER, JR_TRUE, JR_FALSE, JR_NULL };

enum { JR_MAX_DEPTH = 512, JR_KEY_BYTES = 48 };

struct jr {
    const char *p, *end, *start;
    const char *error; /* NULL, or what is wrong at p */
    str raw_key;       /* the last member's name as written, escaped */
    int depth;
    bool first;                            /* the container just entered has no member yet */
    bool has_escape;                       /* in the string passed last */
    char key[JR_KEY_BYTES];                /* a member name with escapes is decoded into this */
    unsigned char kinds[JR_MAX_DEPTH / 8]; /* one bit a level: object or array */
};

void jr_init(struct jr *j, str text);

/* True while there was no error. */
bool jr_ok(const struct jr *j);

/* True when there was no error and nothing but white space is left: call it last. */
bool jr_end(struct jr *j);

/* Offset in bytes of the first error, for messages. */
size_t jr_offset(const struct jr *j);

/* Type of the next value, which is not consumed; JR_NONE on error. */
enum jr_type jr_peek(struct jr *j);

/* Enters the next value when it is of this type. A value of another type is
 * skipped and false returned, so a loop over it simply does not run. */
bool jr_enter(struct jr *j, enum jr_type type);

/* Moves to the next member or element of the container entered last; at its
 * end leaves it and returns false. *ret_key is decoded (a name too long for
 * any we know stays raw) and dies with the next call. */
bool jr_next_member(struct jr *j, str *ret_key);
bool jr_next_element(struct jr *j);

/* The next value as text: raw string content without quotes, or the whole
 * value as written. jr_string() skips any other type and returns STR_NONE. */
str jr_string(struct jr *j);
str jr_raw(struct jr *j);
void jr_skip(struct jr *j);

/* The next value as a number or truth, or fallback when it is anything else.
 * jr_int() takes integral values such as 3 and 3.0, below 2^53. */
int64_t jr_int(struct jr *j, int64_t fallback);
bool jr_bool(struct jr *j, bool fallback);

/* The member of that name of an object, raw; of several the last. STR_NONE when
 * there is none, or raw is no object. */
str jr_member(str raw, str name);

/* The content of a raw string without its quotes; STR_NONE when raw is no string. */
str jr_string_of(str raw);

/* jr_member() as the raw content of a string; STR_NONE when it is no string. */
str jr_member_string(str raw, str name);

/* jr_member() as jr_int() reads it, or fallback when it is missing or anything else. */
int64_t jr_member_int(str raw, str name, int64_t fallback);

/* The number of elements or members of an array or object that jr_raw() returned; 0 for all
 * else. */
size_t jr_count(str raw);

/* Type of a value that jr_raw() returned. */
enum jr_type jr_type_of(str raw);

/* "an object", "a string" ... for messages. */
const char *jr_type_name(enum jr_type type);

/* Is text one complete, valid JSON value? */
bool jr_is_valid(str text);

/* Could text stand between the quotes of a JSON string as it is? */
bool jr_is_string_content(str text);

/* A number as written, as a double. */
double jr_number_value(str raw);

#endif
