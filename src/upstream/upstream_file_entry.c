/* upstream_file_entry.c -- one upstream of the file: its members (upstream_member.def), then what only several
 * of them together can tell. */
#include "base/secrets.h"
#include "config/config_override.h"
#include "config/file_mode.h"
#include "upstream/upstream_file_internal.h"

/* An upstream that is being read, or `defaults`. */
struct draft {
    struct upstream_reader *r;
    struct upstream_entry *entry;
    struct config *config;
    bool is_defaults;
    struct upstream_value pass_client_key, models; /* raw is STR_NONE where they are not given */
    struct upstream_value key;                     /* the first of key, key_env and key_file */
    str key_text;                                  /* what it says: a secret */
};

/* ---- the key */

/* The first of the three counts, and another is one too many. */
static bool takes_key(struct draft *d, const struct upstream_value *v)
{
    if (str_is_none(d->key.raw)) {
        d->key = *v;
        return true;
    }
    upstream_value_refuse(d->r, v, "is one key too many: %.*s is given as well; leave one out",
                          STR_ARG(d->key.name));
    return false;
}

/* Messages never show the text. */
static void keep_key(struct draft *d, const struct upstream_value *v, str text, const char *whose)
{
    if (text.len > 0 && str_is_visible(text))
        d->key_text = text;
    else
        upstream_value_refuse(d->r, v, "%s must be visible ASCII characters without spaces", whose);
}

static void read_key(struct draft *d, const struct upstream_value *v)
{
    str text;

    if (takes_key(d, v) && upstream_value_text(d->r, v, &text))
        keep_key(d, v, text, "the value");
}

/* The value of a variable; STR_NONE when it is missing or empty. */
static str variable_of(const struct upstream_table_source *source, str name)
{
    for (const char *const *env = source->env; env != NULL && *env != NULL; env++) {
        const str line = str_from_c(*env);

        if (line.len > name.len + 1 && str_starts_with(line, name) && line.p[name.len] == '=')
            return str_skip(line, name.len + 1);
    }
    return STR_NONE;
}

static void read_key_env(struct draft *d, const struct upstream_value *v)
{
    str name, text;

    if (!takes_key(d, v) || !upstream_value_text(d->r, v, &name))
        return;
    text = variable_of(d->r->source, name);
    if (str_is_none(text)) {
        upstream_value_refuse(d->r, v, "the variable %s is not set; export it, or give key_file",
                              config_quote(name).text);
        return;
    }
    text = arena_dup(&d->r->shared->memory, text); /* to be wiped */
    if (str_is_none(text))
        d->r->no_memory = true;
    else
        keep_key(d, v, text, "the value of the variable");
}

static void read_key_file(struct draft *d, const struct upstream_value *v)
{
    struct upstream_reader *r = d->r;
    struct buf token = {.limit = 0};
    const char *path;

    if (!takes_key(d, v) || !upstream_value_file(r, v, &path))
        return;
    d->entry->key_file = path;
    file_mode_check_writers(path, r->problems);
    file_mode_check_readers(path, r->problems);
    /* The time is taken first: a file that changes meanwhile is read again. */
    r->shared->stamps[d->entry - r->shared->entries] = upstream_key_stamp_of(path);
    if (config_read_token(path, &token))
        d->key_text = arena_dup(&r->shared->memory, buf_str(&token));
    else
        upstream_value_refuse(r, v,
                              "the first line of the file must be a key: visible ASCII "
                              "characters without spaces");
    r->no_memory |= token.len > 0 && str_is_none(d->key_text);
    secret_buf_fini(&token);
}

static void read_pass_client_key(struct draft *d, const struct upstream_value *v)
{
    d->pass_client_key = *v;
    upstream_value_flag(d->r, v, &d->entry->pass_client_key);
}

/* ---- the other members */

static void read_url(struct draft *d, const struct upstream_value *v)
{
    upstream_value_override(d->r, v, CONFIG_KEY_upstream, d->config);
}

/* Until tier and weight are known, which they may stand in front of. */
static void read_models(struct draft *d, const struct upstream_value *v)
{
    d->models = *v;
}

static void read_weight(struct draft *d, const struct upstream_value *v)
{
    upstream_value_count(d->r, v, 1, UPSTREAM_WEIGHT_MAX, &d->entry->weight);
}

