/* store_command.c -- `antiphon store stats`, `purge`, `export`, `vacuum`, `backup` and `upgrade`.
 *
 * None but `upgrade` changes tables of an older version: somebody who only looks at a store must not
 * take it away from the gateway that uses it. */
#include "cli/store_command.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/num.h"
#include "cli/command_line.h"
#include "cli/store_dump.h"
#include "cli/store_report.h"
#include "cli/store_upgrade.h"
#include "config/config.h"
#include "daemon/seal_secret.h"
#include "daemon/state_conf.h"

enum { EXIT_USAGE = 2, EXIT_TOO_NEW = 3 };

/* What the command line asks for. */
struct job {
    const struct action *action;
    bool as_json, trusts_clock, only_checks;
    const char *path;      /* of the copy, or NULL */
    uint64_t older_than_s; /* 0: as configured */
    struct store_conf conf;
};

/* ---- printing */

static int print_text(struct buf *text, struct err *reterr)
{
    if (fputs(buf_cstr(text), stdout) != EOF && fflush(stdout) != EOF && !buf_failed(text))
        return 0;
    err_set(reterr, ERR_INTERNAL, "cannot write to standard output");
    return -1;
}

static int run_stats(const struct job *job, struct store_session *s, struct err *reterr)
{
    struct store_stats stats;
    struct buf text = {0};
    int rc;

    if (store_stats(s, &stats, reterr) == -1)
        return -1;
    if (job->as_json)
        store_report_json(&stats, &text);
    else
        store_report_table(&stats, &text);
    rc = print_text(&text, reterr);
    buf_fini(&text);
    return rc;
}

/* ---- purge */

/* Histories are removed in small pieces, so that gateways do not wait long for the database. */
enum { PURGE_AT_ONCE = 100 };

static int purge_all(const struct job *job, struct store_session *s, uint64_t *ret_n,
                     struct err *reterr)
{
    struct store_limits limits = job->conf.limits;
    struct store_purged purged;

    if (job->older_than_s != 0)
        limits.max_age_s = job->older_than_s;
    *ret_n = 0;
    do {
        if (store_purge(s, &limits, store_now_ms(s), PURGE_AT_ONCE, &purged, reterr) == -1)
            return -1;
        *ret_n += store_purged_histories(&purged);
    } while (purged.has_more);
    return 0;
}

/* Lets the time count in which the machine was off. */
static int trust_clock(const struct job *job, struct store_session *s, struct buf *out,
                       struct err *reterr)
{
    int64_t by_s = 0;

    if (!job->trusts_clock)
        return 0;
    if (store_trust_clock(s, &by_s, reterr) == -1)
        return -1;
    buf_c(out, "the store's time went on by ");
    buf_int(out, by_s);
    buf_c(out, by_s == 1 ? " second\n" : " seconds\n");
    return 0;
}

static int run_purge(const struct job *job, struct store_session *s, struct err *reterr)
{
    struct store_stats left;
    struct buf text = {0};
    uint64_t n;
    int rc;

    if (trust_clock(job, s, &text, reterr) == -1 || purge_all(job, s, &n, reterr) == -1 ||
        store_stats(s, &left, reterr) == -1) {
        buf_fini(&text);
        return -1;
    }
    buf_c(&text, "removed ");
    buf_uint(&text, n);
    buf_c(&text, n == 1 ? " history; " : " histories; ");
    buf_uint(&text, left.n_histories);
    buf_c(&text, left.n_histories == 1 ? " is left, with " : " are left, with ");
    buf_uint(&text, left.n_responses);
    buf_c(&text, left.n_responses == 1 ? " response and " : " responses and ");
    store_report_size(left.bytes, &text);
    buf_char(&text, '\n');
    rc = print_text(&text, reterr);
    buf_fini(&text);
    return rc;
}

/* ---- export, vacuum */

static int run_export(const struct job *job, struct store_session *s, struct err *reterr)
{
    (void)job;
    return store_dump(s, stdout, reterr);
}

/* VACUUM rewrites the database, which takes longer than any other statement. */
static const uint64_t VACUUM_MS = 24ULL * 3600 * 1000;

static int vacuum_store(const struct job *job, struct err *reterr)
{
    struct store_conf conf = job->conf;
    struct store_session *s;
    int rc;

    conf.timeout_ms = VACUUM_MS;
    s = store_session_open(&conf, reterr);
    if (s == NULL)
        return -1;
    rc = store_vacuum(s, reterr);
    store_session_close(s);
    return rc;
}

