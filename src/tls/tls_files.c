/* tls_files.c -- when to read, what to take, and whom to warn. */
#include "tls/tls_files.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <uv.h>

#include "ev/log.h"
#include "tls/tls_owners.h"

enum { DAY_S = 24 * 3600 };

/* What tells a file from the one that stood there before. */
struct stamp {
    dev_t device;
    ino_t inode;
    off_t size;
    struct timespec changed, modified;
};

/* The days left at which a certificate is warned of; behind the last it has expired. */
static const int warning_days[] = {14, 7, 3, 1, 0};

struct tls_files {
    const struct tls_conf *conf;
    struct tls_tickets *tickets;
    uv_mutex_t lock; /* of the pointer to the context; nothing is taken while it is held */
    struct tls_context *context;
    struct tls_owners *owners;
    struct stamp *stamps; /* of all files, when they were read last */
    size_t *n_warned;     /* of each certificate in use: how many of the warnings are out */
    bool is_early;        /* what was read last is good, but not valid yet */
};

/* ---- files */

static size_t count_files(const struct tls_conf *conf)
{
    return 2 * conf->n_pairs + 1;
}

static const char *path_of(const struct tls_conf *conf, size_t i)
{
    if (i == 2 * conf->n_pairs)
        return conf->client_ca;
    return i % 2 == 0 ? conf->certs[i / 2] : conf->keys[i / 2];
}

/* A file that is not there has no stamp. */
static void stamp_file(const char *path, struct stamp *ret)
{
    struct stat st;

    memset(ret, 0, sizeof(*ret));
    if (path == NULL || stat(path, &st) == -1)
        return;
    ret->device = st.st_dev;
    ret->inode = st.st_ino;
    ret->size = st.st_size;
    ret->changed = st.st_ctim;
    ret->modified = st.st_mtim;
}

/* Notes the stamps of the files; returns whether they are others than before. */
static bool stamp_files(struct tls_files *t)
{
    bool are_others = false;

    for (size_t i = 0; i < count_files(t->conf); i++) {
        struct stamp now;

        stamp_file(path_of(t->conf, i), &now);
        are_others |= memcmp(&now, &t->stamps[i], sizeof(now)) != 0;
        t->stamps[i] = now;
    }
    return are_others;
}

/* ---- times */

/* Writes the day of a Unix time: "2027-03-31". */
static str write_day(int64_t unix_s, char out[32])
{
    time_t then = (time_t)unix_s;
    struct tm parts;

    if (gmtime_r(&then, &parts) == NULL)
        return STR("?");
    return str_from(out, strftime(out, 32, "%Y-%m-%d", &parts));
}

/* The first pair of the context that is not valid at this time, or NULL. */
static const struct tls_pair *find_invalid(const struct tls_context *c, int64_t now_s)
{
    for (size_t i = 0; i < tls_context_pairs(c); i++) {
        const struct tls_pair *p = tls_context_pair(c, i);

        if (now_s < p->from_s || now_s >= p->until_s)
            return p;
    }
    return NULL;
}

static void log_expiry(const struct tls_pair *p, int64_t now_s)
{
    bool is_over = now_s >= p->until_s;
    char day[32];

    log_line(is_over ? LOG_ERROR : LOG_WARN, "tls",
             (struct log_field[]){LOG_STR("certificate", str_from_c(p->name)),
                                  LOG_STR("state", is_over ? STR("expired") : STR("expires soon")),
                                  LOG_STR("until", write_day(p->until_s, day)),
                                  LOG_INT("days_left", is_over ? 0 : (p->until_s - now_s) / DAY_S),
                                  LOG_END});
}

/* Warns of each certificate when another of the days has come: once, however many have. */
static void warn_of_expiry(struct tls_files *t, int64_t now_s)
{
    for (size_t i = 0; i < tls_context_pairs(t->context); i++) {
        const struct tls_pair *p = tls_context_pair(t->context, i);
        size_t n = 0;

        while (n < COUNT_OF(warning_days) && p->until_s - now_s <= (int64_t)warning_days[n] * DAY_S)
            n++;
        if (n > t->n_warned[i])
            log_expiry(p, now_s);
        t->n_warned[i] = n;
    }
}

/* ---- reading */

static void use_context(struct tls_files *t, struct tls_context *taken)
{
    struct tls_context *before;

    uv_mutex_lock(&t->lock);
    before = t->context;
    t->context = taken;
    uv_mutex_unlock(&t->lock);
    tls_context_unref(before);
    memset(t->n_warned, 0, t->conf->n_pairs * sizeof(*t->n_warned));
}

static void log_kept(const char *why)
{
    log_line(LOG_ERROR, "reload",
             (struct log_field[]){LOG_STR("part", STR("tls")), LOG_STR("result", STR("error")),
                                  LOG_STR("error", str_from_c(why)), LOG_END});
}

static void log_early(const struct tls_pair *p)
{
    char day[32];

    log_line(LOG_WARN, "tls",
             (struct log_field[]){LOG_STR("certificate", str_from_c(p->name)),
                                  LOG_STR("state", STR("not valid yet")),
                                  LOG_STR("from", write_day(p->from_s, day)), LOG_END});
}

