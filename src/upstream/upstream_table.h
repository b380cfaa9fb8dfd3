/* upstream_table.h -- the upstreams of a configuration: who there is, and what each serves (OPERATIONS 4.1).
 *
 * A table comes from the file that upstreams_file names, or, without one, from the keys of the single
 * upstream, which is then its one row: code above knows tables only. A table never changes and is shared
 * between threads; whoever uses a row holds a reference to its table. A configuration that is read again
 * makes a new table. Whether an upstream is there, and how busy it is, is not known here.
 *
 *     upstream_file.c          the file: defaults, upstreams, default, policies
 *     upstream_table.c         the single upstream, and the life of tables
 *     upstream_table_keys.c    keys in files of their own, which may change
 *     upstream_route.c         from a name to candidates
 *     upstream_names.c         the names that there are */
#ifndef ANTIPHON_UPSTREAM_UPSTREAM_TABLE_H
#define ANTIPHON_UPSTREAM_UPSTREAM_TABLE_H

#include "affinity/routing.h"
#include "base/err.h"
#include "config/config.h"

enum {
    UPSTREAM_TABLE_MAX = 256,
    UPSTREAM_NAME_MAX = 32,
    UPSTREAM_MODELS_MAX = 1000, /* names of one upstream */
    UPSTREAM_WEIGHT_MAX = 1000,
    UPSTREAM_TIER_MAX = 9,
};

enum upstream_health { UPSTREAM_HEALTH_AUTO, UPSTREAM_HEALTH_OFF, UPSTREAM_HEALTH_PATH };

/* A name under which an upstream serves a model, or a glob of such names. */
struct upstream_model_rule {
    str name;        /* as clients say it */
    str model;       /* as the upstream knows it; STR_NONE: by the same name */
    bool is_glob;    /* * in the name stands for anything */
    size_t literals; /* bytes of the name but stars: how much it says */
    unsigned tier;   /* its own, else that of the upstream */
    unsigned weight; /* the same */
};

/* One upstream. Texts point into the table and have a NUL behind. */
struct upstream_entry {
    str name; /* for logs, metrics and administrators */
    const struct config
        *config;       /* as for a gateway with this upstream alone, of its `upstream` and all keys
                                  * that the file may override; without upstream_key */
    str base;          /* config_upstream_base(); STR_NONE: the demo model */
    str authorization; /* the value of that header, a secret; STR_NONE: no key is configured */
    const char *key_file; /* where the key stands, or NULL: upstream_table_renew_keys() */
    bool pass_client_key; /* the client's own key may be sent when none is configured */

    const struct upstream_model_rule *models; /* in the order of the file */
    size_t n_models;
    bool serves_listed; /* and what its /v1/models lists */

    unsigned weight;          /* 1..UPSTREAM_WEIGHT_MAX */
    unsigned tier;            /* 0..UPSTREAM_TIER_MAX, lower ones first */
    unsigned max_concurrency; /* 0: no limit that is known here */
    bool wants_slots;         /* the limit is total_slots of the server's /props */

    enum upstream_health health;
    bool health_is_given; /* checks are wanted also of a single upstream */
    str health_path;      /* of UPSTREAM_HEALTH_PATH; begins with a slash */

    unsigned retry_attempts; /* of a round that begins here, the first included */
    unsigned retry_on;       /* set of 1 << enum config_retry */

    bool is_traced;                       /* gets the context of traces */
    str provider;                         /* gen_ai.provider.name, where its kind does not say it */
    const char *client_cert, *client_key; /* paths; NULL: none */

    struct upstream_live *live; /* how it does; of the pool that the table was given to */
};

/* How the candidates of a model share its requests, and how many may wait for them. */
struct upstream_policy {
    str name; /* a name or glob of models; STR_NONE: of all others */
    bool is_glob;
    size_t literals; /* as of a rule */
    enum routing_policy kind;
    unsigned queue_limit, queue_owner;
    uint64_t queue_timeout_ms;
};

struct upstream_table {
    const struct upstream_entry *entries; /* in the order of the file; at least one */
    size_t n;
    bool is_from_file;
    const struct config *config; /* what the table was made with, a copy: also its model_alias */

    const size_t *defaults; /* entries for names that nobody else has, in the order of the file */
    size_t n_defaults;

    const struct upstream_policy *policies; /* of the file */
    size_t n_policies;
    struct upstream_policy other_policy; /* of models without one */
};

