/* extra_fields.h -- request fields that the Responses API does not have (CONTRACT 1.1).
 *
 * Chat Completions servers know more fields than the Responses API: `seed`,
 * `top_k`, `guided_json` ... Those on the operator's list reach the upstream
 * unchanged. What becomes of all others is a policy. */
#ifndef ANTIPHON_WIRE_DIALECT_EXTRA_FIELDS_H
#define ANTIPHON_WIRE_DIALECT_EXTRA_FIELDS_H

#include "base/arena.h"
#include "base/err.h"
#include "base/id.h"
#include "base/str_map.h"

/* Not owned. */
struct name_list {
    const char *const *names;
    size_t n;
};

enum unknown_fields { UNKNOWN_FIELDS_IGNORE, UNKNOWN_FIELDS_REJECT, UNKNOWN_FIELDS_FORWARD };

struct extra_fields_options {
    enum unknown_fields unknown;
    /* A name may end in *. In pass, "auto" stands for the names in known; names NULL: "auto", and
     * the list of CONTRACT 1.1. */
    struct name_list pass, known;
    bool names_left_out; /* what becomes of left_out */
    /* Does another upstream that may get the request take a field of this name, plain? Called with the arg
     * below, for the fields that this one does not take; NULL: there is no other. */
    bool (*is_for_others)(void *arg, str name);
    void *others;
};

/* A field for the upstream. */
struct extra_field {
    str name;     /* plain */
    str raw_name; /* as it was written: escaped */
    str value;    /* raw; STR_NONE when it was null, which counts as not given */
    struct extra_field *next;
};

enum { EXTRA_NAMES_LEFT_OUT = 16 };

/* In the order of the request; no name comes twice. */
struct extra_fields {
    struct extra_field *first, *last;
    size_t n_ignored;                             /* fields that are not among them */
    struct extra_field *left_out, *last_left_out; /* the names of the first of these; no values */
};

/* Sorts the fields of one request. */
struct extra_reader {
    const struct extra_fields_options *options;
    struct arena *arena;
    struct str_map by_name;
    struct extra_fields fields;
};

/* The fields live in the arena, as views of the request. */
void extra_reader_init(struct extra_reader *x, const struct extra_fields_options *options,
                       const struct id_source *ids, struct arena *a);

/* Takes one field, as they stand in the request; arg is a struct extra_reader.
 * Of a field given twice the last value counts. Returns 0, or -1 with *reterr
 * filled: 400 unknown_parameter. */
int extra_reader_take(void *arg, str raw_name, str value, struct err *reterr);

/* Is a field of that name, plain, for an upstream with these options? Others are not asked. */
bool extra_fields_are_taken(const struct extra_fields_options *o, str name);

/* The value of a field, or STR_NONE. Walks the list. */
str extra_fields_get(const struct extra_fields *f, str name);

#endif
