/* schema.h -- the members of a JSON schema that say something about its type.
 *
 * Views into the schema, read before anything is made of them: their order is free. */
#ifndef ANTIPHON_TEXT_SCHEMA_H
#define ANTIPHON_TEXT_SCHEMA_H

#include "json/json_read.h"

/* Members of one level, raw; STR_NONE: not given. */
struct schema {
    str type, one_of, properties, required, items, members, examples;
    str title, description, initial, nullable;
};

/* Takes the next value, which may be anything: what is no object has no members. */
struct schema schema_read(struct jr *j);

/* True when the schema has a oneOf with something in it. */
bool schema_is_union(const struct schema *s);

#endif
