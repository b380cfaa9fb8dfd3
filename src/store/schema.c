/* schema.c -- which version of the tables is opened, migrated or refused (docs/upgrade.md). */
#include "store/schema.h"

#include <string.h>

#include "base/str.h"
#include "store/store.h"

static const struct {
    int64_t version;
    const char *migrated_by;
} rows[] = {
#define SCHEMA(version, release, migrated_by, what) {version, migrated_by},
#include "store/schema.def"
#undef SCHEMA
};

enum schema_verdict schema_judge(struct schema_reach reach, int64_t version,
                                 int64_t compatible_from)
{
    if (version == 0)
        return SCHEMA_EMPTY;
    if (version == reach.writes)
        return SCHEMA_CURRENT;
    if (version < reach.reads)
        return SCHEMA_TOO_OLD;
    if (version < reach.writes)
        return SCHEMA_OLDER;
    return compatible_from <= reach.writes ? SCHEMA_NEWER : SCHEMA_TOO_NEW;
}

static const char *migrator_of(int64_t version)
{
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        if (rows[i].version == version && rows[i].migrated_by[0] != '\0')
            return rows[i].migrated_by;
    }
    return "an earlier release";
}

static const char too_new[] = "store_too_new";

bool store_is_too_new(const struct err *e)
{
    return strcmp(e->own_code, too_new) == 0;
}

int schema_refuse(struct schema_reach reach, int64_t version, int64_t compatible_from,
                  struct err *reterr)
{
    if (version < reach.reads) {
        err_set(reterr, ERR_STORE,
                "The store is too old for this program (its tables have version %lld, this program "
                "reads %lld and later): have antiphon %s migrate it first (docs/upgrade.md).",
                (long long)version, (long long)reach.reads, migrator_of(version));
        return -1;
    }
    err_set(reterr, ERR_STORE,
            "The store was made by a newer version of this program (its tables have version %lld "
            "and want a program that knows %lld, this one knows %lld): run that version, or name "
            "another store.",
            (long long)version, (long long)compatible_from, (long long)reach.writes);
    if (reterr != NULL)
        memcpy(reterr->own_code, too_new, sizeof(too_new));
    return -1;
}
