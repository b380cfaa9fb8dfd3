/* response_read.c -- the object of a response, taken apart (CONTRACT 3).
 *
 * Head and tail are read as the one object that they are without items; the members that repeat the
 * request are all that stands behind service_tier. */
#include "response/response_read.h"

#include <stdio.h>

#include "conv/fields.h"
#include "json/json_read.h"
#include "json/json_text.h"
#include "response/response_internal.h"

struct object_members {
    str id, created_at, completed_at, status, error, incomplete_details, usage, service_tier;
};

static const struct field object_table[] = {
    FIELD(struct object_members, id, FIELD_TEXT),
    FIELD(struct object_members, created_at, FIELD_INTEGER),
    FIELD(struct object_members, completed_at, FIELD_INTEGER),
    FIELD(struct object_members, status, FIELD_TEXT),
    FIELD(struct object_members, error, FIELD_OBJECT),
    FIELD(struct object_members, incomplete_details, FIELD_OBJECT),
    FIELD(struct object_members, usage, FIELD_OBJECT),
    FIELD(struct object_members, service_tier, FIELD_TEXT),
};

static int refuse_object(struct err *reterr)
{
    err_set(reterr, ERR_STORE, "The response is not stored as this gateway writes it.");
    return -1;
}

/* ---- an error */

/* The characters of an escaped text that fit, with a NUL behind them. False when out of memory. */
static bool read_text(str escaped, char *to, size_t cap)
{
    struct buf plain = {.limit = 0};
    bool ok;

    json_text_decode(escaped, &plain);
    (void)snprintf(to, cap, "%s", buf_cstr(&plain));
    ok = !buf_failed(&plain);
    buf_fini(&plain);
    return ok;
}

/* The error of these names; which of several is no matter, since nobody is told more of it. */
static void read_code(str type, str stream_code, struct err *e)
{
    for (e->code = ERR_NONE + 1; e->code < ERR_COUNT - 1; e->code++) {
        if (str_eq(type, str_from_c(err_type(e))) &&
            str_eq(stream_code, str_from_c(err_stream_code(e))))
            return;
    }
}

static struct err *read_error(str raw, struct arena *a)
{
    struct err *e = arena_alloc(a, sizeof(*e));

    if (e == NULL || !read_text(jr_member_string(raw, STR("message")), e->msg, sizeof(e->msg)) ||
        !read_text(jr_member_string(raw, STR("param")), e->param, sizeof(e->param)))
        return NULL;
    read_code(jr_member_string(raw, STR("type")), jr_member_string(raw, STR("code")), e);
    return e;
}

/* ---- the object */

static struct usage read_usage(str raw)
{
    const str input = jr_member(raw, STR("input_tokens_details"));
    const str output = jr_member(raw, STR("output_tokens_details"));

    return (struct usage){.known = !str_is_none(raw),
                          .input = jr_member_int(raw, STR("input_tokens"), 0),
                          .cached = jr_member_int(input, STR("cached_tokens"), 0),
                          .cache_write = jr_member_int(input, STR("cache_write_tokens"), 0),
                          .output = jr_member_int(raw, STR("output_tokens"), 0),
                          .reasoning = jr_member_int(output, STR("reasoning_tokens"), 0)};
}

static int64_t read_time(str raw)
{
    struct jr j;

    jr_init(&j, raw);
    return str_is_none(raw) ? 0 : jr_int(&j, 0);
}

/* What stands between service_tier and the end of the object. */
static str find_echo(str object, str service_tier)
{
    const size_t begin = (size_t)(service_tier.p - object.p) + service_tier.len + STR("\",").len;

    return begin < object.len ? str_from(object.p + begin, object.len - begin - 1) : STR("");
}

static const char *read_reason(str details, struct arena *a)
{
    const str reason = jr_member_string(details, STR("reason"));

    return json_text_copy(a, str_is_none(reason) ? STR("") : reason).p;
}

/* False when out of memory. */
static bool keep_members(struct response *r, const struct object_members *m, str object)
{
    struct arena *a = &r->arena;

    r->conf.created_at = read_time(m->created_at);
    r->conf.echo = arena_dup(a, find_echo(object, m->service_tier));
    r->completed_at = read_time(m->completed_at);
    r->usage = read_usage(m->usage);
    r->service_tier = arena_dup(a, m->service_tier);
    if (r->status == RESPONSE_INCOMPLETE)
        r->incomplete_reason = read_reason(m->incomplete_details, a);
    if (r->status == RESPONSE_FAILED)
        r->error = read_error(m->error, a);
    return !str_is_none(r->conf.echo) && !str_is_none(r->service_tier) &&
           (r->status != RESPONSE_INCOMPLETE || r->incomplete_reason != NULL) &&
           (r->status != RESPONSE_FAILED || r->error != NULL);
}

static int read_members(struct response *r, str object, struct err *reterr)
{
    struct object_members m = {.id = STR_NONE};

    if (!jr_is_valid(object) ||
        fields_read_raw(object, FIELDS(object_table), NULL, &m, NULL) == -1 ||
        str_is_none(m.service_tier) || !output_item_read_id(m.id, &r->id) ||
        !response_read_status(m.status, &r->status))
        return refuse_object(reterr);
    return keep_members(r, &m, object) ? 0 : err_set_no_memory(reterr);
}

/* Each by itself, since items stand between them. */
static int compare_texts(const struct response *r, str head, str tail, struct err *reterr)
{
    struct buf again_head = {.limit = 0}, again_tail = {.limit = 0};
    bool is_same, ran_out;

    response_object_head(r, &again_head);
    response_object_tail(r, &again_tail);
    ran_out = buf_failed(&again_head) || buf_failed(&again_tail);
    is_same = str_eq(buf_str(&again_head), head) && str_eq(buf_str(&again_tail), tail);
    buf_fini(&again_head);
    buf_fini(&again_tail);
    if (ran_out)
        return err_set_no_memory(reterr);
    return is_same ? 0 : refuse_object(reterr);
}

static int read_object(const struct response_conf *conf, str head, str tail, struct response *ret,
                       struct err *reterr)
{
    struct buf object = {.limit = 0};
    int rc;

    *ret = (struct response){.conf = *conf};
    ret->end = ret->round_begin = ret->replayed = &ret->first;
    buf_append(&object, head);
    buf_append(&object, tail);
    rc = buf_failed(&object) ? err_set_no_memory(reterr)
                             : read_members(ret, buf_str(&object), reterr);
    buf_fini(&object);
    return rc == 0 ? compare_texts(ret, head, tail, reterr) : -1;
}

/* ---- its items */

static int read_item(struct response *r, str body, struct err *reterr)
{
    struct output_item *item = arena_alloc(&r->arena, sizeof(*item));

    if (item == NULL)
        return err_set_no_memory(reterr);
    if (output_item_read(body, &r->arena, item, reterr) == -1)
        return -1;
    item->index = r->n_items++;
    *r->end = item;
    r->end = &item->next;
    return 0;
}

int response_read(const struct response_conf *conf, str head, str tail, const str *items,
                  size_t n_items, struct response *ret, struct err *reterr)
{
    int rc = read_object(conf, head, tail, ret, reterr);

    for (size_t i = 0; rc == 0 && i < n_items; i++)
        rc = read_item(ret, items[i], reterr);
    if (rc == -1)
        response_fini(ret);
    return rc;
}
