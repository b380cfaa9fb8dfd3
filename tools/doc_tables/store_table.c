/* store_table.c -- schema.def for docs/upgrade.md. */
#include "table.h"

static const struct {
    int version;
    const char *release, *migrated_by, *what;
} schemas[] = {
#define SCHEMA(version, release, migrated_by, what) {version, release, migrated_by, what},
#include "store/schema.def"
#undef SCHEMA
};

void table_schema(struct buf *out)
{
    buf_c(out, "| Version | Written since | Migrated by | What it brought |\n|---|---|---|---|\n");
    for (size_t i = 0; i < COUNT_OF(schemas); i++) {
        buf_c(out, "| ");
        buf_int(out, schemas[i].version);
        buf_c(out, " | ");
        buf_c(out, schemas[i].release);
        buf_c(out, " | ");
        buf_c(out, schemas[i].migrated_by[0] == '\0' ? "this release" : schemas[i].migrated_by);
        buf_c(out, " | ");
        buf_c(out, schemas[i].what);
        buf_c(out, " |\n");
    }
}
