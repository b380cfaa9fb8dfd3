/* models_command.c -- the upstream's list of models, as names. */
#include "cli/models_command.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/ask_once.h"
#include "cli/command_line.h"
#include "wire/dialect/upstream_models.h"

enum { TIMEOUT_MS = 10000 };

/* A name that ends lines would be two. */
static void write_name(str name, struct buf *out)
{
    if (name.len == 0 || !str_is_one_line(name))
        return;
    buf_append(out, name);
    buf_char(out, '\n');
}

/* NAME of NAME=MODEL where the upstream has MODEL; * stands for no name. */
static void write_aliases(const struct config *c, const struct upstream_models *models,
                          struct buf *out)
{
    for (size_t i = 0; i < c->model_alias.n; i++) {
        str model = str_from_c(c->model_alias.items[i]);
        const str name = str_cut(&model, '=');

        if (!str_eq(name, STR("*")) && upstream_models_find(models, model) != NULL &&
            upstream_models_find(models, name) == NULL)
            write_name(name, out);
    }
}

static int print_models(const struct config *c, struct asked *answer)
{
    struct buf text = {.limit = 0};
    struct upstream_models models = {NULL, 0};
    struct arena a = {0};

    if (answer->has_failed) {
        (void)fprintf(stderr, "antiphon: upstream: %s\n", answer->failure.msg);
        return EXIT_FAILURE;
    }
    if (answer->status == 200)
        (void)upstream_models_read(buf_str(&answer->body), &a, &models);
    for (size_t i = 0; i < models.n; i++)
        write_name(models.v[i].id, &text);
    write_aliases(c, &models, &text);
    arena_fini(&a);
    if (models.n > 0)
        return command_print(&text, EXIT_SUCCESS);
    buf_fini(&text);
    (void)fprintf(stderr, "antiphon: upstream: GET /models has no list of models (status %d)\n",
                  answer->status);
    return EXIT_FAILURE;
}

static int ask_upstream(const struct config *c)
{
    const struct http_client_conf conf = {.max_idle_connections = 1,
                                          .ca_file = c->ca_file,
                                          .proxy = c->proxy,
                                          .verify_tls = c->tls_verify};
    struct buf url = {.limit = 0};
    struct arena memory = {0};
    struct question q = {.method = "GET", .body = STR_NONE, .timeout_ms = TIMEOUT_MS};
    struct asked answer;
    struct err e;
    struct asker *a = asker_open(&conf, &e);
    int status;

    if (a == NULL) {
        (void)fprintf(stderr, "antiphon: %s\n", e.msg);
        return EXIT_FAILURE;
    }
    buf_append(&url, config_upstream_base(&memory, str_from_c(c->upstream)));
    buf_c(&url, "/models");
    q.url = buf_cstr(&url);
    q.authorization = config_upstream_authorization(&memory, c);
    ask_once(a, &q, &answer);
    status = print_models(c, &answer);
    asked_fini(&answer);
    buf_fini(&url);
    arena_fini(&memory);
    if (asker_is_resolving(a))
        _exit(status);
    asker_close(a);
    return status;
}

static int print_demo(void)
{
    struct buf text = {.limit = 0};

    buf_c(&text, "demo\n");
    return command_print(&text, EXIT_SUCCESS);
}

static int list_models(const struct config *c)
{
    return c->upstream == NULL ? print_demo() : ask_upstream(c);
}

int models_command(int n_args, const char *const *args)
{
    return command_run("models", n_args, args, list_models);
}
