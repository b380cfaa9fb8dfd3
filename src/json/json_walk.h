/* json_walk.h -- go once more through JSON that has been found to be valid (RFC 8259).
 *
 * Where json_read.h checks every byte, this looks only for the ends of values, which costs a fraction.
 * A walk is for text that was read before, or that we wrote. Strings come raw, names of members too.
 *
 *     struct json_walk w = json_walk_of(text);
 *     str name;
 *
 *     if (json_walk_enter(&w, JR_OBJECT)) {
 *         while (json_walk_member(&w, &name))
 *             value = json_walk_value(&w);
 *     }
 *
 * After json_walk_member() or json_walk_element() returned true the value must be consumed exactly once: as
 * a whole, or entered and walked to its end. Of text that is not valid the values are some parts of it,
 * and nothing outside of it is looked at. Pure; any thread. */
#ifndef ANTIPHON_JSON_JSON_WALK_H
#define ANTIPHON_JSON_JSON_WALK_H

#include "json/json_read.h"

struct json_walk {
    const char *p, *end;
};

struct json_walk json_walk_of(str text);

/* Type of the next value; JR_NONE when there is none. */
enum jr_type json_walk_peek(struct json_walk *w);

/* Enters the next value when it is of this type, and else stays before it. */
bool json_walk_enter(struct json_walk *w, enum jr_type type);

/* Moves to the next member or element of the container that was entered last; false at its end, which
 * is left, and at the end of the text. */
bool json_walk_member(struct json_walk *w, str *ret_raw_name);
bool json_walk_element(struct json_walk *w);

/* The next value as it is written; at least a byte, but at the end of the text. */
str json_walk_value(struct json_walk *w);

/* The next value without its quotes when it is a string; else empty, and it stays. */
str json_walk_string(struct json_walk *w);

#endif
