/* fuzz_upstream_file.c -- any file of upstreams: refused with messages that can be shown and have no key, or a
 * table in which every name leads to upstreams that there are. */
#include "fuzz/fuzz.h"

#include "lib/fixture.h"
#include "upstream/upstream_table.h"

/* A key that no message may have, unless the file has it, too. */
#define HIDDEN "zq9-hidden-4Xw"

struct result {
    struct upstream_table *table;
    struct config_problems problems;
    struct buf lines;
};

/* A configuration that says nothing but an alias; it lives as long as the program. */
static const struct config *configuration(void)
{
    static const char *const args[] = {"--model-alias", "alias=m"};
    static const struct config_sources sources = {.args = args, .n_args = 2};
    static struct config config;
    static bool is_loaded;
    struct config_problems problems = {.n_kept = 0};

    if (!is_loaded)
        fuzz_promise(config_load(&config, &sources, &problems) == 0, "flags are good");
    is_loaded = true;
    config_problems_fini(&problems);
    return &config;
}

static void result_load(struct result *r, str text)
{
    static const char *const env[] = {"K=" HIDDEN, "EMPTY=", "CREDENTIALS_DIRECTORY=/nowhere",
                                      NULL};
    const struct upstream_table_source source = {
        .config = configuration(), .env = env, .file_text = text};

    *r = (struct result){.table = NULL};
    r->table = upstream_table_load(&source, &r->problems);
    config_problems_print(&r->problems, &r->lines);
}

static void result_fini(struct result *r)
{
    upstream_table_unref(r->table);
    config_problems_fini(&r->problems);
    buf_fini(&r->lines);
}

static void check_problems(const struct result *r, str text)
{
    fuzz_promise((r->table == NULL) == (r->problems.n_errors > 0), "no table has an error");
    for (size_t i = 0; i < r->problems.n_kept; i++)
        fuzz_promise(fuzz_is_shown(str_from_c(r->problems.kept[i].text)),
                     "a problem is a line that can be shown");
    fuzz_promise(str_find(text, STR("hidden")) < text.len || str_find(text, STR("\\")) < text.len ||
                     str_find(buf_str(&r->lines), STR(HIDDEN)) == r->lines.len,
                 "no message has a key");
}

/* ---- what a table has */

static void check_model(const struct upstream_model_rule *m)
{
    fuzz_promise(fuzz_is_shown(m->name), "a model has a name");
    fuzz_promise(m->is_glob == (str_find_char(m->name, '*') < m->name.len), "a star makes a glob");
    fuzz_promise(!m->is_glob || str_is_none(m->model), "a glob is no model");
    fuzz_promise(m->tier <= UPSTREAM_TIER_MAX && m->weight >= 1 && m->weight <= UPSTREAM_WEIGHT_MAX,
                 "tier and weight are in their ranges");
}

static void check_entry(const struct upstream_table *t, const struct upstream_entry *e)
{
    fuzz_promise(e->name.len >= 1 && e->name.len <= UPSTREAM_NAME_MAX && fuzz_is_shown(e->name),
                 "an upstream has a name");
    fuzz_promise(upstream_table_find(t, e->name) == e, "no two have the same");
    fuzz_promise(!str_is_none(e->base) && e->config->upstream != NULL, "an upstream has a URL");
    fuzz_promise(e->config->upstream_key == NULL, "the key stands in the entry");
    fuzz_promise(str_is_none(e->authorization) || str_is_one_line(e->authorization),
                 "a key can be a header");
    fuzz_promise(str_is_none(e->authorization) || !e->pass_client_key, "one key is sent");
    fuzz_promise(e->key_file == NULL || !str_is_none(e->authorization), "a key file has a key");
    fuzz_promise(e->weight >= 1 && e->tier <= UPSTREAM_TIER_MAX && e->retry_attempts >= 1 &&
                     e->retry_attempts <= 10,
                 "numbers are in their ranges");
    fuzz_promise(!e->wants_slots || e->max_concurrency == 0, "a limit is given or asked for");
    fuzz_promise((e->health == UPSTREAM_HEALTH_PATH) == str_starts_with(e->health_path, STR("/")),
                 "a path is there when it is asked for");
    fuzz_promise((e->client_cert == NULL) == (e->client_key == NULL), "a certificate has a key");
    for (size_t i = 0; i < e->n_models; i++)
        check_model(&e->models[i]);
}

