/* extra_fields.c -- pass on, forward, refuse or ignore. */
#include "wire/dialect/extra_fields.h"

#include "conv/reject.h"
#include "json/json_read.h"
#include "json/json_text.h"
#include "wire/dialect/upstream_kind.h"

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
    for (size_t i = 0; i < list->n; i++) {
        if (fits(name, str_from_c(list->names[i])))
            return true;
    }
    return false;
}

static bool is_known(const struct extra_fields_options *o, str name)
{
    if (o->known.names != NULL)
        return is_listed(&o->known, name);
    return is_listed(&upstream_profile(UPSTREAM_GENERIC)->fields, name);
}

static bool is_passed(const struct extra_fields_options *o, str name)
{
    if (o->pass.names == NULL)
        return is_known(o, name);
    if (is_listed(&o->pass, name))
        return !str_eq(name, STR("auto"));
    return is_listed(&o->pass, STR("auto")) && is_known(o, name);
}

bool extra_fields_are_taken(const struct extra_fields_options *o, str name)
{
    return o->unknown == UNKNOWN_FIELDS_FORWARD || is_passed(o, name);
}

static bool is_for_anybody(const struct extra_fields_options *o, str name)
{
    return extra_fields_are_taken(o, name) ||
           (o->is_for_others != NULL && o->is_for_others(o->others, name));
}

static struct extra_field *append_field(struct extra_field **first, struct extra_field **last,
                                        str name, struct arena *a)
{
    struct extra_field *f = arena_alloc(a, sizeof(*f));

    if (f == NULL)
        return NULL;
    f->name = name;
    if (*last == NULL)
        *first = f;
    else
        (*last)->next = f;
    *last = f;
    return f;
}

static int keep_field(struct extra_reader *x, str name, str raw_name, str value, struct err *reterr)
{
    void **slot = str_map_slot(&x->by_name, name, x->arena);
    struct extra_field *f = slot == NULL ? NULL : *slot;

    if (slot != NULL && f == NULL)
        *slot = f = append_field(&x->fields.first, &x->fields.last, name, x->arena);
    if (f == NULL)
        return err_set_no_memory(reterr);
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

/* Only some names are kept: whoever looks at them wants to know why nothing happened. */
static int leave_out(struct extra_reader *x, str name, struct err *reterr)
{
    struct extra_fields *f = &x->fields;

    if (f->n_ignored++ >= EXTRA_NAMES_LEFT_OUT || !x->options->names_left_out)
        return 0;
    return append_field(&f->left_out, &f->last_left_out, name, x->arena) == NULL
               ? err_set_no_memory(reterr)
               : 0;
}

int extra_reader_take(void *arg, str raw_name, str value, struct err *reterr)
{
    struct extra_reader *x = arg;
    str name = json_text_dup(x->arena, raw_name);

    if (str_is_none(name))
        return err_set_no_memory(reterr);
    if (is_for_anybody(x->options, name))
        return keep_field(x, name, raw_name, value, reterr);
    if (x->options->unknown == UNKNOWN_FIELDS_REJECT)
        return reject_unknown(raw_name, reterr);
    return leave_out(x, name, reterr);
}

str extra_fields_get(const struct extra_fields *f, str name)
{
    for (const struct extra_field *e = f->first; e != NULL; e = e->next) {
        if (str_eq(e->name, name))
            return e->value;
    }
    return STR_NONE;
}
