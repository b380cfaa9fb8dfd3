/* schema.h -- which versions of the tables this program can use. Internal to the store.
 *
 * A database says which version its tables have, and which one a program must know at least to use
 * them (compatible_from): migrations within a major version only add, so the program of before goes
 * on with tables that a newer one has migrated. */
#ifndef ANTIPHON_STORE_SCHEMA_H
#define ANTIPHON_STORE_SCHEMA_H

#include <stdint.h>

#include "base/err.h"

enum schema_verdict {
    SCHEMA_EMPTY, /* there are no tables yet */
    SCHEMA_CURRENT,
    SCHEMA_OLDER, /* to be migrated */
    SCHEMA_NEWER, /* to be used as they are */
    SCHEMA_TOO_OLD,
    SCHEMA_TOO_NEW,
};

/* What a program can do. */
struct schema_reach {
    int64_t writes, reads; /* the version of its own tables; the oldest that it migrates */
};

/* version: 0 when there are no tables. */
enum schema_verdict schema_judge(struct schema_reach reach, int64_t version,
                                 int64_t compatible_from);

/* Fills *reterr for SCHEMA_TOO_OLD and SCHEMA_TOO_NEW; store_is_too_new() knows the latter. Returns
 * -1. */
int schema_refuse(struct schema_reach reach, int64_t version, int64_t compatible_from,
                  struct err *reterr);

#endif
