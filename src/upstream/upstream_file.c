/* upstream_file.c -- the file of upstreams as a whole (OPERATIONS 4.1).
 *
 * The text is copied, made strict and checked first: behind a mistake in the syntax nobody knows what a line
 * belongs to. Then everything is read to its end, whatever is wrong before, so that all mistakes are named
 * together; a table comes of it only when there was none. */
#include "base/name_glob.h"
#include "base/secrets.h"
#include "config/config_override.h"
#include "json/json_relax.h"
#include "upstream/upstream_file_internal.h"

enum { MAX_FILE_BYTES = 1 << 20 };

/* The members of the file. */
enum part { DEFAULTS, UPSTREAMS, DEFAULT, POLICIES, PARTS };

static const char *const part_names[PARTS] = {"defaults", "upstreams", "default", "policies"};

static bool is_given(const struct upstream_value *v)
{
    return !str_is_none(v->raw);
}

/* ---- upstreams */

/* What every upstream has that does not say something else. */
struct common {
    struct upstream_entry entry;
    struct config config;
};

static void read_entries(struct upstream_reader *r, const struct upstream_value *v,
                         const struct common *all)
{
    struct upstream_value entry = {.in = NULL};
    struct jr j;

    if (!upstream_value_enter(r, v, JR_OBJECT, "an object of upstreams, {\"NAME\": { ... }}", &j))
        return;
    if (jr_count(v->raw) == 0)
        upstream_value_refuse(r, v, "must have an upstream: {\"NAME\": {\"url\": ...}}");
    if (jr_count(v->raw) > UPSTREAM_TABLE_MAX) {
        upstream_value_refuse(r, v, "has more than %d upstreams", UPSTREAM_TABLE_MAX);
        return;
    }
    while (upstream_value_next(r, v, &j, &entry))
        upstream_file_read_entry(r, &entry, &all->entry, &all->config);
}

/* Reads the upstreams; what all have in common begins as the configuration, which has no upstream here. */
static void read_upstreams(struct upstream_reader *r, const struct upstream_value *root,
                           const struct upstream_value *parts)
{
    struct common all = {.entry = upstream_entry_plain()};

    if (config_dup(&r->shared->config, &all.config) == -1) {
        r->no_memory = true;
    } else {
        if (is_given(&parts[DEFAULTS]))
            upstream_file_read_defaults(r, &parts[DEFAULTS], &all.entry, &all.config);
        if (is_given(&parts[UPSTREAMS]))
            read_entries(r, &parts[UPSTREAMS], &all);
        else
            upstream_value_refuse(r, root,
                                  "has no \"upstreams\"; they are an object, {\"NAME\": "
                                  "{\"url\": ...}}");
    }
    config_fini(&all.config);
}

/* ---- default */

static void read_default(struct upstream_reader *r, const struct upstream_value *v, size_t *list)
{
    struct upstream_table *t = &r->shared->table;
    const struct upstream_entry *entry;
    str name;

    if (!upstream_value_text(r, v, &name))
        return;
    entry = upstream_table_find(t, name);
    if (entry == NULL) {
        upstream_value_refuse(r, v, "there is no upstream %s", config_quote(name).text);
        return;
    }
    for (size_t i = 0; i < t->n_defaults; i++) {
        if (&t->entries[list[i]] == entry) {
            upstream_value_refuse(r, v, "%s is there twice; remove one", config_quote(name).text);
            return;
        }
    }
    list[t->n_defaults++] = (size_t)(entry - t->entries);
}

static void read_default_list(struct upstream_reader *r, const struct upstream_value *v)
{
    struct upstream_table *t = &r->shared->table;
    struct upstream_value element = {.in = NULL};
    size_t *list;
    struct jr j;

    if (!upstream_value_enter(r, v, JR_ARRAY, "a list of names of upstreams", &j))
        return;
    list = arena_array(&r->shared->memory, t->n + 1, sizeof(*list));
    t->defaults = list;
    r->no_memory |= list == NULL;
    while (list != NULL && upstream_value_next(r, v, &j, &element))
        read_default(r, &element, list);
}

/* ---- policies */