static int run_vacuum(const struct job *job, struct store_session *s, struct err *reterr)
{
    struct store_stats before, after;
    struct buf text = {0};
    int rc;

    if (store_stats(s, &before, reterr) == -1 || vacuum_store(job, reterr) == -1 ||
        store_stats(s, &after, reterr) == -1)
        return -1;
    buf_c(&text, "the database took ");
    store_report_size(before.file_bytes, &text);
    buf_c(&text, " and now takes ");
    store_report_size(after.file_bytes, &text);
    buf_char(&text, '\n');
    rc = print_text(&text, reterr);
    buf_fini(&text);
    return rc;
}

/* ---- backup, upgrade */

/* What a gateway has sealed for clients opens with the secret beside its database alone. */
static void write_secret_note(const char *store_url, struct buf *out)
{
    char path[PATH_MAX];

    if (!seal_secret_path(store_url, path, sizeof(path)) || access(path, F_OK) == -1)
        return;
    buf_c(out, path);
    buf_c(out, " is not in it: copy that file as well, to the name of the copy and -key\n");
}

static int run_backup(const struct job *job, struct store_session *s, struct err *reterr)
{
    struct store_schema schema;
    struct buf text = {0};
    int rc;

    if (store_schema(s, &schema, reterr) == -1 || store_copy(s, job->path, reterr) == -1)
        return -1;
    buf_c(&text, "copied to ");
    buf_c(&text, job->path);
    buf_c(&text, "; the tables have version ");
    buf_int(&text, schema.version);
    buf_char(&text, '\n');
    write_secret_note(job->conf.url, &text);
    rc = print_text(&text, reterr);
    buf_fini(&text);
    return rc;
}

static int run_upgrade(const struct job *job, struct store_session *s, struct err *reterr)
{
    struct store_schema schema;
    struct buf text = {0};
    int rc;

    if (store_schema(s, &schema, reterr) == -1)
        return -1;
    if (!job->only_checks && !schema.is_usable && store_upgrade(&job->conf, reterr) == -1)
        return -1;
    store_upgrade_report(&job->conf, &schema, job->only_checks, &text);
    rc = print_text(&text, reterr);
    buf_fini(&text);
    return rc;
}

/* ---- the command line */

static const struct action {
    const char *name;
    int (*run)(const struct job *job, struct store_session *s, struct err *reterr);
    enum store_tables tables;
} actions[] = {
    {"stats", run_stats, STORE_AS_IT_IS},   {"purge", run_purge, STORE_AS_IT_IS},
    {"export", run_export, STORE_AS_IT_IS}, {"vacuum", run_vacuum, STORE_AS_IT_IS},
    {"backup", run_backup, STORE_UNREAD},   {"upgrade", run_upgrade, STORE_UNREAD},
};

static const struct action *find_action(const char *word)
{
    for (size_t i = 0; i < COUNT_OF(actions); i++) {
        if (strcmp(word, actions[i].name) == 0)
            return &actions[i];
    }
    return NULL;
}

static void set_older_than(struct job *job, str value, struct config_problems *problems)
{
    uint64_t ms;

    if (num_duration_ms(value, &ms) && ms >= 1000)
        job->older_than_s = ms / 1000;
    else
        config_error(problems,
                     "--older-than: %s is not valid; give a duration such as 36h, at least 1s",
                     config_quote(value).text);
}

/* Takes a flag of the action's own, which is no key of the configuration, with its
 * value. Returns the number of words used. */
static int take_own_flag(struct job *job, int n_words, const char *const *words,
                         struct config_problems *problems)
{
    const str older_than = STR("--older-than"), word = str_from_c(words[0]);

    if (str_eq(word, STR("--check-config"))) {
        config_error(problems, "--check-config goes with antiphon serve");
        return 1;
    }
    if (job->action->run == run_stats && str_eq(word, STR("--json"))) {
        job->as_json = true;
        return 1;
    }
    if (job->action->run == run_upgrade && str_eq(word, STR("--check"))) {
        job->only_checks = true;
        return 1;
    }
    if (job->action->run == run_purge && str_eq(word, STR("--trust-clock"))) {
        job->trusts_clock = true;
        return 1;
    }
    if (job->action->run != run_purge || !str_starts_with(word, older_than))
        return 0;
    if (str_starts_with(str_skip(word, older_than.len), STR("="))) {
        set_older_than(job, str_skip(word, older_than.len + 1), problems);
        return 1;
    }
    if (word.len > older_than.len)
        return 0;
    set_older_than(job, n_words > 1 ? str_from_c(words[1]) : STR(""), problems);
    return n_words > 1 ? 2 : 1;
}

