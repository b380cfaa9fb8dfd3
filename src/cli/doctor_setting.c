/* doctor_setting.c -- the profile of the model, as it is and as it would be with one line more. */
#include "cli/doctor_setting.h"

#include <stddef.h>

#include "upstream/upstream_options.h"
#include "upstream/upstream_window.h"

void doctor_setting_write(const struct doctor_finding *f, struct buf *out)
{
    for (const char *p = doctor_finding_row(f->id)->setting; *p != '\0'; p++) {
        if (*p == '*')
            buf_c(out, f->detail);
        else
            buf_char(out, *p);
    }
}

bool doctor_setting_is_of_model(str setting)
{
    enum model_setting s;

    setting.len = str_find_char(setting, '=');
    return model_setting_find(setting, &s);
}

str doctor_setting_pattern(str model)
{
    if (model.len == 0 || !str_is_visible(model) || str_find_char(model, '*') < model.len ||
        str_find_char(model, ',') < model.len)
        return STR("*");
    return model;
}

/* Members in which two profiles can differ by what findings propose. */
#define MEMBER(name)                                                                               \
    {                                                                                              \
        offsetof(struct model_profile, name), sizeof(((struct model_profile *)NULL)->name)         \
    }
static const struct {
    size_t offset, size;
} members[] = {
    MEMBER(harmony),         MEMBER(think),
    MEMBER(text_calls),      MEMBER(reasoning_field),
    MEMBER(call_messages),   MEMBER(short_call_ids),
    MEMBER(system_role),     MEMBER(late_system_as_user),
    MEMBER(role_order),      MEMBER(token_field),
    MEMBER(tool_choice),     MEMBER(empty_content),
    MEMBER(thinking_switch), MEMBER(asks_for_usage),
    MEMBER(images),
};

static bool are_same(const struct model_profile *a, const struct model_profile *b)
{
    for (size_t i = 0; i < COUNT_OF(members); i++) {
        if (memcmp((const char *)a + members[i].offset, (const char *)b + members[i].offset,
                   members[i].size) != 0)
            return false;
    }
    return true;
}

/* "MODEL NAME=WORD" in front of the operator's lines. */
static bool changes_profile(str setting, const struct doctor_subject *s)
{
    const struct config_list *lines = &s->config->model_settings;
    struct config with = *s->config;
    struct arena a = {0};
    struct buf line = {.limit = 0};
    struct model_profile now, then;
    const char **items = arena_array(&a, lines->n + 1, sizeof(*items));
    bool is_change = true;

    buf_append(&line, doctor_setting_pattern(s->model));
    buf_char(&line, ' ');
    buf_append(&line, setting);
    if (items != NULL && !buf_failed(&line)) {
        items[0] = buf_cstr(&line);
        for (size_t i = 0; i < lines->n; i++)
            items[i + 1] = lines->items[i];
        with.model_settings = (struct config_list){items, lines->n + 1};
        now = upstream_named_profile(s->config, s->facts, s->model);
        then = upstream_named_profile(&with, s->facts, s->model);
        is_change = !are_same(&now, &then);
    }
    buf_fini(&line);
    arena_fini(&a);
    return is_change;
}

static bool is_needed(enum doctor_finding_id id, str setting, const struct doctor_subject *s)
{
    if (id == DOCTOR_FOUND_MODEL_ONLY)
        return s->config->model == NULL;
    if (id == DOCTOR_FOUND_FILES_REFUSED || id == DOCTOR_FOUND_FILES_IGNORED)
        return !s->config->text_files;
    if (id == DOCTOR_FOUND_VISION_SEES)
        return !upstream_window_of(s->config, s->facts, s->model).takes_images;
    return !doctor_setting_is_of_model(setting) || changes_profile(setting, s);
}

bool doctor_setting_is_needed(const struct doctor_finding *f, const struct doctor_subject *s)
{
    struct buf setting = {.limit = 0};
    bool needed;

    doctor_setting_write(f, &setting);
    needed = setting.len > 0 && is_needed(f->id, buf_str(&setting), s);
    buf_fini(&setting);
    return needed;
}

enum doctor_status doctor_setting_status(const struct doctor_finding *f,
                                         const struct doctor_subject *s)
{
    const enum doctor_status status = doctor_finding_row(f->id)->status;

    return status == DOCTOR_SET && !doctor_setting_is_needed(f, s) ? DOCTOR_OK : status;
}
