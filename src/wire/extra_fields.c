/* extra_fields.c -- pass on, forward, refuse or ignore. */
#include "wire/extra_fields.h"

#include "conv/reject.h"
#include "json/json_read.h"
#include "json/json_text.h"

static const char *const default_names[] = {
    "stop",
    "seed",
    "logit_bias",
    "n",
    "top_k",
    "min_p",
    "repetition_penalty",
    "chat_template_kwargs",
    "guided_*",
    "structured_outputs",
};

static const struct name_list defaults = {default_names,
                                          sizeof(default_names) / sizeof(*default_names)};

void extra_reader_init(struct extra_reader *x, const struct extra_fields_options *options,
                       const struct id_source *ids, struct arena *a)
{
    *x = (struct extra_reader){.options = options, .arena = a};
    str_map_init(&x->by_name, ids);
}

static bool fits(str name, str pattern)
{
    if (str_ends_with(pattern, STR("*")))
        return str_starts_with(name, str_from(pattern.p, pattern.len - 1));
    return str_eq(name, pattern);
}

static bool is_listed(const struct name_list *list, str name)
{
    if (list->names == NULL)
        list = &defaults;
    for (size_t i = 0; i < list->n; i++) {
        if (fits(name, str_from_c(list->names[i])))
            return true;
    }
    return false;
}

static struct extra_field *append(struct extra_reader *x, str name)
{
    struct extra_field *f = arena_alloc(x->arena, sizeof(*f));

    if (f == NULL)
        return NULL;
    f->name = name;
    if (x->fields.last == NULL)
        x->fields.first = f;
    else
        x->fields.last->next = f;
    x->fields.last = f;
    return f;
}

static int keep(struct extra_reader *x, str name, str raw_name, str value, struct err *reterr)
{
    void **slot = str_map_slot(&x->by_name, name, x->arena);
    struct extra_field *f = slot == NULL ? NULL : *slot;

    if (slot != NULL && f == NULL)
        *slot = f = append(x, name);
    if (f == NULL)
        return reject_memory(reterr);
    f->raw_name = raw_name;
    f->value = jr_type_of(value) == JR_NULL ? STR_NONE : value;
    return 0;
}

static int reject_unknown(str raw_name, struct err *reterr)
{
    struct shown name = shown(raw_name);

    err_set_param(reterr, ERR_UNKNOWN_PARAMETER, name.text, "Unknown parameter: '%s'.", name.text);
    return -1;
}

int extra_reader_take(void *arg, str raw_name, str value, struct err *reterr)
{
    struct extra_reader *x = arg;
    str name = json_text_dup(x->arena, raw_name);

    if (str_is_none(name))
        return reject_memory(reterr);
    if (x->options->unknown == UNKNOWN_FIELDS_FORWARD || is_listed(&x->options->pass, name))
        return keep(x, name, raw_name, value, reterr);
    if (x->options->unknown == UNKNOWN_FIELDS_REJECT)
        return reject_unknown(raw_name, reterr);
    x->fields.n_ignored++;
    return 0;
}

str extra_fields_get(const struct extra_fields *f, str name)
{
    for (const struct extra_field *e = f->first; e != NULL; e = e->next) {
        if (str_eq(e->name, name))
            return e->value;
    }
    return STR_NONE;
}
