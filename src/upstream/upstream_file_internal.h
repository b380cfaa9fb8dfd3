/* upstream_file_internal.h -- inside the reader of the file of upstreams.
 *
 *     upstream_file.c          the file as a whole: its members, default and policies
 *     upstream_file_entry.c    one upstream, member by member
 *     upstream_file_models.c   what it serves
 *     upstream_file_value.c    values: each is refused where it stands, or becomes a field
 *
 * A value knows the one that it is in, so that a problem names its whole path:
 *
 *     upstreams.json: line 9: upstreams.gpu1.models[2].tier: must be a whole number from 0 to 9 */
#ifndef ANTIPHON_UPSTREAM_UPSTREAM_FILE_INTERNAL_H
#define ANTIPHON_UPSTREAM_UPSTREAM_FILE_INTERNAL_H

#include "json/json_read.h"
#include "upstream/upstream_table_internal.h"

/* A file that is being read. */
struct upstream_reader {
    const struct upstream_table_source *source;
    const char *name; /* of the file; lives as long as the table */
    str text;         /* strict JSON, of which everything raw is a part */
    struct config_problems *problems;
    struct upstream_shared *shared; /* the table that is made */
    bool no_memory;
    size_t line, at; /* the line of that byte of the text */
};

/* A value in the file. */
struct upstream_value {
    const struct upstream_value *in; /* NULL: the whole file */
    str name;                        /* of the member, plain; STR_NONE: an element */
    size_t index;                    /* of the element */
    str raw;
};

/* ---- problems */

/* Reports that the value is a mistake. */
void upstream_value_refuse(struct upstream_reader *r, const struct upstream_value *v,
                           const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Reports something about the value that does no harm. */
void upstream_value_warn(struct upstream_reader *r, const struct upstream_value *v,
                         const char *message);

/* Reports a member that there is not; names are those that there are. */
void upstream_value_refuse_unknown(struct upstream_reader *r, const struct upstream_value *v,
                                   const char *const *names, size_t n);

/* Appends where the value stands: "upstreams.gpu1.url". */
void upstream_value_path(const struct upstream_value *v, struct buf *out);

/* The line of the value. */
size_t upstream_value_line(struct upstream_reader *r, const struct upstream_value *v);

/* ---- containers */

/* Enters an object or array. False when the value is something else, which is refused. */
bool upstream_value_enter(struct upstream_reader *r, const struct upstream_value *v,
                          enum jr_type type, const char *what, struct jr *ret);

/* The next member, whose name lives as long as the table, or element. */
bool upstream_value_next(struct upstream_reader *r, const struct upstream_value *in, struct jr *j,
                         struct upstream_value *ret);

/* ---- fields, which stay as they were when the value is refused */

/* A string that is not empty and has no control characters; it lives as long as the table. */
bool upstream_value_text(struct upstream_reader *r, const struct upstream_value *v, str *field);
/* A path, or the file that credential:NAME stands for. It has to be there. */
bool upstream_value_file(struct upstream_reader *r, const struct upstream_value *v,
                         const char **field);
void upstream_value_flag(struct upstream_reader *r, const struct upstream_value *v, bool *field);
void upstream_value_count(struct upstream_reader *r, const struct upstream_value *v, unsigned least,
                          unsigned most, unsigned *field);
/* A key of the configuration. */
void upstream_value_override(struct upstream_reader *r, const struct upstream_value *v,
                             enum config_id key, struct config *c);

/* ---- upstreams */

/* Reads the members that stand for all upstreams. */
void upstream_file_read_defaults(struct upstream_reader *r, const struct upstream_value *v,
                                 struct upstream_entry *entry, struct config *config);

/* Reads one upstream; defaults and config are what it does not say itself. */
void upstream_file_read_entry(struct upstream_reader *r, const struct upstream_value *v,
                              const struct upstream_entry *defaults, const struct config *config);

/* Reads what an upstream serves; its weight and tier are known. */
void upstream_file_read_models(struct upstream_reader *r, const struct upstream_value *v,
                               struct upstream_entry *entry);

#endif