static void read_tier(struct draft *d, const struct upstream_value *v)
{
    upstream_value_count(d->r, v, 0, UPSTREAM_TIER_MAX, &d->entry->tier);
}

static void read_max_concurrency(struct draft *d, const struct upstream_value *v)
{
    enum { MOST = 100000 };
    const bool is_text = jr_type_of(v->raw) == JR_STRING;

    d->entry->wants_slots = is_text && str_eq(jr_string_of(v->raw), STR("slots"));
    if (d->entry->wants_slots)
        d->entry->max_concurrency = 0;
    else if (is_text)
        upstream_value_refuse(d->r, v, "must be a whole number from 0 to %d, or \"slots\"", MOST);
    else
        upstream_value_count(d->r, v, 0, MOST, &d->entry->max_concurrency);
}

static void read_health(struct draft *d, const struct upstream_value *v)
{
    struct upstream_entry *entry = d->entry;
    str text;

    if (!upstream_value_text(d->r, v, &text))
        return;
    entry->health_is_given = true;
    entry->health_path = STR_NONE;
    if (str_eq(text, STR("auto"))) {
        entry->health = UPSTREAM_HEALTH_AUTO;
    } else if (str_eq(text, STR("off"))) {
        entry->health = UPSTREAM_HEALTH_OFF;
    } else if (str_starts_with(text, STR("/")) && str_is_visible(text)) {
        entry->health = UPSTREAM_HEALTH_PATH;
        entry->health_path = text;
    } else {
        upstream_value_refuse(d->r, v, "must be auto, off, or a path such as /health");
    }
}

static void read_trace(struct draft *d, const struct upstream_value *v)
{
    upstream_value_flag(d->r, v, &d->entry->is_traced);
}

static void read_provider(struct draft *d, const struct upstream_value *v)
{
    (void)upstream_value_text(d->r, v, &d->entry->provider);
}

static void read_client_cert(struct draft *d, const struct upstream_value *v)
{
    (void)upstream_value_file(d->r, v, &d->entry->client_cert);
}

static void read_client_key(struct draft *d, const struct upstream_value *v)
{
    (void)upstream_value_file(d->r, v, &d->entry->client_key);
}

/* ---- all members: those of upstream_member.def, and the settings of models, which are then for all models
 * of the upstream */

enum place { OWN, ANY };

static const struct {
    void (*read)(struct draft *d, const struct upstream_value *v); /* NULL: a key ... */
    enum config_id key;                                            /* ... this one */
    enum place place;
} members[] = {
#define MEMBER(name, place, takes, initial, help) {read_##name, CONFIG_KEYS, place},
#define OVERRIDE(name, key)                       {NULL, CONFIG_KEY_##key, ANY},
#include "upstream/upstream_member.def"
#define MODEL_CHOICE(symbol, name, words, values, help)        /* has none */
#define MODEL_SETTING(symbol, name, kind, words, values, help) {NULL, CONFIG_KEY_##name, ANY},
#include "wire/dialect/model_setting.def"
};

static const char *const names[] = {
#define MEMBER(name, place, takes, initial, help) #name,
#define OVERRIDE(name, key)                       #name,
#include "upstream/upstream_member.def"
#define MODEL_CHOICE(symbol, name, words, values, help)        /* has none */
#define MODEL_SETTING(symbol, name, kind, words, values, help) #name,
#include "wire/dialect/model_setting.def"
};

_Static_assert(COUNT_OF(members) == COUNT_OF(names), "made of the same list");

static size_t find_member(str name)
{
    size_t i = 0;

    while (i < COUNT_OF(names) && !str_eq(name, str_from_c(names[i])))
        i++;
    return i;
}

static void read_member(struct draft *d, const struct upstream_value *v, bool *is_seen)
{
    const size_t i = find_member(v->name);

    if (i == COUNT_OF(members)) {
        upstream_value_refuse_unknown(d->r, v, LIST_OF(names));
        return;
    }
    if (is_seen[i]) {
        upstream_value_refuse(d->r, v, "is there twice; remove one");
        return;
    }
    is_seen[i] = true;
    if (d->is_defaults && members[i].place == OWN)
        upstream_value_refuse(d->r, v, "belongs to one upstream; it cannot stand for all");
    else if (members[i].read == NULL)
        upstream_value_override(d->r, v, members[i].key, d->config);
    else
        members[i].read(d, v);
}

