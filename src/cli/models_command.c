/* models_command.c -- what the upstreams list, as names that clients may ask for. */
#include "cli/models_command.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/ask_once.h"
#include "cli/command_line.h"
#include "upstream/upstream_table.h"
#include "wire/dialect/upstream_models.h"

enum { TIMEOUT_MS = 10000 };

/* The upstreams, while they are asked one after the other. */
struct asking {
    struct upstream_table *table;
    struct upstream_listing *listed; /* one for each */
    struct arena memory;
    bool is_resolving; /* a name is still looked up: _exit(), nobody is to wait for it */
};

/* ---- one upstream */

static void complain(const struct asking *asking, const struct upstream_entry *e, const char *what)
{
    if (asking->table->is_from_file)
        (void)fprintf(stderr, "antiphon: upstream %.*s: %s\n", STR_ARG(e->name), what);
    else
        (void)fprintf(stderr, "antiphon: upstream: %s\n", what);
}

/* Keeps the names of a list. */
static void keep_models(struct asking *asking, const struct upstream_entry *e,
                        const struct upstream_models *models)
{
    str *names = arena_array(&asking->memory, models->n, sizeof(*names));

    for (size_t i = 0; names != NULL && i < models->n; i++)
        names[i] = models->v[i].id;
    asking->listed[e - asking->table->entries] =
        (struct upstream_listing){names, names == NULL ? 0 : models->n};
}

static void read_answer(struct asking *asking, const struct upstream_entry *e,
                        const struct asked *answer)
{
    struct upstream_models models = {NULL, 0};
    char message[sizeof("GET /models has no list of models (status -2147483648)")];

    if (answer->has_failed) {
        complain(asking, e, answer->failure.msg);
        return;
    }
    if (answer->status == 200)
        (void)upstream_models_read(buf_str(&answer->body), &asking->memory, &models);
    keep_models(asking, e, &models);
    if (models.n > 0)
        return;
    (void)snprintf(message, sizeof(message), "GET /models has no list of models (status %d)",
                   answer->status);
    complain(asking, e, message);
}

static void ask_upstream(struct asking *asking, const struct upstream_entry *e)
{
    const struct http_client_conf conf = {.max_idle_connections = 1,
                                          .ca_file = e->config->ca_file,
                                          .proxy = e->config->proxy,
                                          .client_cert = e->client_cert,
                                          .client_key = e->client_key,
                                          .verify_tls = e->config->tls_verify};
    struct buf url = {.limit = 0};
    struct question q = {.method = "GET",
                         .authorization = e->authorization,
                         .body = STR_NONE,
                         .timeout_ms = TIMEOUT_MS};
    struct asked answer;
    struct err err;
    struct asker *a = asker_open(&conf, &err);

    if (a == NULL) {
        complain(asking, e, err.msg);
        return;
    }
    buf_append(&url, e->base);
    buf_c(&url, "/models");
    q.url = buf_cstr(&url);
    ask_once(a, &q, &answer);
    read_answer(asking, e, &answer);
    asked_fini(&answer);
    buf_fini(&url);
    if (asker_is_resolving(a))
        asking->is_resolving = true;
    else
        asker_close(a);
}

/* True when what it lists decides what it serves. */
static bool is_worth_asking(const struct upstream_entry *e)
{
    bool is = e->serves_listed;

    for (size_t i = 0; i < e->n_models; i++)
        is |= e->models[i].is_glob;
    return is;
}

/* ---- all of them */

/* A name that ends lines would be two. */
static void write_name(str name, struct buf *out)
{
    if (name.len == 0 || !str_is_one_line(name))
        return;
    buf_append(out, name);
    buf_char(out, '\n');
}

static int print_names(struct asking *asking)
{
    struct buf text = {.limit = 0};
    const str *names = NULL;
    size_t n = 0;

    if (upstream_table_names(asking->table, asking->listed, &asking->memory, &names, &n) == -1)
        return EXIT_FAILURE;
    for (size_t i = 0; i < n; i++)
        write_name(names[i], &text);
    return command_print(&text, n == 0 ? EXIT_FAILURE : EXIT_SUCCESS);
}

static int ask_all(struct asking *asking)
{
    static const str demo[] = {STR_INIT("demo")};
    const struct upstream_table *t = asking->table;

    asking->listed = arena_array(&asking->memory, t->n, sizeof(*asking->listed));
    if (asking->listed == NULL)
        return EXIT_FAILURE;
    for (size_t i = 0; i < t->n; i++) {
        if (str_is_none(t->entries[i].base))
            asking->listed[i] = (struct upstream_listing){LIST_OF(demo)};
        else if (is_worth_asking(&t->entries[i]))
            ask_upstream(asking, &t->entries[i]);
    }
    return print_names(asking);
}

static int list_models(const struct config *c)
{
    const struct upstream_table_source source = {.config = c, .env = (const char *const *)environ};
    struct config_problems problems = {.n_kept = 0};
    struct asking asking = {.table = upstream_table_load(&source, &problems)};
    int status = 2;

    if (asking.table == NULL)
        command_print_problems(&problems);
    else
        status = ask_all(&asking);
    upstream_table_unref(asking.table);
    arena_fini(&asking.memory);
    config_problems_fini(&problems);
    if (asking.is_resolving)
        _exit(status);
    return status;
}

int models_command(int n_args, const char *const *args)
{
    return command_run("models", n_args, args, list_models);
}
