/* upstream_file_models.c -- the member `models`: names, globs, objects that say more, and "auto". */
#include "base/name_glob.h"
#include "upstream/upstream_file_internal.h"

static const str listed = STR_INIT("auto");

/* The models of an upstream, while they are read. */
struct models {
    struct upstream_entry *entry;
    struct upstream_model_rule *items;
};

static bool is_there(const struct models *m, str name)
{
    for (size_t i = 0; i < m->entry->n_models; i++) {
        if (str_eq(m->items[i].name, name))
            return true;
    }
    return false;
}

static void add_model(struct upstream_reader *r, const struct upstream_value *v, struct models *m,
                      const struct upstream_model_rule *model)
{
    if (is_there(m, model->name))
        upstream_value_refuse(r, v, "the model %s is there twice; remove one",
                              config_quote(model->name).text);
    else
        m->items[m->entry->n_models++] = *model;
}

static struct upstream_model_rule model_of(const struct upstream_entry *entry)
{
    return (struct upstream_model_rule){.tier = entry->tier, .weight = entry->weight};
}

static void read_name(struct upstream_reader *r, const struct upstream_value *v, struct models *m)
{
    struct upstream_model_rule model = model_of(m->entry);

    if (!upstream_value_text(r, v, &model.name))
        return;
    model.is_glob = name_is_glob(model.name);
    model.literals = name_glob_literals(model.name);
    if (!str_eq(model.name, listed))
        add_model(r, v, m, &model);
    else if (m->entry->serves_listed)
        upstream_value_refuse(r, v, "is there twice; remove one");
    else
        m->entry->serves_listed = true;
}

/* ---- objects */

static const char *const members[] = {"name", "model", "tier", "weight"};

static void read_member(struct upstream_reader *r, const struct upstream_value *v,
                        struct upstream_model_rule *model)
{
    if (str_eq(v->name, STR("name")))
        (void)upstream_value_text(r, v, &model->name);
    else if (str_eq(v->name, STR("model")))
        (void)upstream_value_text(r, v, &model->model);
    else if (str_eq(v->name, STR("tier")))
        upstream_value_count(r, v, 0, UPSTREAM_TIER_MAX, &model->tier);
    else if (str_eq(v->name, STR("weight")))
        upstream_value_count(r, v, 1, UPSTREAM_WEIGHT_MAX, &model->weight);
    else
        upstream_value_refuse_unknown(r, v, LIST_OF(members));
}

static void read_object(struct upstream_reader *r, const struct upstream_value *v, struct models *m)
{
    struct upstream_model_rule model = model_of(m->entry);
    struct upstream_value member = {.in = NULL};
    bool has_name = false;
    struct jr j;

    if (!upstream_value_enter(r, v, JR_OBJECT, "a name, or an object with one", &j))
        return;
    while (upstream_value_next(r, v, &j, &member)) {
        has_name |= str_eq(member.name, STR("name"));
        read_member(r, &member, &model);
    }
    if (!has_name)
        upstream_value_refuse(r, v, "has no name; give \"name\": \"MODEL\"");
    if (str_is_none(model.name))
        return;
    model.is_glob = name_is_glob(model.name);
    model.literals = name_glob_literals(model.name);
    if (model.is_glob && !str_is_none(model.model))
        upstream_value_refuse(r, v,
                              "a name with * stands for many models, which cannot all be %s; "
                              "leave model out, or name one model",
                              config_quote(model.model).text);
    else
        add_model(r, v, m, &model);
}

/* ---- the list */

static void read_list(struct upstream_reader *r, const struct upstream_value *v, struct models *m)
{
    struct upstream_value element = {.in = NULL};
    struct jr j;

    if (!upstream_value_enter(r, v, JR_ARRAY, "a list of models, or \"auto\"", &j))
        return;
    while (upstream_value_next(r, v, &j, &element)) {
        if (jr_type_of(element.raw) == JR_STRING)
            read_name(r, &element, m);
        else
            read_object(r, &element, m);
    }
}

void upstream_file_read_models(struct upstream_reader *r, const struct upstream_value *v,
                               struct upstream_entry *entry)
{
    const size_t n = jr_type_of(v->raw) == JR_ARRAY ? jr_count(v->raw) : 0;
    struct models m = {.entry = entry};

    if (str_is_none(v->raw) || str_eq(jr_string_of(v->raw), listed)) {
        entry->serves_listed = true;
        return;
    }
    if (n > UPSTREAM_MODELS_MAX) {
        upstream_value_refuse(r, v, "has more than %d models; a name with * stands for many",
                              UPSTREAM_MODELS_MAX);
        return;
    }
    m.items = arena_array(&r->shared->memory, n + 1, sizeof(*m.items));
    entry->models = m.items;
    if (m.items == NULL)
        r->no_memory = true;
    else
        read_list(r, v, &m);
}
