/* upstream_table_fixture.h -- tables of upstreams for tests. */
#ifndef ANTIPHON_TESTS_UNIT_UPSTREAM_TABLE_FIXTURE_H
#define ANTIPHON_TESTS_UNIT_UPSTREAM_TABLE_FIXTURE_H

#include "unit/config_fixture.h"

#include "lib/fixture.h"
#include "upstream/upstream_table.h"

/* A configuration with the table that it makes; zeroed members are "not given". */
struct tabled {
    struct load config;
    const char *env[MAX_WORDS + 1]; /* when the file is read */
    const char *file;               /* its text */
    struct upstream_table *table;
    struct config_problems problems; /* of the table */
    struct buf lines;                /* the same, one below the other */
    struct arena memory;             /* of routes */
};

static inline void tabled_load(struct tabled *t)
{
    char *text = exact_copy(str_from_c(t->file == NULL ? "" : t->file));
    struct upstream_table_source source = {.config = &t->config.config, .env = t->env};

    load_fine(&t->config);
    if (t->file != NULL)
        source.file_text = str_from(text, strlen(t->file));
    t->table = upstream_table_load(&source, &t->problems);
    free(text);
    config_problems_print(&t->problems, &t->lines);
    assert_true((t->table == NULL) == (t->problems.n_errors > 0));
}

static inline void tabled_end(struct tabled *t)
{
    upstream_table_unref(t->table);
    load_end(&t->config);
    config_problems_fini(&t->problems);
    buf_fini(&t->lines);
    arena_fini(&t->memory);
}

/* There is a table, and nothing was found. */
static inline void tabled_fine(struct tabled *t)
{
    tabled_load(t);
    if (t->table == NULL || t->problems.n_kept > 0)
        fail_msg("%s", buf_cstr(&t->lines));
}

/* The piece is in some line. */
static inline void tabled_says(struct tabled *t, const char *piece)
{
    if (strstr(buf_cstr(&t->lines), piece) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", buf_cstr(&t->lines), piece);
}

/* There is no table, for one mistake, of which the pieces are said. */
static inline void tabled_fails(struct tabled *t, const char *const *pieces)
{
    tabled_load(t);
    for (; *pieces != NULL; pieces++)
        tabled_says(t, *pieces);
    if (t->problems.n_errors != 1)
        fail_msg("%s", buf_cstr(&t->lines));
    tabled_end(t);
}

#define TABLE_FAILS(text, ...)                                                                     \
    do {                                                                                           \
        struct tabled refused = {.file = (text)};                                                  \
                                                                                                   \
        tabled_fails(&refused, (const char *const[]){__VA_ARGS__, NULL});                          \
    } while (0)

/* A file with one upstream "a" that has a URL and these members. */
#define ONE(members) "{\"upstreams\": {\"a\": {\"url\": \"http://h:1\"" members "}}}"

static inline const struct upstream_entry *tabled_entry(const struct tabled *t, const char *name)
{
    const struct upstream_entry *e = upstream_table_find(t->table, str_from_c(name));

    if (e == NULL)
        fail_msg("no upstream \"%s\"", name);
    return e;
}

#endif
