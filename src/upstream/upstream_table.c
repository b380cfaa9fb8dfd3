/* upstream_table.c -- the life of tables, and the one that today's keys come to.
 *
 * All of a table is in its arena, but for the configurations of the entries, which have theirs. Keys are
 * wiped before the memory goes. */
#include "upstream/upstream_table.h"

#include <stdlib.h>
#include <sys/stat.h>

#include "base/secrets.h"
#include "config/config_override.h"
#include "upstream/upstream_table_internal.h"

enum { MAX_MEMORY_BYTES = 64 << 20 };

static struct upstream_shared *shared_table_of(struct upstream_table *t)
{
    return (struct upstream_shared *)(void *)t;
}

/* ---- life */

/* Takes out the key of a copy of a configuration. */
static void forget_key(struct config *c)
{
    secret_wipe(str_from_c(c->upstream_key));
    c->upstream_key = NULL;
}

struct upstream_shared *upstream_shared_new(const struct config *config, size_t n)
{
    struct upstream_shared *s = calloc(1, sizeof(*s));

    if (s == NULL)
        return NULL;
    arena_init(&s->memory, MAX_MEMORY_BYTES);
    atomic_init(&s->n_refs, 1);
    s->entries = arena_array(&s->memory, n, sizeof(*s->entries));
    s->stamps = arena_array(&s->memory, n, sizeof(*s->stamps));
    s->configs = arena_array(&s->memory, n, sizeof(struct config *));
    s->table.entries = s->entries;
    s->table.config = &s->config;
    if (config_dup(config, &s->config) == 0 && s->configs != NULL && s->stamps != NULL &&
        s->entries != NULL) {
        forget_key(&s->config);
        s->config.upstream = NULL;
        s->table.other_policy = upstream_policy_of(&s->config);
        return s;
    }
    upstream_shared_free(s);
    return NULL;
}

void upstream_shared_free(struct upstream_shared *s)
{
    for (size_t i = 0; i < s->table.n; i++)
        secret_wipe(s->entries[i].authorization);
    for (size_t i = 0; s->configs != NULL && i < s->n_configs; i++)
        config_fini(s->configs[i]);
    config_fini(&s->config);
    arena_fini(&s->memory);
    if (s->origin != NULL)
        upstream_table_unref(&s->origin->table);
    free(s);
}

struct upstream_entry upstream_entry_plain(void)
{
    return (struct upstream_entry){
        .weight = 1, .is_traced = true, .provider = STR("openai_compatible")};
}

struct upstream_entry *upstream_shared_add(struct upstream_shared *s,
                                           const struct upstream_entry *like,
                                           const struct config *config, struct config **ret_config)
{
    struct upstream_entry *entry = &s->entries[s->table.n];
    struct config *own = arena_alloc(&s->memory, sizeof(*own));

    if (own == NULL)
        return NULL;
    s->configs[s->n_configs++] = own;
    if (config_dup(config, own) == -1)
        return NULL;
    *entry = *like;
    entry->config = own;
    *ret_config = own;
    s->table.n++;
    return entry;
}

void upstream_table_set_live(struct upstream_table *t, size_t entry, struct upstream_live *live)
{
    shared_table_of(t)->entries[entry].live = live;
}

struct upstream_table *upstream_table_ref(struct upstream_table *t)
{
    if (t != NULL)
        atomic_fetch_add_explicit(&shared_table_of(t)->n_refs, 1, memory_order_relaxed);
    return t;
}

void upstream_table_unref(struct upstream_table *t)
{
    if (t != NULL &&
        atomic_fetch_sub_explicit(&shared_table_of(t)->n_refs, 1, memory_order_acq_rel) == 1)
        upstream_shared_free(shared_table_of(t));
}

/* ---- what all tables have */

struct upstream_policy upstream_policy_of(const struct config *c)
{
    return (struct upstream_policy){.kind = ROUTING_AFFINITY,
                                    .queue_limit = c->queue_limit,
                                    .queue_owner = c->queue_owner,
                                    .queue_timeout_ms = c->queue_timeout_ms};
}