/* ---- where names lead */

static bool lists_all(void *arg, size_t entry, str name)
{
    const struct upstream_table *t = arg;

    (void)name;
    fuzz_promise(entry < t->n && t->entries[entry].serves_listed, "who has a list is asked");
    return true;
}

static void check_candidates(const struct upstream_table *t, const struct upstream_route *r)
{
    bool is_there[UPSTREAM_TABLE_MAX] = {false};

    fuzz_promise(r->n >= 1 && r->policy != NULL && r->group.len > 0, "a route leads somewhere");
    for (size_t i = 0; i < r->n; i++) {
        const struct upstream_candidate *c = &r->candidates[i];

        fuzz_promise(c->entry < t->n, "a candidate is an upstream");
        fuzz_promise(!is_there[c->entry], "no upstream is there twice");
        is_there[c->entry] = true;
        fuzz_promise(!str_is_none(c->model), "a candidate has a model");
        fuzz_promise(c->weight >= 1 && c->tier <= UPSTREAM_TIER_MAX, "a candidate has its numbers");
    }
}

static void check_route(struct upstream_table *t, str name, bool is_known)
{
    const struct upstream_lists lists = {lists_all, t};
    struct arena a = {.limit = 0};
    struct upstream_route r;
    struct err e;

    if (upstream_table_route(t, name, &lists, &a, &r, &e) == 0) {
        check_candidates(t, &r);
        fuzz_promise(!is_known || r.match == UPSTREAM_MATCH_NAME, "an exact name comes first");
    } else {
        fuzz_promise(e.code == ERR_MODEL_NOT_FOUND, "there is memory");
        fuzz_promise(!is_known && t->n_defaults == 0, "a known name leads somewhere");
    }
    arena_fini(&a);
}

static void check_names(struct upstream_table *t)
{
    struct arena a = {.limit = 0};
    const str *names;
    size_t n;

    fuzz_promise(upstream_table_names(t, NULL, &a, &names, &n) == 0, "there is memory");
    for (size_t i = 0; i < n; i++)
        check_route(t, names[i], !str_eq(names[i], STR("alias")));
    arena_fini(&a);
}

static void check_table(struct upstream_table *t, str text)
{
    fuzz_promise(t->is_from_file && t->n >= 1 && t->n <= UPSTREAM_TABLE_MAX, "a table has rows");
    for (size_t i = 0; i < t->n; i++)
        check_entry(t, &t->entries[i]);
    for (size_t i = 0; i < t->n_defaults; i++)
        fuzz_promise(t->defaults[i] < t->n, "a default is an upstream");
    check_names(t);
    check_route(t, text, false);
    check_route(t, STR("alias"), false);
}

/* A file that a mistake of the input names must not be waited for. */
static bool names_devices(str text)
{
    return str_find(text, STR("/dev")) < text.len || str_find(text, STR("/proc")) < text.len ||
           str_find(text, STR("\\")) < text.len;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    char *copy = exact_copy(fuzz_input(bytes, n));
    const str text = str_from(copy, n);
    struct result first, second;

    if (!names_devices(text)) {
        result_load(&first, text);
        result_load(&second, text);
        fuzz_promise((first.table == NULL) == (second.table == NULL) &&
                         str_eq(buf_str(&first.lines), buf_str(&second.lines)),
                     "reading twice gives the same");
        check_problems(&first, text);
        if (first.table != NULL)
            check_table(first.table, text);
        result_fini(&first);
        result_fini(&second);
    }
    free(copy);
    return 0;
}
