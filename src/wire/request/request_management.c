/* request_management.c -- context_management: when a client wants its context replaced by a summary
 * (CONTRACT 13.4). */
#include "conv/fields.h"
#include "json/json_read.h"
#include "wire/request/request_fields.h"

enum { MIN_COMPACT_THRESHOLD = 1000 };

#define MAX_COMPACT_THRESHOLD 9e15

struct entry_fields {
    str type, compact_threshold;
};

static const struct field entry_table[] = {
    FIELD(struct entry_fields, type, FIELD_TEXT),
    FIELD(struct entry_fields, compact_threshold, FIELD_INTEGER),
};

static int reject_threshold(const struct path *at, str raw, struct err *reterr)
{
    const struct path threshold_at = path_member(at, STR("compact_threshold"));

    err_set_param(reterr, ERR_INTEGER_BELOW_MIN, path_name(&threshold_at).text,
                  "Invalid '%s': integer below minimum value. Expected a value >= %d, but got %s "
                  "instead.",
                  path_name(&threshold_at).text, MIN_COMPACT_THRESHOLD, shown(raw).text);
    return -1;
}

/* Of several the first counts. */
static int check_values(struct context_management *m, const struct entry_fields *f,
                        const struct path *at, struct err *reterr)
{
    static const str types[] = {STR_INIT("compaction")};
    const struct path type_at = path_member(at, STR("type"));
    const bool is_given = !str_is_none(f->compact_threshold);
    const double threshold = is_given ? jr_number_value(f->compact_threshold) : 0;

    if (str_is_none(f->type))
        return reject_missing(&type_at, reterr);
    if (check_value(&type_at, f->type, LIST_OF(types), reterr) == -1)
        return -1;
    if (is_given && threshold < MIN_COMPACT_THRESHOLD)
        return reject_threshold(at, f->compact_threshold, reterr);
    if (!m->compacts)
        *m = (struct context_management){.compacts = true,
                                         .threshold = threshold > MAX_COMPACT_THRESHOLD
                                                          ? (int64_t)MAX_COMPACT_THRESHOLD
                                                          : (int64_t)threshold};
    return 0;
}

/* Types alone while m is NULL. */
static int read_entries(str raw, struct context_management *m, struct err *reterr)
{
    const struct path list_at = path_member(NULL, STR("context_management"));
    struct json_walk w = json_walk_of(raw);

    if (!json_walk_enter(&w, JR_ARRAY))
        return 0;
    for (size_t i = 0; json_walk_element(&w); i++) {
        const struct path at = path_index(&list_at, i);
        struct entry_fields f = {.type = STR_NONE};

        if (fields_walk(&w, FIELDS(entry_table), &at, &f, reterr) == -1 ||
            (m != NULL && check_values(m, &f, &at, reterr) == -1))
            return -1;
    }
    return 0;
}

int request_check_management_types(str raw, struct err *reterr)
{
    return read_entries(raw, NULL, reterr);
}

int request_read_management(str raw, struct context_management *ret, struct err *reterr)
{
    return read_entries(raw, ret, reterr);
}
