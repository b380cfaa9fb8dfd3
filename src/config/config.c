/* config.c -- gathers the configuration from all its sources, in order.
 *
 * Each source is applied on top of the one before, so that the last one wins
 * and every value is checked, also one that is overruled later. Nothing stops
 * at the first mistake: the operator gets to see all of them at once. */
#include "config/config.h"

#include "config/config_key.h"

static void set_defaults(struct config *c, struct config_problems *problems)
{
    static const struct config_place place = {.source = CONFIG_FROM_DEFAULT};

    *c = (struct config){.memory = {.limit = 0}};
    for (const struct config_key *k = config_keys; k->name != NULL; k++) {
        if (k->kind != CONFIG_GROUP)
            config_key_set(c, k, str_from_c(k->initial), &place, problems);
    }
}

static void load_file(struct config *c, const struct config_sources *s,
                      struct config_problems *problems)
{
    const char *path = config_flags_file(s->n_args, s->args);

    if (path == NULL)
        path = config_env_get(s->env, STR("ANTIPHON_CONFIG")).p;
    if (!str_is_none(s->file_text))
        config_file_parse(c, path == NULL ? "the file" : path, s->file_text, problems);
    else if (path != NULL)
        config_file_load(c, path, problems);
}

int config_load(struct config *c, const struct config_sources *sources,
                struct config_problems *problems)
{
    size_t n_before = problems->n_errors;
    enum config_preset program;

    set_defaults(c, problems);
    load_file(c, sources, problems);
    program = config_preset_apply(c, sources, problems);
    config_moved_load(c, program, config_preset_env(c, program, sources, problems), problems);
    config_env_load(c, sources->env, problems);
    config_flags_load(c, sources->n_args, sources->args, problems);
    config_directories_resolve(c, sources->env, problems);
    config_rules_check(c, problems);
    config_model_note_old(c, problems);
    return problems->n_errors == n_before ? 0 : -1;
}

void config_fini(struct config *c)
{
    arena_fini(&c->memory);
    *c = (struct config){.memory = {.limit = 0}};
}
