/* upstreams.c -- from files to a table, and the table to the pool and the workers.
 *
 * The text of the file is kept as it was read when it was good: what else is read again is combined with that,
 * whatever the file has become meanwhile. */
#include "daemon/upstreams.h"

#include "access/api_key.h"
#include "access/problems_log.h"
#include "base/secrets.h"
#include "daemon/server_internal.h"
#include "daemon/settings_read.h"
#include "demo/demo.h"
#include "ev/log.h"
#include "flight/settings.h"
#include "flight/worker.h"
#include "flight/worker_settings.h"
#include "upstream/upstream_pool.h"

enum { LOOK_AT_KEYS_MS = 10 * 1000 };

static const struct config *config_of(const struct server *s)
{
    return s->settings != NULL ? &s->settings->config : s->config;
}

/* ---- tables */

static struct upstream_table *load_table(const struct server *s, const struct config *c, str text)
{
    const struct upstream_table_source source = {
        .config = c, .env = s->sources->env, .demo_base = s->demo_base, .file_text = text};
    struct config_problems problems = {.n_kept = 0};
    struct upstream_table *t = upstream_table_load(&source, &problems);

    if (t == NULL || s->upstreams != NULL) /* the first table's warnings main() has told */
        problems_log(&problems);
    config_problems_fini(&problems);
    return t;
}

/* The table is the pool's. Takes the reference. */
static int take_table(struct server *s, struct upstream_table *t)
{
    struct err e;

    if (upstream_pool_take(s->pool, t, &e) == 0) {
        upstream_table_unref(s->upstreams);
        s->upstreams = t;
        return 0;
    }
    log_msg(LOG_ERROR, "%s", e.msg);
    upstream_table_unref(t);
    return -1;
}

int upstreams_set(struct server *s, struct settings *now)
{
    struct upstream_table *t =
        load_table(s, &now->config, s->file.len > 0 ? buf_str(&s->file) : STR_NONE);

    if (t == NULL || take_table(s, t) == -1)
        return -1;
    now->upstreams = upstream_table_ref(s->upstreams);
    return 0;
}

static bool has_key_files(const struct server *s)
{
    for (size_t i = 0; i < s->upstreams->n; i++) {
        if (s->upstreams->entries[i].key_file != NULL)
            return true;
    }
    return false;
}

/* ---- the file */

bool upstreams_are_in_file(const struct server *s)
{
    return s->config->upstreams_file != NULL;
}

static bool read_file(const struct server *s, struct buf *ret)
{
    struct config_problems problems = {.n_kept = 0};
    const bool is_read = config_read_file(s->config->upstreams_file, ret, &problems);

    problems_log(&problems);
    config_problems_fini(&problems);
    return is_read;
}

/* Workers get tables with settings. */
static bool give_table(struct server *s)
{
    struct settings *now = settings_like(config_of(s), s->keys->n > 0);

    if (now == NULL)
        return false;
    now->upstreams = upstream_table_ref(s->upstreams);
    settings_unref(s->settings);
    s->settings = now;
    for (unsigned i = 0; i < s->n_threads; i++)
        worker_give_settings(s->workers[i], now);
    return true;
}

static bool exchange_table(struct server *s, struct upstream_table *t)
{
    return t != NULL && take_table(s, t) == 0 && give_table(s);
}

/* Environment and files with keys are read again as well, where there are any. */
static bool is_same_file(const struct server *s, const struct buf *text)
{
    return str_eq(buf_str(text), buf_str(&s->file)) && !has_key_files(s);
}

bool upstreams_read(struct server *s)
{
    struct buf text = {.limit = 0};
    bool is_good = read_file(s, &text);

    if (is_good && !is_same_file(s, &text))
        is_good = exchange_table(s, load_table(s, config_of(s), buf_str(&text)));

    if (is_good) {
        secret_buf_fini(&s->file);
        s->file = text;
    } else {
        secret_buf_fini(&text);
    }
    log_reload("upstreams", is_good, NULL);
    return is_good;
}

/* ---- files with keys */

static void look_at_keys(void *arg)
{
    struct server *s = arg;
    struct config_problems problems = {.n_kept = 0};
    struct upstream_table *t = upstream_table_renew_keys(s->upstreams, &problems);

    problems_log(&problems);
    config_problems_fini(&problems);
    if (t != NULL && take_table(s, t) == 0)
        (void)give_table(s);
    loop_timer_start(s->key_timer, LOOK_AT_KEYS_MS);
}

/* ---- begin and end */

static int open_demo(struct server *s, struct err *reterr)
{
    struct buf text = {.limit = 0};

    s->demo_base = STR_NONE;
    if (s->config->upstream != NULL || s->config->upstreams_file != NULL)
        return 0;
    s->demo = demo_open(s->loop, reterr);
    if (s->demo == NULL)
        return -1;
    buf_c(&text, "http://127.0.0.1:");
    buf_int(&text, demo_port(s->demo));
    buf_c(&text, "/v1");
    s->demo_base = arena_dup(&s->memory, buf_str(&text));
    buf_fini(&text);
    return str_is_none(s->demo_base) ? err_set_no_memory(reterr) : 0;
}

int upstreams_open(struct server *s, struct err *reterr)
{
    struct upstream_table *t = NULL;

    if (open_demo(s, reterr) == -1)
        return -1;
    s->pool = upstream_pool_new(s->loop, reterr);
    if (s->pool == NULL)
        return -1;
    if (!upstreams_are_in_file(s) || read_file(s, &s->file))
        t = load_table(s, s->config, s->file.len > 0 ? buf_str(&s->file) : STR_NONE);
    if (t == NULL || take_table(s, t) == -1) {
        err_set(reterr, ERR_INTERNAL, "the table of upstreams could not be made");
        return -1;
    }
    s->first_upstreams = upstream_table_ref(s->upstreams);
    if (!upstreams_are_in_file(s))
        return 0;
    s->key_timer = loop_timer_new(s->loop, look_at_keys, s);
    if (s->key_timer == NULL)
        return err_set_no_memory(reterr);
    loop_timer_start(s->key_timer, LOOK_AT_KEYS_MS);
    return 0;
}

void upstreams_close(struct server *s)
{
    loop_timer_free(s->key_timer);
    upstream_pool_free(s->pool);
    upstream_table_unref(s->upstreams);
    upstream_table_unref(s->first_upstreams);
    secret_buf_fini(&s->file);
}