static void read_kind(struct upstream_reader *r, const struct upstream_value *v,
                      enum routing_policy *field)
{
    str word;

    if (upstream_value_text(r, v, &word) && !routing_policy_of(word, field))
        upstream_value_refuse(r, v, "must be affinity, least, round_robin or first");
}

static void read_policy_member(struct upstream_reader *r, const struct upstream_value *v,
                               enum routing_policy *kind, struct config *config)
{
    static const char *const names[] = {"policy", "queue_limit", "queue_owner", "queue_timeout"};
    static const enum config_id keys[COUNT_OF(names)] = {
        CONFIG_KEYS, CONFIG_KEY_queue_limit, CONFIG_KEY_queue_owner, CONFIG_KEY_queue_timeout};
    size_t i = 0;

    while (i < COUNT_OF(names) && !str_eq(v->name, str_from_c(names[i])))
        i++;
    if (i == COUNT_OF(names))
        upstream_value_refuse_unknown(r, v, LIST_OF(names));
    else if (keys[i] == CONFIG_KEYS)
        read_kind(r, v, kind);
    else
        upstream_value_override(r, v, keys[i], config);
}

/* The limits of a policy are read as keys of the configuration, into a copy. */
static struct upstream_policy read_policy(struct upstream_reader *r, const struct upstream_value *v)
{
    enum routing_policy kind = ROUTING_AFFINITY;
    struct upstream_value member = {.in = NULL};
    struct upstream_policy policy;
    struct config limits;
    struct jr j;

    if (config_dup(&r->shared->config, &limits) == -1) {
        r->no_memory = true;
    } else if (upstream_value_enter(r, v, JR_OBJECT, "an object of members, { ... }", &j)) {
        while (upstream_value_next(r, v, &j, &member))
            read_policy_member(r, &member, &kind, &limits);
    }
    policy = upstream_policy_of(&limits);
    policy.name = v->name;
    policy.is_glob = name_is_glob(v->name);
    policy.literals = name_glob_literals(v->name);
    policy.kind = kind;
    config_fini(&limits);
    return policy;
}

static bool names_fit(str policy, const struct upstream_model_rule *model)
{
    return name_is_glob(policy) ? model->is_glob || name_glob_fits(policy, model->name)
                                : name_glob_fits(model->name, policy);
}

/* May a request be for a model that the policy is for? What an upstream lists is not known yet. */
static bool is_served(const struct upstream_table *t, str policy)
{
    bool is = t->n_defaults > 0;

    for (size_t i = 0; i < t->n; i++) {
        const struct upstream_entry *e = &t->entries[i];

        is |= e->serves_listed;
        for (size_t k = 0; k < e->n_models && !is; k++)
            is = names_fit(policy, &e->models[k]);
    }
    return is;
}

static bool has_policy(const struct upstream_table *t, str name)
{
    for (size_t i = 0; i < t->n_policies; i++) {
        if (str_eq(t->policies[i].name, name))
            return true;
    }
    return false;
}

static void read_policies(struct upstream_reader *r, const struct upstream_value *v)
{
    struct upstream_table *t = &r->shared->table;
    struct upstream_value policy = {.in = NULL};
    struct upstream_policy *list;
    struct jr j;

    if (!upstream_value_enter(r, v, JR_OBJECT, "an object of models, {\"NAME\": { ... }}", &j))
        return;
    if (jr_count(v->raw) > UPSTREAM_MODELS_MAX) {
        upstream_value_refuse(r, v, "has more than %d policies", UPSTREAM_MODELS_MAX);
        return;
    }
    list = arena_array(&r->shared->memory, jr_count(v->raw) + 1, sizeof(*list));
    t->policies = list;
    r->no_memory |= list == NULL;
    while (list != NULL && upstream_value_next(r, v, &j, &policy)) {
        if (has_policy(t, policy.name))
            upstream_value_refuse(r, &policy, "is there twice; remove one");
        if (!is_served(t, policy.name))
            upstream_value_refuse(r, &policy, "no upstream serves such a model");
        list[t->n_policies] = read_policy(r, &policy);
        t->n_policies++;
    }
}

/* ---- the whole */