static void log_taken(const struct tls_context *c)
{
    char day[32];
    const struct tls_pair *p = tls_context_pair(c, 0);

    log_line(LOG_INFO, "reload",
             (struct log_field[]){LOG_STR("part", STR("tls")), LOG_STR("result", STR("ok")),
                                  LOG_INT("certificates", tls_context_pairs(c)),
                                  LOG_STR("certificate", str_from_c(p->name)),
                                  LOG_STR("until", write_day(p->until_s, day)), LOG_END});
}

/* The context in use stays: that of the files cannot take its place at this time. */
static void keep_context(struct tls_files *t, const struct tls_pair *invalid, int64_t now_s,
                         bool is_known)
{
    char day[32], why[TLS_NAME_BYTES + 100];

    t->is_early = now_s < invalid->from_s;
    if (t->is_early) {
        if (!is_known)
            log_early(invalid);
        return;
    }
    (void)snprintf(why, sizeof(why), "the certificate of %s has expired on %.*s: renew it",
                   invalid->name, STR_ARG(write_day(invalid->until_s, day)));
    log_kept(why);
}

/* is_known: that the files are not valid yet has been said before. */
static bool read_again(struct tls_files *t, int64_t now_s, bool is_known)
{
    struct tls_context *c;
    const struct tls_pair *invalid;
    struct err e;

    t->is_early = false;
    c = tls_context_new(t->conf, t->tickets, &e);
    if (c == NULL) {
        log_kept(e.msg);
        return false;
    }
    invalid = find_invalid(c, now_s);
    if (invalid != NULL) {
        keep_context(t, invalid, now_s, is_known);
        tls_context_unref(c);
        return false;
    }
    use_context(t, c);
    log_taken(c);
    warn_of_expiry(t, now_s);
    return true;
}

bool tls_files_reload(struct tls_files *t, int64_t now_s)
{
    (void)stamp_files(t);
    return read_again(t, now_s, false);
}

void tls_files_look(struct tls_files *t, int64_t now_s)
{
    bool was_early = t->is_early;

    if (stamp_files(t))
        (void)read_again(t, now_s, false);
    else if (was_early)
        (void)read_again(t, now_s, true);
    warn_of_expiry(t, now_s);
}

/* ---- begin and end */

static int read_first(struct tls_files *t, int64_t now_s, struct err *reterr)
{
    struct tls_context *c;
    const struct tls_pair *invalid;
    char day[32];

    (void)stamp_files(t);
    c = tls_context_new(t->conf, t->tickets, reterr);
    if (c == NULL)
        return -1;
    invalid = find_invalid(c, now_s);
    if (invalid != NULL && now_s >= invalid->until_s) {
        err_set(reterr, ERR_INTERNAL,
                "tls_cert: the certificate of %s has expired on %.*s: renew it", invalid->name,
                STR_ARG(write_day(invalid->until_s, day)));
        tls_context_unref(c);
        return -1;
    }
    if (invalid != NULL)
        log_early(invalid);
    t->context = c;
    warn_of_expiry(t, now_s);
    return 0;
}

struct tls_files *tls_files_open(const struct tls_conf *conf, int64_t now_s, struct err *reterr)
{
    struct tls_files *t = calloc(1, sizeof(*t));

    if (t == NULL || uv_mutex_init(&t->lock) != 0) {
        free(t);
        err_set_no_memory(reterr);
        return NULL;
    }
    t->conf = conf;
    t->stamps = calloc(count_files(conf), sizeof(*t->stamps));
    t->n_warned = calloc(conf->n_pairs, sizeof(*t->n_warned));
    t->owners = tls_owners_new();
    t->tickets = tls_tickets_new(reterr);
    if (t->stamps == NULL || t->n_warned == NULL || t->owners == NULL)
        err_set_no_memory(reterr);
    else if (t->tickets != NULL && read_first(t, now_s, reterr) == 0)
        return t;
    tls_files_free(t);
    return NULL;
}

void tls_files_free(struct tls_files *t)
{
    if (t == NULL)
        return;
    tls_owners_free(t->owners);
    tls_context_unref(t->context);
    tls_tickets_free(t->tickets);
    uv_mutex_destroy(&t->lock);
    free(t->stamps);
    free(t->n_warned);
    free(t);
}

struct tls_context *tls_files_context(struct tls_files *t)
{
    struct tls_context *c;

    uv_mutex_lock(&t->lock);
    c = tls_context_ref(t->context);
    uv_mutex_unlock(&t->lock);
    return c;
}

str tls_files_keep_owner(struct tls_files *t, str owner)
{
    return tls_owners_keep(t->owners, owner);
}

size_t tls_files_certificates(struct tls_files *t, struct tls_certificate *out, size_t n)
{
    struct tls_context *c = tls_files_context(t);
    size_t n_pairs = tls_context_pairs(c);

    for (size_t i = 0; i < n && i < n_pairs; i++) {
        const struct tls_pair *p = tls_context_pair(c, i);

        memcpy(out[i].name, p->name, sizeof(p->name));
        out[i].until_s = p->until_s;
    }
    tls_context_unref(c);
    return n_pairs;
}
