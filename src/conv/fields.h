/* fields.h -- read a JSON object into a struct of views by a table.
 *
 * A table names the members we know, the types they may have and the str of
 * the struct each goes to. A member that is absent or null leaves STR_NONE;
 * of a member given twice the last counts; others go to a sink or nowhere. */
#ifndef ANTIPHON_CONV_FIELDS_H
#define ANTIPHON_CONV_FIELDS_H

#include <stddef.h>

#include "base/err.h"
#include "base/str.h"
#include "conv/reject.h"
#include "json/json_read.h"
#include "json/json_walk.h"

enum field_kind {
    FIELD_TEXT, /* a string: stored without quotes, still escaped; every other kind stays raw */
    FIELD_BOOLEAN,
    FIELD_NUMBER,
    FIELD_INTEGER, /* also 3.0 */
    FIELD_OBJECT,
    FIELD_ARRAY,
    FIELD_TEXT_OR_ARRAY,
    FIELD_TEXT_OR_OBJECT,
    FIELD_ARRAY_OR_OBJECT,
    FIELD_ANY,
};

struct field {
    str name;
    enum field_kind kind;
    size_t offset; /* of a str */
};

/* A row for a member that has the same name in C. */
#define FIELD(type, member, kind)                                                                  \
    {                                                                                              \
        STR_INIT(#member), kind, offsetof(type, member)                                            \
    }

struct fields {
    const struct field *table;
    size_t n;
};
#define FIELDS(table) ((struct fields){LIST_OF(table)})

/* Takes a member that is not in the table, its name escaped and its value raw.
 * Returns 0, or -1 with *reterr filled, which may be NULL. */
struct field_sink {
    int (*take)(void *arg, str name, str value, struct err *reterr);
    void *arg;
};

/* Reads the body of a request, which must be an object, into the struct at ret. It must be
 * JSON to its end: that is complained of first. Views point into the body. Without others, members that are not in
 * the table are skipped. */
int fields_read_body(str body, struct fields f, void *ret, const struct field_sink *others,
                     struct err *reterr);

/* The same for an object inside what is known to be valid JSON: the next value of a walk, or a value
 * that jr_raw() returned before. Members that are not in the table are skipped; after a wrong type the
 * others are read all the same. at: its place, or NULL. */
int fields_walk(struct json_walk *w, struct fields f, const struct path *at, void *ret,
                struct err *reterr);
int fields_read_raw(str raw, struct fields f, const struct path *at, void *ret, struct err *reterr);

/* 0 when raw is of this kind, else -1 with the type error. */
int field_check(str raw, enum field_kind kind, const struct path *at, struct err *reterr);

/* What is between the quotes of a raw string. */
static inline str field_text(str raw)
{
    return str_from(raw.p + 1, raw.len - 2);
}

#endif
