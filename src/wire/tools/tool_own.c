/* tool_own.c -- tables of members, one for each object in a declaration. */
#include "wire/tools/tool_own.h"

#include "conv/fields.h"
#include "wire/tools/tool_fields.h"
#include "json/json_read.h"
#include "json/json_text.h"

static int note_place(const struct path *at, struct arena *a, str *ret, struct err *reterr)
{
    *ret = arena_dup(a, str_from_c(path_name(at).text));
    return str_is_none(*ret) ? err_set_no_memory(reterr) : 0;
}

/* ---- code_interpreter */

struct container_fields {
    str type, file_ids, memory_limit, network_policy;
};

static const struct field container_table[] = {
    FIELD(struct container_fields, type, FIELD_TEXT),
    FIELD(struct container_fields, file_ids, FIELD_ARRAY),
    FIELD(struct container_fields, memory_limit, FIELD_TEXT),
    FIELD(struct container_fields, network_policy, FIELD_OBJECT),
};

int tool_own_check_memory(str escaped, const struct path *at, struct err *reterr)
{
    static const str limits[] = {STR_INIT("1g"), STR_INIT("4g"), STR_INIT("16g"), STR_INIT("64g")};

    return check_value(at, escaped, limits, 4, reterr);
}

static int read_new_container(str raw, const struct path *at, struct code_declaration *d,
                              struct err *reterr)
{
    static const str types[] = {STR_INIT("auto")};
    struct path type_at = path_member(at, STR("type"));
    struct path files_at = path_member(at, STR("file_ids"));
    struct path limit_at = path_member(at, STR("memory_limit"));
    struct container_fields f = {0};

    if (fields_read_raw(raw, FIELDS(container_table), at, &f, reterr) == -1 ||
        tool_fields_check_texts(f.file_ids, &files_at, reterr) == -1)
        return -1;
    if (str_is_none(f.type))
        return reject_missing(&type_at, reterr);
    if (check_value(&type_at, f.type, types, 1, reterr) == -1 ||
        tool_own_check_memory(f.memory_limit, &limit_at, reterr) == -1)
        return -1;
    d->memory_limit = f.memory_limit;
    d->network_policy = f.network_policy;
    return jr_count(f.file_ids) > 0 ? reject_unsupported(&files_at, reterr) : 0;
}

static int read_container(str raw, const struct path *at, struct code_declaration *d,
                          struct err *reterr)
{
    if (str_is_none(raw))
        return reject_missing(at, reterr);
    if (jr_type_of(raw) == JR_OBJECT)
        return read_new_container(raw, at, d, reterr);
    d->container = field_text(raw);
    return d->container.len == 0 ? reject_empty(at, reterr) : 0;
}

int tool_own_read_code(str raw, const struct path *at, struct arena *a,
                       struct code_declaration *ret, struct err *reterr)
{
    struct code_fields {
        str container;
    } f = {0};
    static const struct field table[] = {
        FIELD(struct code_fields, container, FIELD_TEXT_OR_OBJECT),
    };
    struct path container_at = path_member(at, STR("container"));
    struct code_declaration d = {.container = STR_NONE};

    if (fields_read_raw(raw, FIELDS(table), at, &f, reterr) == -1 ||
        read_container(f.container, &container_at, &d, reterr) == -1 ||
        note_place(at, a, &d.at, reterr) == -1)
        return -1;
    *ret = d;
    return 0;
}

/* ---- web_search */

struct search_fields {
    str search_context_size, user_location, filters, external_web_access;
    str type, country, region, city, timezone; /* of user_location */
    str allowed_domains, blocked_domains;      /* of filters */
};

static const struct field search_table[] = {
    FIELD(struct search_fields, search_context_size, FIELD_TEXT),
    FIELD(struct search_fields, user_location, FIELD_OBJECT),
    FIELD(struct search_fields, filters, FIELD_OBJECT),
    FIELD(struct search_fields, external_web_access, FIELD_BOOLEAN),
};

static const struct field location_table[] = {
    FIELD(struct search_fields, type, FIELD_TEXT),
    FIELD(struct search_fields, country, FIELD_TEXT),
    FIELD(struct search_fields, region, FIELD_TEXT),
    FIELD(struct search_fields, city, FIELD_TEXT),
    FIELD(struct search_fields, timezone, FIELD_TEXT),
};

static const struct field filter_table[] = {
    FIELD(struct search_fields, allowed_domains, FIELD_ARRAY),
    FIELD(struct search_fields, blocked_domains, FIELD_ARRAY),
};

static int read_object(str raw, struct fields table, const struct path *at, struct search_fields *f,
                       struct err *reterr)
{
    return str_is_none(raw) ? 0 : fields_read_raw(raw, table, at, f, reterr);
}

static int read_search_types(str raw, const struct path *at, struct search_fields *f,
                             struct err *reterr)
{
    struct path location_at = path_member(at, STR("user_location"));
    struct path filters_at = path_member(at, STR("filters"));
    struct path allowed_at = path_member(&filters_at, STR("allowed_domains"));
    struct path blocked_at = path_member(&filters_at, STR("blocked_domains"));

    if (fields_read_raw(raw, FIELDS(search_table), at, f, reterr) == -1 ||
        read_object(f->user_location, FIELDS(location_table), &location_at, f, reterr) == -1 ||
        read_object(f->filters, FIELDS(filter_table), &filters_at, f, reterr) == -1 ||
        tool_fields_check_texts(f->allowed_domains, &allowed_at, reterr) == -1)
        return -1;
    return tool_fields_check_texts(f->blocked_domains, &blocked_at, reterr);
}

static int check_search_values(const struct search_fields *f, const struct path *at,
                               struct err *reterr)
{
    static const str sizes[] = {STR_INIT("low"), STR_INIT("medium"), STR_INIT("high")};
    static const str types[] = {STR_INIT("approximate")};
    struct path size_at = path_member(at, STR("search_context_size"));
    struct path location_at = path_member(at, STR("user_location"));
    struct path type_at = path_member(&location_at, STR("type"));

    if (check_value(&size_at, f->search_context_size, sizes, 3, reterr) == -1)
        return -1;
    return check_value(&type_at, f->type, types, 1, reterr);
}

int tool_own_read_search(str raw, const struct path *at, struct arena *a,
                         struct search_declaration *ret, struct err *reterr)
{
    struct search_fields f = {0};
    struct search_declaration d;

    if (read_search_types(raw, at, &f, reterr) == -1 || check_search_values(&f, at, reterr) == -1)
        return -1;
    d = (struct search_declaration){
        .size = f.search_context_size,
        .country = f.country,
        .region = f.region,
        .city = f.city,
        .timezone = f.timezone,
        .allowed_domains = f.allowed_domains,
        .blocked_domains = f.blocked_domains,
        .opens_pages = jr_type_of(f.external_web_access) != JR_FALSE,
    };
    if (note_place(at, a, &d.at, reterr) == -1)
        return -1;
    *ret = d;
    return 0;
}
