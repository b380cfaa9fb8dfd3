/* upstream_facts.c -- counted references, and looking things up. */
#include "upstream/upstream_facts.h"

#include <stdlib.h>

/* Names that no list has come from clients. */
enum {
    MAX_FACTS_BYTES = 8 * 1024 * 1024,
    MAX_MODELS = 2 * UPSTREAM_MAX_MODELS,
    MAX_UNLISTED_BYTES = 256,
};

struct upstream_facts *upstream_facts_new(void)
{
    struct upstream_facts *f = calloc(1, sizeof(*f));

    if (f == NULL)
        return NULL;
    atomic_init(&f->n_references, 1);
    arena_init(&f->memory, MAX_FACTS_BYTES);
    return f;
}

struct upstream_facts *upstream_facts_ref(struct upstream_facts *f)
{
    if (f != NULL)
        atomic_fetch_add(&f->n_references, 1);
    return f;
}

void upstream_facts_unref(struct upstream_facts *f)
{
    if (f == NULL || atomic_fetch_sub(&f->n_references, 1) != 1)
        return;
    upstream_list_unref(f->list);
    arena_fini(&f->memory);
    free(f);
}

static bool copy_text(struct arena *a, str *text)
{
    const bool was_there = !str_is_none(*text);

    *text = arena_dup(a, *text);
    return was_there == !str_is_none(*text);
}

/* With room for one more. */
static bool copy_models(struct arena *a, struct upstream_models *models)
{
    struct upstream_model *v = arena_array(a, models->n + 1, sizeof(*v));

    if (v == NULL)
        return false;
    for (size_t i = 0; i < models->n; i++) {
        v[i] = models->v[i];
        if (!copy_text(a, &v[i].id) || !copy_text(a, &v[i].root))
            return false;
    }
    models->v = v;
    return true;
}

struct upstream_facts *upstream_facts_with(const struct upstream_facts *f,
                                           const struct upstream_finding *finding)
{
    struct upstream_facts *copy = upstream_facts_new();
    struct arena *a;

    if (copy == NULL)
        return NULL;
    copy->finding = *finding;
    if (f == NULL)
        return copy;
    a = &copy->memory;
    copy->server = f->server;
    copy->model_path = f->model_path;
    copy->model_alias = f->model_alias;
    copy->models = f->models;
    copy->list = upstream_list_ref(f->list);
    copy->only = f->only;
    copy->template_words = f->template_words; /* static texts */
    copy->knows_template_words = f->knows_template_words;
    copy->is_partial = f->is_partial;
    if (copy_text(a, &copy->server) && copy_text(a, &copy->model_path) &&
        copy_text(a, &copy->model_alias) && copy_models(a, &copy->models))
        return copy;
    upstream_facts_unref(copy);
    return NULL;
}

struct upstream_facts *upstream_facts_with_window(const struct upstream_facts *f, str model,
                                                  int64_t window)
{
    struct upstream_facts *copy = upstream_facts_with(f, &f->finding);
    struct upstream_model *m;
    str id;

    if (copy == NULL)
        return NULL;
    m = upstream_models_find(&copy->models, model);
    if (m == NULL && copy->models.n <= 1) {
        copy->only = f->only;
        copy->only.window = window;
        copy->only.is_guess = false;
        if (copy->models.n == 1)
            m = copy->models.v; /* it goes by any name */
    } else if (m == NULL) {
        const bool is_kept = copy->models.n < MAX_MODELS && model.len <= MAX_UNLISTED_BYTES;

        id = is_kept ? arena_dup(&copy->memory, model) : STR_NONE;
        if (str_is_none(id)) {
            upstream_facts_unref(copy);
            return NULL;
        }
        m = &copy->models.v[copy->models.n++];
        *m = (struct upstream_model){.id = id, .root = STR_NONE};
    }
    if (m != NULL) {
        m->limits.window = window;
        m->limits.is_guess = false;
    }
    return copy;
}

struct upstream_limits upstream_facts_limits(const struct upstream_facts *f, str model)
{
    const struct upstream_model *m;

    if (f == NULL)
        return (struct upstream_limits){.window = 0};
    m = upstream_models_find(&f->models, model);
    if (m == NULL && f->models.n == 1)
        m = f->models.v;
    return m == NULL || (m->limits.window == 0 && f->models.n == 1) ? f->only : m->limits;
}

bool upstream_facts_template_is_of(const struct upstream_facts *f, str model)
{
    return f->models.n <= 1 || (!str_is_none(f->model_alias) && str_eq(f->model_alias, model)) ||
           (!str_is_none(f->model_path) && str_eq(f->model_path, model));
}

str upstream_facts_other_name(const struct upstream_facts *f, str model)
{
    for (size_t i = 0; i < f->models.n; i++) {
        const struct upstream_model *m = &f->models.v[i];

        if (str_eq(m->id, model) && !str_is_none(m->root))
            return m->root;
    }
    return upstream_facts_template_is_of(f, model) ? f->model_path : STR_NONE;
}