void upstream_shared_settle(struct upstream_shared *s)
{
    const unsigned by_number = s->table.n > 1 ? 3 : 1;

    for (size_t i = 0; i < s->table.n; i++) {
        const struct config *c = s->configs[i];

        s->entries[i].retry_attempts =
            c->retry_attempts == CONFIG_COUNT_AUTO ? by_number : c->retry_attempts;
        s->entries[i].retry_on = config_retry_set(c);
    }
}

str upstream_bearer(struct arena *a, str key)
{
    struct buf text = {.limit = 0};
    str copy = STR_NONE;

    buf_c(&text, "Bearer ");
    buf_append(&text, key);
    if (!buf_failed(&text))
        copy = arena_dup(a, buf_str(&text));
    secret_buf_fini(&text);
    return copy;
}

bool upstream_table_is_name(str name)
{
    for (size_t i = 0; i < name.len; i++) {
        const char c = name.p[i];

        if (!(c >= 'a' && c <= 'z') && !(c >= '0' && c <= '9') && c != '-' && c != '_')
            return false;
    }
    return name.len > 0 && name.len <= UPSTREAM_NAME_MAX;
}

const struct upstream_entry *upstream_table_find(const struct upstream_table *t, str name)
{
    for (size_t i = 0; i < t->n; i++) {
        if (str_eq(t->entries[i].name, name))
            return &t->entries[i];
    }
    return NULL;
}

/* ---- the single upstream */

/* Where the upstream is; STR_NONE when out of memory, or for a demo model that listens nowhere yet. */
static str single_base(const struct upstream_table_source *source, struct arena *a)
{
    const struct config *c = source->config;

    return c->upstream == NULL ? arena_dup(a, source->demo_base)
                               : config_upstream_base(a, str_from_c(c->upstream));
}

/* False when out of memory. */
static bool fill_single(struct upstream_entry *entry, const struct upstream_table_source *source,
                        struct arena *a)
{
    const str url = str_from_c(source->config->upstream),
              key = str_from_c(source->config->upstream_key);
    const bool has_base = !str_is_none(url) || !str_is_none(source->demo_base);
    struct upstream_model_rule *models = arena_array(a, 1, sizeof(*models));

    if (models == NULL)
        return false;
    *models = (struct upstream_model_rule){.name = STR("*"), .is_glob = true, .weight = 1};
    entry->models = models;
    entry->n_models = 1;
    entry->name = str_is_none(url) ? STR("demo") : STR("default");
    entry->base = single_base(source, a);
    entry->pass_client_key = str_is_none(key);
    if (!str_is_none(key))
        entry->authorization = upstream_bearer(a, key);
    return str_is_none(entry->base) != has_base &&
           str_is_none(entry->authorization) == str_is_none(key);
}

static struct upstream_shared *make_single(const struct upstream_table_source *source)
{
    struct upstream_shared *s = upstream_shared_new(source->config, 1);
    const struct upstream_entry plain = upstream_entry_plain();
    struct upstream_entry *entry;
    struct config *own;

    if (s == NULL)
        return NULL;
    entry = upstream_shared_add(s, &plain, source->config, &own);
    if (entry != NULL && fill_single(entry, source, &s->memory)) {
        forget_key(own);
        upstream_shared_settle(s);
        return s;
    }
    upstream_shared_free(s);
    return NULL;
}

/* ---- from where there is one */

static struct upstream_shared *read_file(const struct upstream_table_source *source,
                                         const char *path, struct config_problems *problems)
{
    struct upstream_shared *s = NULL;
    struct buf text;

    if (config_read_file(path, &text, problems))
        s = upstream_file_parse(source, path, buf_str(&text), problems);
    secret_buf_fini(&text);
    return s;
}

struct upstream_table *upstream_table_load(const struct upstream_table_source *source,
                                           struct config_problems *problems)
{
    const char *path = source->config->upstreams_file;
    struct upstream_shared *s;

    if (!str_is_none(source->file_text)) {
        s = upstream_file_parse(source, path == NULL ? "the file" : path, source->file_text,
                                problems);
    } else if (path != NULL) {
        s = read_file(source, path, problems);
    } else {
        s = make_single(source);
        if (s == NULL)
            config_error(problems, "out of memory");
    }
    return s == NULL ? NULL : &s->table;
}
