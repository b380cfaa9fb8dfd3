/* key_table.c -- counted tables of keys, and how a new one is made. */
#include "access/key_table.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "access/problems_log.h"
#include "ev/log.h"

struct key_table {
    atomic_uint n_references;
    atomic_uint n_waited_for; /* workers that still have to take it */
    struct api_keys keys;
};

bool keys_are_in_file(const struct config *c)
{
    return c->api_keys_file != NULL ||
           (c->api_key.n > 0 && c->places[CONFIG_KEY_api_key].source == CONFIG_FROM_FILE);
}

static void log_keys(const struct api_keys *keys, bool is_good)
{
    const struct log_field n = LOG_INT("keys", keys->n);

    log_reload("keys", is_good, &n);
}

static void log_problems(const struct config_problems *problems, const struct api_keys *former)
{
    problems_log(problems);
    if (problems->n_errors == 0)
        return;
    log_msg(LOG_ERROR, "the API keys stay as they are");
    log_keys(former, false);
}

/* A table without any key would let everybody in, which nobody has asked for. */
static void load_keys(struct key_table *t, const struct config *c, struct config_problems *problems)
{
    if (api_keys_load(&t->keys, c, problems) == 0 && t->keys.n == 0)
        config_error(problems, "no API key is left, which would let everybody in; to serve "
                               "without keys, start the gateway again");
}

struct key_table *key_table_reload(const struct config_sources *sources,
                                   const struct api_keys *former, struct arena *owners,
                                   unsigned n_workers)
{
    struct key_table *t = calloc(1, sizeof(*t));
    struct config_problems problems = {.n_kept = 0};
    struct config config;

    if (t == NULL) {
        log_msg(LOG_ERROR, "out of memory: the API keys stay as they are");
        return NULL;
    }
    atomic_init(&t->n_references, 1);
    atomic_init(&t->n_waited_for, n_workers);
    t->keys = (struct api_keys){.former = former, .owners = owners};
    if (config_load(&config, sources, &problems) == 0)
        load_keys(t, &config, &problems);
    log_problems(&problems, former);
    t->keys.former = NULL;
    if (problems.n_errors > 0) {
        key_table_unref(t);
        t = NULL;
    }
    config_fini(&config);
    config_problems_fini(&problems);
    return t;
}

const struct api_keys *key_table_keys(const struct key_table *t)
{
    return &t->keys;
}

void key_table_taken(struct key_table *t)
{
    if (atomic_fetch_sub(&t->n_waited_for, 1) == 1)
        log_keys(&t->keys, true);
}

struct key_table *key_table_ref(struct key_table *t)
{
    if (t != NULL)
        atomic_fetch_add(&t->n_references, 1);
    return t;
}

void key_table_unref(struct key_table *t)
{
    if (t == NULL || atomic_fetch_sub(&t->n_references, 1) != 1)
        return;
    api_keys_fini(&t->keys);
    free(t);
}
