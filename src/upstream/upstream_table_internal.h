/* upstream_table_internal.h -- tables while they are made. */
#ifndef ANTIPHON_UPSTREAM_UPSTREAM_TABLE_INTERNAL_H
#define ANTIPHON_UPSTREAM_UPSTREAM_TABLE_INTERNAL_H

#include <stdatomic.h>
#include <time.h>

#include "upstream/upstream_table.h"

/* By what a file is known to be as it was. */
struct upstream_key_stamp {
    struct timespec time;
    uint64_t bytes, inode; /* all zero: it is not there */
};

struct upstream_shared {
    struct upstream_table table;       /* first, so that a pointer to it is one to this */
    struct upstream_entry *entries;    /* the table's */
    struct upstream_key_stamp *stamps; /* of their key files */
    struct config config;              /* the table's */
    struct config **configs;           /* of the entries; NULL: not made yet */
    size_t n_configs;
    struct arena memory;
    struct upstream_shared
        *origin; /* the table whose texts this one has, besides its keys; or NULL */
    atomic_uint n_refs;
};

/* A table without entries, with room for n of them, at least 1, and with a copy of the configuration, from
 * which `upstream` and `upstream_key` are taken out. NULL when out of memory. */
struct upstream_shared *upstream_shared_new(const struct config *config, size_t n);

/* With whatever is in it; the keys are wiped. */
void upstream_shared_free(struct upstream_shared *s);

/* An entry of which nothing is said. */
struct upstream_entry upstream_entry_plain(void);

/* The next entry, like that one, with a configuration of its own: a copy of that. There must be room. NULL when
 * out of memory. */
struct upstream_entry *upstream_shared_add(struct upstream_shared *s,
                                           const struct upstream_entry *like,
                                           const struct config *config, struct config **ret_config);

/* What follows from the number of entries and from their configurations: to be called once all are there. */
void upstream_shared_settle(struct upstream_shared *s);

/* How many may wait for whom, as the configuration has it; the policy itself is affinity. */
struct upstream_policy upstream_policy_of(const struct config *c);

/* "Bearer KEY" in the arena; STR_NONE when out of memory. */
str upstream_bearer(struct arena *a, str key);

struct upstream_key_stamp upstream_key_stamp_of(const char *path);

/* Makes a table of the text of a file. NULL with problems. */
struct upstream_shared *upstream_file_parse(const struct upstream_table_source *source,
                                            const char *name, str text,
                                            struct config_problems *problems);

#endif
