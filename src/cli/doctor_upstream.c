/* doctor_upstream.c -- the row of the table of upstreams, as a configuration. */
#include "cli/doctor_upstream.h"

#include <unistd.h>

#include "config/config_override.h"
#include "upstream/upstream_table.h"

static void list_names(const struct upstream_table *t, struct buf *out)
{
    for (size_t i = 0; i < t->n; i++) {
        buf_c(out, i == 0 ? "" : ", ");
        buf_append(out, t->entries[i].name);
    }
}

static void refuse_name(const struct upstream_table *t, const char *name,
                        struct config_problems *problems)
{
    struct buf names = {.limit = 0};

    list_names(t, &names);
    if (name == NULL)
        config_error(problems, "which upstream? Give --name with one of %s", buf_cstr(&names));
    else
        config_error(problems, "--name: there is no upstream %s; give one of %s",
                     config_quote(str_from_c(name)).text, buf_cstr(&names));
    buf_fini(&names);
}

/* NULL when the name is nobody's, or not given and needed: refused. */
static const struct upstream_entry *find_entry(const struct upstream_table *t, const char *name,
                                               struct config_problems *problems)
{
    const struct upstream_entry *e;

    if (name == NULL && t->n == 1)
        return t->entries;
    e = name == NULL ? NULL : upstream_table_find(t, str_from_c(name));
    if (e == NULL)
        refuse_name(t, name, problems);
    return e;
}

/* Puts the key, without what stands before it in a header, where a single upstream has it. */
static int take_key(struct config *c, const struct upstream_entry *e)
{
    if (str_is_none(e->authorization))
        return 0;
    c->upstream_key = arena_dup(&c->memory, str_skip(e->authorization, strlen("Bearer "))).p;
    return c->upstream_key == NULL ? -1 : 0;
}

static int take_certificate(struct config *c, const struct upstream_entry *e,
                            struct doctor_certificate *ret)
{
    if (e->client_cert == NULL)
        return 0;
    ret->cert = arena_dup(&c->memory, str_from_c(e->client_cert)).p;
    ret->key = arena_dup(&c->memory, str_from_c(e->client_key)).p;
    return ret->cert == NULL || ret->key == NULL ? -1 : 0;
}

static void become_single(struct config *config, const struct upstream_entry *e,
                          struct doctor_certificate *ret_certificate,
                          struct config_problems *problems)
{
    struct config single;

    if (config_dup(e->config, &single) == -1 || take_key(&single, e) == -1 ||
        take_certificate(&single, e, ret_certificate) == -1) {
        config_error(problems, "out of memory");
        config_fini(&single);
        return;
    }
    single.upstreams_file = NULL;
    config_fini(config);
    *config = single;
}

void doctor_upstream_choose(struct config *config, const char *name,
                            struct doctor_certificate *ret_certificate,
                            struct config_problems *problems)
{
    const struct upstream_table_source source = {.config = config,
                                                 .env = (const char *const *)environ};
    struct upstream_table *t = upstream_table_load(&source, problems);
    const struct upstream_entry *e = t == NULL ? NULL : find_entry(t, name, problems);

    if (e != NULL)
        become_single(config, e, ret_certificate, problems);
    upstream_table_unref(t);
}
