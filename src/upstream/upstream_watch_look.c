/* upstream_watch_look.c -- what the configuration says of the upstream, and one look at it. */
#include "ev/loop.h"
#include "http/http_client.h"
#include "upstream/upstream_watch_internal.h"

/* ---- what is known before */

struct upstream_finding upstream_watch_told(const struct config *config, str base)
{
    struct upstream_finding told = {.by = NULL};

    if (upstream_kind_find(str_from_c(config->upstream_kind), &told.kind)) {
        told.certainty = UPSTREAM_SURE;
        told.by = UPSTREAM_BY_CONFIGURATION;
    } else {
        upstream_sign_url(base, &told);
    }
    return told;
}

struct upstream_probe_conf upstream_watch_probe_conf(const struct config *config, str base,
                                                     str authorization)
{
    return (struct upstream_probe_conf){.base = base,
                                        .authorization = authorization,
                                        .model = STR_NONE,
                                        .timeout_ms = config->upstream_probe_timeout_ms,
                                        .known = upstream_watch_told(config, base)};
}

bool upstream_watch_is_worth_asking(const struct upstream_probe_conf *conf)
{
    enum upstream_path path;

    return conf->timeout_ms > 0 && upstream_sign_next(&conf->known, 0, &path);
}

struct http_client *upstream_watch_open_client(struct loop *loop,
                                               const struct upstream_watch_conf *conf)
{
    const struct config *c = conf->config;
    const struct http_client_conf client = {.max_idle_connections = 1,
                                            .ca_file = c->ca_file,
                                            .proxy = c->proxy,
                                            .client_cert = conf->client_cert,
                                            .client_key = conf->client_key,
                                            .verify_tls = c->tls_verify};

    return http_client_new(loop, &client);
}

/* ---- one look */

struct look {
    struct loop *loop;
    struct upstream_facts *facts;
};

static void on_looked(void *arg, struct upstream_facts *facts, bool was_silent)
{
    struct look *look = arg;

    (void)was_silent;
    look->facts = facts;
    loop_stop(look->loop);
}

struct upstream_facts *upstream_watch_look(const struct upstream_watch_conf *of)
{
    const struct upstream_probe_conf conf =
        upstream_watch_probe_conf(of->config, of->base, of->authorization);
    struct look look = {.facts = NULL};
    struct http_client *client = NULL;
    struct err e;

    if (!upstream_watch_is_worth_asking(&conf))
        return NULL;
    look.loop = loop_new(&e);
    if (look.loop != NULL)
        client = upstream_watch_open_client(look.loop, of);
    if (client != NULL && upstream_probe_start(client, &conf, on_looked, &look, &e) != NULL)
        loop_run(look.loop);
    http_client_free(client);
    loop_free(look.loop);
    return look.facts;
}