/* False when there are none, since the file is no object. */
static bool find_parts(struct upstream_reader *r, const struct upstream_value *root,
                       struct upstream_value *parts)
{
    struct upstream_value v = {.in = NULL};
    struct jr j;

    if (!upstream_value_enter(r, root, JR_OBJECT, "a JSON object, { ... }", &j))
        return false;
    while (upstream_value_next(r, root, &j, &v)) {
        size_t i = 0;

        while (i < PARTS && !str_eq(v.name, str_from_c(part_names[i])))
            i++;
        if (i == PARTS)
            upstream_value_refuse_unknown(r, &v, LIST_OF(part_names));
        else if (is_given(&parts[i]))
            upstream_value_refuse(r, &v, "is there twice; put both into one");
        else
            parts[i] = v;
    }
    return true;
}

/* Warns of upstreams that no request can reach. */
static void check_use(struct upstream_reader *r, const struct upstream_value *upstreams)
{
    const struct upstream_table *t = &r->shared->table;

    for (size_t i = 0; i < t->n; i++) {
        const struct upstream_value v = {.in = upstreams,
                                         .name = t->entries[i].name,
                                         .raw = jr_member(upstreams->raw, t->entries[i].name)};
        bool is_used = t->entries[i].serves_listed || t->entries[i].n_models > 0;

        for (size_t k = 0; k < t->n_defaults; k++)
            is_used |= t->defaults[k] == i;
        if (!is_used)
            upstream_value_warn(r, &v, "serves no model, and is not in \"default\"");
    }
}

static void read_parts(struct upstream_reader *r, const struct upstream_value *root)
{
    struct upstream_value parts[PARTS] = {{.in = NULL}};
    const size_t n_before = r->problems->n_errors;

    if (!find_parts(r, root, parts))
        return;
    read_upstreams(r, root, parts);
    if (is_given(&parts[DEFAULT]))
        read_default_list(r, &parts[DEFAULT]);
    if (is_given(&parts[POLICIES]))
        read_policies(r, &parts[POLICIES]);
    if (r->problems->n_errors == n_before && !r->no_memory)
        check_use(r, &parts[UPSTREAMS]);
}

static bool check_syntax(const struct upstream_reader *r)
{
    size_t line, column;
    struct jr j;

    jr_init(&j, r->text);
    jr_skip(&j);
    if (jr_end(&j))
        return true;
    json_relax_place(r->text, jr_offset(&j), &line, &column);
    config_error(r->problems, "%s: line %zu, column %zu: %s", r->name, line, column, j.error);
    return false;
}

/* Fills the table; the reader's text is strict. */
static bool fill_table(struct upstream_reader *r)
{
    const size_t n_before = r->problems->n_errors;
    const struct upstream_value root = {.raw = str_trim(r->text)};

    read_parts(r, &root);
    if (r->no_memory)
        config_error(r->problems, "%s: out of memory", r->name);
    upstream_shared_settle(r->shared);
    return r->problems->n_errors == n_before;
}

static struct upstream_shared *parse_strict(struct upstream_reader *r)
{
    if (!check_syntax(r))
        return NULL;
    r->shared = upstream_shared_new(r->source->config, UPSTREAM_TABLE_MAX);
    if (r->shared == NULL) {
        config_error(r->problems, "%s: out of memory", r->name);
        return NULL;
    }
    r->shared->table.is_from_file = true;
    if (fill_table(r))
        return r->shared;
    upstream_shared_free(r->shared);
    return NULL;
}

struct upstream_shared *upstream_file_parse(const struct upstream_table_source *source,
                                            const char *name, str text,
                                            struct config_problems *problems)
{
    struct upstream_reader r = {.source = source, .name = name, .problems = problems, .line = 1};
    struct upstream_shared *made = NULL;
    struct buf strict;

    buf_init(&strict, MAX_FILE_BYTES);
    buf_append(&strict, text);
    if (buf_failed(&strict)) {
        config_error(problems, "%s: larger than 1 MiB, or out of memory", name);
    } else {
        json_relax(strict.p, strict.len);
        r.text = buf_str(&strict);
        made = parse_strict(&r);
    }
    secret_buf_fini(&strict);
    return made;
}
