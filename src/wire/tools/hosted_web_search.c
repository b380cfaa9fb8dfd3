/* hosted_web_search.c -- the tool web_search: its declaration, and what the model is told of it.
 * What a call shows is in search_action.h. */
#include "conv/fields.h"
#include "json/json_read.h"
#include "wire/tools/hosted_tool.h"
#include "wire/tools/search_action.h"
#include "wire/tools/tool_fields.h"

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

    if (check_value(&size_at, f->search_context_size, LIST_OF(sizes), reterr) == -1)
        return -1;
    return check_value(&type_at, f->type, LIST_OF(types), reterr);
}

/* opens_pages is what the request and the gateway both allow. */
static int read_search(const struct hosted_declared *declared, struct tool *t, struct err *reterr)
{
    struct search_declaration *d = arena_alloc(declared->arena, sizeof(*d));
    struct search_fields f = {0};

    if (d == NULL)
        return err_set_no_memory(reterr);
    if (read_search_types(declared->raw, declared->at, &f, reterr) == -1 ||
        check_search_values(&f, declared->at, reterr) == -1)
        return -1;
    *d = (struct search_declaration){
        .size = f.search_context_size,
        .country = f.country,
        .region = f.region,
        .city = f.city,
        .timezone = f.timezone,
        .allowed_domains = f.allowed_domains,
        .blocked_domains = f.blocked_domains,
        .opens_pages =
            declared->options->serves_pages && jr_type_of(f.external_web_access) != JR_FALSE,
    };
    t->search = d;
    return hosted_note_place(declared, &d->at, reterr);
}

/* ---- what the model is told */

static str search_parameters(const struct tool *t)
{
    static const str with_pages = STR_INIT(
        "{\"type\":\"object\",\"properties\":{"
        "\"action\":{\"type\":\"string\",\"enum\":[\"search\",\"open_page\",\"find_in_page\"],"
        "\"description\":\"search: the results for query. open_page: the page at url. "
        "find_in_page: where pattern occurs in the page at url.\"},"
        "\"query\":{\"type\":\"string\",\"description\":\"What to search for.\"},"
        "\"url\":{\"type\":\"string\",\"description\":\"The address of a page. find_in_page "
        "takes the last page without it.\"},"
        "\"pattern\":{\"type\":\"string\",\"description\":\"The exact text to find.\"}},"
        "\"required\":[\"action\"],\"additionalProperties\":false}");
    static const str search_only =
        STR_INIT("{\"type\":\"object\",\"properties\":{"
                 "\"action\":{\"type\":\"string\",\"enum\":[\"search\"]},"
                 "\"query\":{\"type\":\"string\",\"description\":\"What to search for.\"}},"
                 "\"required\":[\"action\",\"query\"],\"additionalProperties\":false}");

    return t->search->opens_pages ? with_pages : search_only;
}

const struct hosted_tool hosted_web_search = {
    .read = read_search,
    .description = STR_INIT(
        "Search the web and read pages. What an action gives you begins with its number, "
        "`[cursor]`, and has numbered lines, `L0:`, `L1:` and so on. Cite the lines that support "
        "a statement right after it, as 【cursor†L3-L5】 or 【cursor†L3】. Only cursors you have "
        "been given can be cited."),
    .parameters = search_parameters,
    .show = search_action,
};
