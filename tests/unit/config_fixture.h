/* config_fixture.h -- configurations for tests: load one, expect words in its problems. */
#ifndef ANTIPHON_TESTS_UNIT_CONFIG_FIXTURE_H
#define ANTIPHON_TESTS_UNIT_CONFIG_FIXTURE_H

#include "lib/test.h"

#include "config/config.h"

enum { MAX_WORDS = 8, S = 1000 };

/* A load with everything it needs; zeroed members are "not given". */
struct load {
    const char *args[MAX_WORDS];
    const char *env[MAX_WORDS + 1];
    const char *file; /* its text */
    struct config config;
    struct config_problems problems;
};

static inline int load(struct load *l)
{
    struct config_sources sources = {
        .args = l->args, .env = l->env, .file_text = str_from_c(l->file)};

    while (sources.n_args < MAX_WORDS && l->args[sources.n_args] != NULL)
        sources.n_args++;
    return config_load(&l->config, &sources, &l->problems);
}

static inline void load_end(struct load *l)
{
    config_fini(&l->config);
    config_problems_fini(&l->problems);
}

static inline void load_fine(struct load *l)
{
    if (load(l) == -1)
        fail_msg("%s", l->problems.kept[0].text);
}

/* All problems, one below the other; buf_fini() it. */
static inline struct buf problem_lines(const struct load *l)
{
    struct buf lines = {0};

    config_problems_print(&l->problems, &lines);
    return lines;
}

/* Every one of the pieces is in some line. */
static inline void problems_say(const struct load *l, const char *const *pieces)
{
    struct buf lines = problem_lines(l);

    for (; *pieces != NULL; pieces++) {
        if (strstr(buf_cstr(&lines), *pieces) == NULL)
            fail_msg("\"%s\" does not say \"%s\"", buf_cstr(&lines), *pieces);
    }
    buf_fini(&lines);
}

/* Fails with one error, and with messages that hold every one of the pieces. */
static inline void load_fails(struct load *l, const char *const *pieces)
{
    assert_int_equal(load(l), -1);
    problems_say(l, pieces);
    assert_int_equal(l->problems.n_errors, 1);
    load_end(l);
}

/* Loads with one warning that holds every one of the pieces. */
static inline void load_warns(struct load *l, const char *const *pieces)
{
    load_fine(l);
    problems_say(l, pieces);
    assert_int_equal(l->problems.n_warnings, 1);
    load_end(l);
}

#define FAILS(load, ...) load_fails((load), (const char *const[]){__VA_ARGS__, NULL})
#define WARNS(load, ...) load_warns((load), (const char *const[]){__VA_ARGS__, NULL})

#endif
