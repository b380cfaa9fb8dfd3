/* tls_listener.c -- from keys of the configuration to tls_conf, and a look every minute. */
#include "daemon/tls_listener.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "config/file_mode.h"

struct tls_listener {
    struct tls_conf conf;
    struct tls_files *files;
    struct loop_timer *timer; /* of the next look */
};

static enum tls_auth auth_of(enum config_tls_client_auth auth)
{
    switch (auth) {
    case CONFIG_TLS_CLIENT_AUTH_OPTIONAL:
        return TLS_AUTH_OPTIONAL;
    case CONFIG_TLS_CLIENT_AUTH_REQUIRE:
        return TLS_AUTH_REQUIRE;
    case CONFIG_TLS_CLIENT_AUTH_OFF:
        break;
    }
    return TLS_AUTH_OFF;
}

static enum tls_owner owner_of(enum config_tls_owner owner)
{
    switch (owner) {
    case CONFIG_TLS_OWNER_CN:
        return TLS_OWNER_CN;
    case CONFIG_TLS_OWNER_SAN:
        return TLS_OWNER_SAN;
    case CONFIG_TLS_OWNER_FINGERPRINT:
        return TLS_OWNER_FINGERPRINT;
    case CONFIG_TLS_OWNER_NONE:
        break;
    }
    return TLS_OWNER_NONE;
}

static struct tls_conf conf_of(const struct config *c)
{
    return (struct tls_conf){
        .certs = (const char *const *)c->tls_cert.items,
        .keys = (const char *const *)c->tls_key.items,
        .n_pairs = c->tls_cert.n,
        .only_1_3 = strcmp(c->tls_min_version, "1.3") == 0,
        .client_ca = c->tls_client_ca,
        .auth = auth_of(c->tls_client_auth),
        .owner = owner_of(c->tls_owner),
    };
}

static int64_t now_s(void)
{
    return (int64_t)time(NULL);
}

bool tls_listener_check(const struct config *c, struct config_problems *problems)
{
    const struct tls_conf conf = conf_of(c);
    struct tls_files *files;
    struct err e;

    if (conf.n_pairs == 0 || c->tls_key.n != conf.n_pairs ||
        (conf.auth != TLS_AUTH_OFF && conf.client_ca == NULL))
        return true; /* or said already */
    for (size_t i = 0; i < c->tls_key.n; i++)
        file_mode_check_readers(c->tls_key.items[i], problems);
    files = tls_files_open(&conf, now_s(), &e);
    if (files == NULL)
        config_error(problems, "%s", e.msg);
    tls_files_free(files);
    return files != NULL;
}

static void on_timer(void *arg)
{
    struct tls_listener *t = arg;

    tls_files_look(t->files, now_s());
    loop_timer_start(t->timer, (uint64_t)TLS_LOOK_S * 1000);
}

int tls_listener_open(struct loop *loop, const struct config *c, struct tls_listener **ret,
                      struct err *reterr)
{
    struct tls_listener *t;

    *ret = NULL;
    if (c->tls_cert.n == 0)
        return 0;
    t = calloc(1, sizeof(*t));
    if (t == NULL)
        return err_set_no_memory(reterr);
    t->conf = conf_of(c);
    t->files = tls_files_open(&t->conf, now_s(), reterr);
    t->timer = t->files == NULL ? NULL : loop_timer_new(loop, on_timer, t);
    if (t->timer == NULL) {
        if (t->files != NULL)
            (void)err_set_no_memory(reterr);
        tls_listener_free(t);
        return -1;
    }
    loop_timer_start(t->timer, (uint64_t)TLS_LOOK_S * 1000);
    *ret = t;
    return 0;
}

void tls_listener_free(struct tls_listener *t)
{
    if (t == NULL)
        return;
    loop_timer_free(t->timer);
    tls_files_free(t->files);
    free(t);
}

struct tls_files *tls_listener_files(const struct tls_listener *t)
{
    return t == NULL ? NULL : t->files;
}

/* A name that several certificates have, of different kinds of keys, is told once: the first that ends. */
static bool was_told(const struct tls_certificate *all, size_t i)
{
    for (size_t k = 0; k < i; k++) {
        if (strcmp(all[k].name, all[i].name) == 0)
            return true;
    }
    return false;
}

static int64_t first_end(const struct tls_certificate *all, size_t n, const char *name)
{
    int64_t until_s = INT64_MAX;

    for (size_t i = 0; i < n; i++) {
        if (strcmp(all[i].name, name) == 0 && all[i].until_s < until_s)
            until_s = all[i].until_s;
    }
    return until_s;
}

void tls_listener_tell(void *arg, struct metrics_page *page)
{
    const struct tls_listener *t = arg;
    size_t n = t->conf.n_pairs;
    struct tls_certificate *all = calloc(n, sizeof(*all));

    if (all == NULL)
        return;
    (void)tls_files_certificates(t->files, all, n);
    for (size_t i = 0; i < n; i++) {
        const struct metric_labels labels = {
            {metric_word(METRIC_DOMAIN_CERTIFICATE, str_from_c(all[i].name))}};

        if (!was_told(all, i))
            metrics_page_add(page, METRIC_CERTIFICATE_EXPIRY, &labels,
                             first_end(all, n, all[i].name) * 1000000);
    }
    free(all);
}

bool tls_listener_reload(struct tls_listener *t)
{
    return tls_files_reload(t->files, now_s());
}