/* The other words are those of the configuration. */
static int load_job(struct job *job, int n_args, const char *const *args, struct config *config,
                    struct config_problems *problems)
{
    const char **rest = arena_array(&problems->memory, (size_t)n_args + 1, sizeof(*rest));
    struct config_sources sources = {.args = rest, .env = (const char *const *)environ};
    int used;

    if (rest == NULL) {
        config_error(problems, "out of memory");
        return -1;
    }
    for (int i = 0; i < n_args; i += used) {
        used = take_own_flag(job, n_args - i, args + i, problems);
        if (used == 0) {
            rest[sources.n_args++] = args[i];
            used = 1;
        }
    }
    (void)config_load(config, &sources, problems);
    return problems->n_errors == 0 ? 0 : -1;
}

/* A store that is made by looking for it would hide a wrong path. */
static int check_place(const struct job *job, struct err *reterr)
{
    const str sqlite = STR("sqlite:"), url = str_from_c(job->conf.url);

    if (str_is_none(url))
        return err_set_no_memory(reterr);
    if (str_eq(url, STR("memory"))) {
        err_set(reterr, ERR_INVALID_VALUE,
                "a store in memory is inside its gateway, out of reach; name the one meant with "
                "--store");
        return -1;
    }
    if (str_starts_with(url, sqlite) && access(str_skip(url, sqlite.len).p, F_OK) == -1) {
        err_set(reterr, ERR_NOT_FOUND,
                "there is no database %s; name the one meant with --store or --config",
                str_skip(url, sqlite.len).p);
        return -1;
    }
    return 0;
}

static int run_job(const struct job *job, struct err *reterr)
{
    struct store_session *s;
    int rc;

    if (check_place(job, reterr) == -1)
        return -1;
    s = store_session_open(&job->conf, reterr);
    if (s == NULL && job->action->run == run_purge) {
        store_make_room(&job->conf);
        s = store_session_open(&job->conf, reterr);
    }
    if (s == NULL)
        return -1;
    rc = job->action->run(job, s, reterr);
    store_session_close(s);
    return rc;
}

static int run_with_configuration(struct job *job, int n_args, const char *const *args)
{
    struct config_problems problems = {.n_kept = 0};
    struct config config = {.memory = {.limit = 0}};
    struct err e;
    int status = EXIT_USAGE;

    if (load_job(job, n_args, args, &config, &problems) == -1) {
        command_print_problems(&problems);
    } else {
        command_set_up_log(&config);
        job->conf = state_conf(&config, &config.memory);
        job->conf.tables = job->action->tables;
        status = EXIT_SUCCESS;
        if (run_job(job, &e) == -1) {
            (void)fprintf(stderr, "antiphon: %s\n", e.msg);
            status = store_is_too_new(&e) ? EXIT_TOO_NEW : EXIT_FAILURE;
        }
    }
    config_fini(&config);
    config_problems_fini(&problems);
    return status;
}

static int print_help(void)
{
    return command_print_help(
        "store",
        "\n"
        "The other flags, the variables and the file are those of antiphon serve: the\n"
        "store is found, and its limits are known, by the same configuration. Gateways may\n"
        "go on using it meanwhile.\n");
}

int store_command(int n_args, const char *const *args)
{
    struct job job = {.action = n_args > 0 ? find_action(args[0]) : NULL};

    if (command_asks_for_help(n_args, args))
        return print_help();
    if (job.action == NULL) {
        (void)fputs(
            "antiphon: which one: store stats, purge, export, vacuum, backup or upgrade? See "
            "antiphon store --help\n",
            stderr);
        return EXIT_USAGE;
    }
    if (job.action->run != run_backup)
        return run_with_configuration(&job, n_args - 1, args + 1);
    if (n_args < 2 || args[1][0] == '-') {
        (void)fputs("antiphon: where to? antiphon store backup PATH makes a new file\n", stderr);
        return EXIT_USAGE;
    }
    job.path = args[1];
    return run_with_configuration(&job, n_args - 2, args + 2);
}