static void read_members(struct draft *d, const struct upstream_value *v)
{
    bool is_seen[COUNT_OF(members)] = {false};
    struct upstream_value member = {.in = NULL};
    struct jr j;

    if (!upstream_value_enter(d->r, v, JR_OBJECT, "an object of members, { ... }", &j))
        return;
    while (upstream_value_next(d->r, v, &j, &member))
        read_member(d, &member, is_seen);
}

void upstream_file_read_defaults(struct upstream_reader *r, const struct upstream_value *v,
                                 struct upstream_entry *entry, struct config *config)
{
    struct draft d = {.r = r, .entry = entry, .config = config, .is_defaults = true};

    read_members(&d, v);
}

/* ---- what only several members together can tell */

/* A key that is sent where everybody can read it is told by the rules of the configuration, which look for it
 * in its place there. */
static void check_config(struct draft *d)
{
    struct config *c = d->config;
    struct config_place *place = &c->places[CONFIG_KEY_upstream_key];
    struct buf path = {.limit = 0};

    if (!str_is_none(d->key_text)) {
        upstream_value_path(&d->key, &path);
        *place = (struct config_place){.source = CONFIG_FROM_FILE,
                                       .name = d->r->name,
                                       .line = upstream_value_line(d->r, &d->key),
                                       .member = buf_cstr(&path)};
        c->upstream_key = d->key_text.p;
    }
    config_override_check(c, d->r->source->env, d->r->problems);
    c->upstream_key = NULL;
    *place = (struct config_place){.source = CONFIG_FROM_DEFAULT};
    buf_fini(&path);
}

static void settle_key(struct draft *d)
{
    struct upstream_entry *entry = d->entry;

    if (!str_is_none(d->pass_client_key.raw) && entry->pass_client_key && !str_is_none(d->key.raw))
        upstream_value_refuse(d->r, &d->pass_client_key,
                              "has no use beside %.*s, which is sent instead; leave one out",
                              STR_ARG(d->key.name));
    entry->pass_client_key &= str_is_none(d->key.raw);
    if (str_is_none(d->key_text))
        return;
    entry->authorization = upstream_bearer(&d->r->shared->memory, d->key_text);
    d->r->no_memory |= str_is_none(entry->authorization);
}

static void settle_url(struct draft *d, const struct upstream_value *v)
{
    const struct config *c = d->config;

    if (c->upstream != NULL) {
        d->entry->base = config_upstream_base(&d->r->shared->memory, str_from_c(c->upstream));
        d->r->no_memory |= str_is_none(d->entry->base);
    } else if (!c->places[CONFIG_KEY_upstream].is_refused) {
        upstream_value_refuse(d->r, v, "has no url; give \"url\": \"http://HOST:PORT/v1\"");
    }
}

void upstream_file_read_entry(struct upstream_reader *r, const struct upstream_value *v,
                              const struct upstream_entry *defaults, const struct config *config)
{
    const size_t n_before = r->problems->n_errors;
    struct draft d = {.r = r};

    if (!upstream_table_is_name(v->name))
        upstream_value_refuse(r, v, "a name has 1 to %d of the characters a-z, 0-9, - and _",
                              UPSTREAM_NAME_MAX);
    if (upstream_table_find(&r->shared->table, v->name) != NULL)
        upstream_value_refuse(r, v, "there is another upstream of this name; rename one");
    d.entry = upstream_shared_add(r->shared, defaults, config, &d.config);
    if (d.entry == NULL) {
        r->no_memory = true;
        return;
    }
    d.entry->name = v->name;
    read_members(&d, v);
    if (jr_type_of(v->raw) != JR_OBJECT)
        return;
    settle_url(&d, v);
    settle_key(&d);
    check_config(&d);
    secret_wipe(d.key_text);
    upstream_file_read_models(r, &d.models, d.entry);
    if (r->problems->n_errors == n_before &&
        (d.entry->client_cert == NULL) != (d.entry->client_key == NULL))
        upstream_value_refuse(r, v, "client_cert and client_key belong together; give both");
}