/* What a table is made from; nothing of it is kept. */
struct upstream_table_source {
    const struct config *config;
    const char *const *env; /* for key_env and credential:NAME: "NAME=value", ends with NULL */
    str demo_base;          /* where the demo model listens; STR_NONE: not known */
    str file_text; /* stands in the place of the file that upstreams_file names; STR_NONE: it is read */
};

/* The table of a configuration, with one reference: of the file that upstreams_file names, else of the one
 * upstream `default` or `demo`, which serves every name. NULL when there is none, with all that is wrong
 * among the problems: file, line, upstream, member and what would be right, never a key. Blocks. */
struct upstream_table *upstream_table_load(const struct upstream_table_source *source,
                                           struct config_problems *problems);

/* Any thread. NULL is fine. The last reference wipes the keys. */
struct upstream_table *upstream_table_ref(struct upstream_table *t);
void upstream_table_unref(struct upstream_table *t);

/* Before others have the table. */
void upstream_table_set_live(struct upstream_table *t, size_t entry, struct upstream_live *live);

/* Is it the demo model? */
static inline bool upstream_table_is_demo(const struct upstream_table *t)
{
    return !t->is_from_file && t->entries[0].config->upstream == NULL;
}

/* gen_ai.provider.name of an upstream that is a server of OpenAI, or is not. */
static inline str upstream_table_provider(const struct upstream_entry *u, bool is_openai)
{
    return is_openai ? STR("openai") : u->provider;
}

/* True for what can be the name of an upstream: 1 to UPSTREAM_NAME_MAX of a-z, 0-9, - and _. */
bool upstream_table_is_name(str name);

/* The entry of that name, or NULL. */
const struct upstream_entry *upstream_table_find(const struct upstream_table *t, str name);

/* Looks whether a file with a key has changed. Returns the same table with the keys as they are now, with
 * one reference; NULL when none has changed, or a file cannot be read, which is a warning among the problems:
 * then the old key stays. Entries keep their places. Blocks. */
struct upstream_table *upstream_table_renew_keys(struct upstream_table *t,
                                                 struct config_problems *problems);

/* ---- from a name to candidates (OPERATIONS 4.2; upstream_route.c) */

/* Answers whether the model list of an entry has a name. Asked of entries that serve_listed, once for each. */
struct upstream_lists {
    bool (*has)(void *arg, size_t entry, str name);
    void *arg;
};

struct upstream_candidate {
    size_t entry; /* its index in the table */
    str model;    /* the name to send: a view of the table, or of the requested name */
    unsigned tier, weight;
};

/* Why these are the candidates. */
enum upstream_match {
    UPSTREAM_MATCH_NAME,
    UPSTREAM_MATCH_GLOB,
    UPSTREAM_MATCH_LISTED,
    UPSTREAM_MATCH_DEFAULT,
};

/* What a name comes to. All names of one group have the same policy; those of a group that is an exact name
 * have the same candidates as well. */
struct upstream_route {
    str name; /* the requested one behind its alias: a view of the table, or of that */
    enum upstream_match match;
    const struct upstream_candidate
        *candidates; /* in the order of the file; of `default` in its own */
    size_t n;        /* at least 1 */
    str group;       /* for labels and queues, a view of the table: a name or glob of the
                                           * file, or "default" */
    const struct upstream_policy *policy; /* the table's */
};

/* Who may serve a name that a client asks for, plain. lists may be NULL: then nothing is listed. Candidates are
 * in the arena. Returns 0, or -1 with *reterr filled: ERR_MODEL_NOT_FOUND with the param `model`, or no memory.
 * Pure; any thread. Costs the time to compare the name with all names of the table. */
int upstream_table_route(const struct upstream_table *t, str requested,
                         const struct upstream_lists *lists, struct arena *a,
                         struct upstream_route *ret, struct err *reterr);

/* ---- the names that clients can ask for (upstream_names.c) */

/* What the model list of an entry says, plain; zeroed: nothing is known. */
struct upstream_listing {
    const str *names;
    size_t n;
};

/* Gathers them, each once: in the order of the file the exact names, the listed names that a glob or "auto"
 * lets through, in the order of the list; then aliases. listed: one for each entry, or NULL. *ret is in the
 * arena, its names are views of the table and of the lists. Returns 0, or -1 when out of memory. Pure. */
int upstream_table_names(const struct upstream_table *t, const struct upstream_listing *listed,
                         struct arena *a, const str **ret, size_t *ret_n);

#endif
