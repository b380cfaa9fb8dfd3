/* state_list.c -- the options of lists are checked like members of a body, so
 * that a mistake is told in the same words. */
#include "front/state_list.h"

#include "base/num.h"
#include "conv/reject.h"
#include "json/json_text.h"
#include "json/json_write.h"
#include "wire/request/request_check.h"

enum { DEFAULT_LIMIT = 20, MAX_LIMIT = 100 };

/* ---- limit */

static bool is_digits(str s)
{
    for (size_t i = 0; i < s.len; i++) {
        if (s.p[i] < '0' || s.p[i] > '9')
            return false;
    }
    return s.len > 0;
}

static int reject_limit(str text, bool is_below, struct err *reterr)
{
    err_set_param(
        reterr, is_below ? ERR_INTEGER_BELOW_MIN : ERR_INTEGER_ABOVE_MAX, "limit",
        "Invalid 'limit': integer %s value. Expected a value %s %d, but got %.*s instead.",
        is_below ? "below minimum" : "above maximum",
        is_below ? ">=" : "<=", is_below ? 1 : MAX_LIMIT, STR_ARG(text));
    return -1;
}

static int read_limit(str text, size_t *ret, struct err *reterr)
{
    const struct path at = path_member(NULL, STR("limit"));
    bool is_negative = str_starts_with(text, STR("-"));
    uint64_t n = UINT64_MAX; /* stays for what is larger still */

    *ret = DEFAULT_LIMIT;
    if (str_is_none(text))
        return 0;
    if (!is_digits(str_skip(text, is_negative ? 1 : 0)))
        return reject_type(&at, "an integer", "a string", reterr);
    if (!is_negative)
        (void)num_uint(text, &n);
    if (is_negative || n < 1 || n > MAX_LIMIT)
        return reject_limit(text, is_negative || n < 1, reterr);
    *ret = (size_t)n;
    return 0;
}

/* ---- words */

typedef int check_fn(const struct path *at, str escaped, struct err *reterr);

/* The checks of bodies take text as JSON has it. */
static int check_text(const struct path *at, str text, check_fn *check, struct err *reterr)
{
    struct buf escaped = {.limit = 0};
    int rc = -1;

    if (str_is_none(text))
        return 0;
    json_text_escape(text, &escaped);
    if (buf_failed(&escaped))
        err_set_no_memory(reterr);
    else
        rc = check(at, buf_str(&escaped), reterr);
    buf_fini(&escaped);
    return rc;
}

static int check_order(const struct path *at, str escaped, struct err *reterr)
{
    static const str orders[] = {STR_INIT("asc"), STR_INIT("desc")};

    return check_value(at, escaped, orders, 2, reterr);
}

static int check_flag(const struct path *at, str escaped, struct err *reterr)
{
    static const str flags[] = {STR_INIT("true"), STR_INIT("false")};

    return check_value(at, escaped, flags, 2, reterr);
}

int state_flag_read(const struct query *q, str name, bool *ret, struct err *reterr)
{
    const struct path at = path_member(NULL, name);
    str value = query_value(q, name);

    *ret = str_eq(value, STR("true"));
    return check_text(&at, value, check_flag, reterr);
}

/* SDKs write a list as include[]=a&include[]=b. */
int state_include_check(const struct query *q, struct err *reterr)
{
    const struct path at = path_member(NULL, STR("include"));

    for (size_t i = 0; i < q->n; i++) {
        const struct query_field *f = &q->fields[i];

        if (!str_eq(f->name, STR("include")) && !str_eq(f->name, STR("include[]")))
            continue;
        if (check_text(&at, f->value, request_check_include, reterr) == -1)
            return -1;
    }
    return 0;
}

int state_page_read(const struct query *q, struct store_page *ret, struct err *reterr)
{
    const struct path order_at = path_member(NULL, STR("order"));
    str order = query_value(q, STR("order"));
    str after = query_value(q, STR("after"));

    if (read_limit(query_value(q, STR("limit")), &ret->limit, reterr) == -1 ||
        check_text(&order_at, order, check_order, reterr) == -1 ||
        state_include_check(q, reterr) == -1)
        return -1;
    ret->ascending = str_eq(order, STR("asc"));
    ret->after = after.len == 0 ? STR_NONE : after;
    return 0;
}

/* ---- answers */

void state_items_write(const struct store_items *items, struct buf *out)
{
    for (size_t i = 0; i < items->n; i++) {
        if (i > 0)
            buf_char(out, ',');
        buf_append(out, items->v[i].body);
    }
}

void state_list_write(const struct store_list *list, struct buf *out)
{
    const struct store_items *items = &list->items;
    bool is_empty = items->n == 0;
    struct jw w = jw_to(out);

    jw_object(&w);
    jw_key_string(&w, "object", STR("list"));
    jw_key(&w, "data");
    jw_array(&w);
    state_items_write(items, out);
    jw_array_end(&w);
    jw_key_string(&w, "first_id", is_empty ? STR_NONE : items->v[0].id);
    jw_key_string(&w, "last_id", is_empty ? STR_NONE : items->v[items->n - 1].id);
    jw_key_bool(&w, "has_more", list->has_more);
    jw_object_end(&w);
}
