/* jsonrpc.c -- tell messages apart by the members they have.
 *
 * A text is checked as a whole before its first message is handed out. Only
 * texts that fail are looked at again: when bytes that are not UTF-8 are the
 * reason, they are replaced, since a tool may print a file of another encoding
 * and its call should not fail for that. */
#include "mcp/proto/jsonrpc.h"

#include "base/utf8.h"
#include "json/json_text.h"

/* ---- ids */

static bool is_digits(str s)
{
    for (size_t i = 0; i < s.len; i++) {
        if (s.p[i] < '0' || s.p[i] > '9')
            return false;
    }
    return s.len > 0;
}

/* All 64 bits count, so plain digits do not go through a double. */
static bool read_digits(str raw, int64_t *ret)
{
    bool negative = str_starts_with(raw, STR("-"));
    str digits = str_skip(raw, negative ? 1 : 0);
    int64_t n = 0;

    if (!is_digits(digits))
        return false;
    for (size_t i = 0; i < digits.len; i++) {
        if (__builtin_mul_overflow(n, 10, &n) || __builtin_sub_overflow(n, digits.p[i] - '0', &n))
            return false;
    }
    if (!negative && n == INT64_MIN)
        return false;
    *ret = negative ? n : -n;
    return true;
}

/* Peers whose numbers are all doubles may write 3 as 3.0. */
static bool read_integer(str raw, int64_t *ret)
{
    struct jr j;
    int64_t n;

    if (read_digits(raw, ret))
        return true;
    jr_init(&j, raw);
    n = jr_int(&j, INT64_MIN);
    if (n == INT64_MIN)
        return false;
    *ret = n;
    return true;
}

struct jsonrpc_id jsonrpc_id_of(str raw)
{
    struct jsonrpc_id id = {.kind = JSONRPC_ID_OTHER, .raw = raw};

    switch (jr_type_of(raw)) {
    case JR_NONE:
        id.kind = JSONRPC_ID_ABSENT;
        break;
    case JR_NULL:
        id.kind = JSONRPC_ID_NULL;
        break;
    case JR_STRING:
        id.kind = JSONRPC_ID_STRING;
        break;
    case JR_NUMBER:
        if (read_integer(raw, &id.number))
            id.kind = JSONRPC_ID_INT;
        break;
    default:
        break;
    }
    return id;
}

bool jsonrpc_id_is(const struct jsonrpc_id *id, int64_t number)
{
    return id->kind == JSONRPC_ID_INT && id->number == number;
}

/* ---- reading */

void jsonrpc_reader_init(struct jsonrpc_reader *r, str text)
{
    *r = (struct jsonrpc_reader){.done = false};
    if (str_starts_with(text, STR("\xEF\xBB\xBF")))
        text = str_skip(text, 3);
    r->is_json = jr_is_valid(text);
    if (!r->is_json && !utf8_is_valid(text)) {
        utf8_repair(text, &r->repaired);
        text = buf_str(&r->repaired);
        r->is_json = !buf_failed(&r->repaired) && jr_is_valid(text);
    }
    jr_init(&r->j, text);
    if (r->is_json && jr_peek(&r->j) == JR_ARRAY)
        r->in_array = jr_enter(&r->j, JR_ARRAY);
}

void jsonrpc_reader_fini(struct jsonrpc_reader *r)
{
    buf_fini(&r->repaired);
}

/* The members that tell what a message is. */
struct members {
    str version, id, method, params, result, error;
};

static struct members read_members(struct jr *j)
{
    struct members m = {.id = STR_NONE};
    const struct {
        str name;
        str *value;
    } known[] = {
        {STR("jsonrpc"), &m.version}, {STR("id"), &m.id},         {STR("method"), &m.method},
        {STR("params"), &m.params},   {STR("result"), &m.result}, {STR("error"), &m.error},
    };
    const size_t n_known = COUNT_OF(known);
    str key;

    if (!jr_enter(j, JR_OBJECT))
        return m;
    while (jr_next_member(j, &key)) {
        size_t i = 0;

        while (i < n_known && !str_eq(key, known[i].name))
            i++;
        if (i < n_known)
            *known[i].value = jr_raw(j);
        else
            jr_skip(j);
    }
    return m;
}

/* A request with the id null is what JSON-RPC 1.0 calls a notification, and
 * MCP forbids it otherwise. A log line that is JSON by chance has no version. */
static enum jsonrpc_kind message_kind(const struct members *m, const struct jsonrpc_id *id)
{
    if (!json_text_eq(jr_string_of(m->version), STR("2.0")))
        return JSONRPC_INVALID;
    if (jr_type_of(m->method) == JR_STRING) {
        if (id->kind == JSONRPC_ID_OTHER)
            return JSONRPC_INVALID;
        return id->kind == JSONRPC_ID_ABSENT || id->kind == JSONRPC_ID_NULL ? JSONRPC_NOTIFICATION
                                                                            : JSONRPC_REQUEST;
    }
    if (!str_is_none(m->method))
        return JSONRPC_INVALID;
    if (jr_type_of(m->error) == JR_OBJECT) /* some write `"result":null` beside it */
        return JSONRPC_ERROR;
    return str_is_none(m->result) ? JSONRPC_INVALID : JSONRPC_RESULT;
}

static void read_error(struct jsonrpc_message *m, str error)
{
    m->message = jr_member_string(error, STR("message"));
    m->error_data = jr_member(error, STR("data"));
    (void)read_integer(jr_member(error, STR("code")), &m->code);
}

static struct jsonrpc_message read_message(struct jr *j)
{
    struct members raw = read_members(j);
    struct jsonrpc_message m = {.id = jsonrpc_id_of(raw.id)};

    m.kind = message_kind(&raw, &m.id);
    if (m.kind == JSONRPC_REQUEST || m.kind == JSONRPC_NOTIFICATION) {
        m.method = jr_string_of(raw.method);
        m.params = raw.params;
    } else if (m.kind == JSONRPC_RESULT) {
        m.result = raw.result;
    } else if (m.kind == JSONRPC_ERROR) {
        read_error(&m, raw.error);
    }
    return m;
}

enum jsonrpc_kind jsonrpc_next(struct jsonrpc_reader *r, struct jsonrpc_message *ret)
{
    *ret = (struct jsonrpc_message){.kind = JSONRPC_END};
    if (r->done)
        return JSONRPC_END;
    if (!r->is_json) {
        r->done = true;
        ret->kind = JSONRPC_INVALID;
    } else if (!r->in_array) {
        r->done = true;
        *ret = read_message(&r->j);
    } else if (jr_next_element(&r->j)) {
        *ret = read_message(&r->j);
    } else {
        r->done = true;
    }
    return ret->kind;
}

bool jsonrpc_is(const struct jsonrpc_message *m, str method)
{
    return !str_is_none(m->method) && json_text_eq(m->method, method);
}

/* ---- writing */

static struct jw begin_message(struct buf *out)
{
    struct jw w = jw_to(out);

    jw_object(&w);
    jw_key_string(&w, "jsonrpc", STR("2.0"));
    return w;
}

struct jw jsonrpc_begin_request(struct buf *out, int64_t id, const char *method)
{
    struct jw w = begin_message(out);

    jw_key_int(&w, "id", id);
    jw_key_string(&w, "method", str_from_c(method));
    return w;
}

struct jw jsonrpc_begin_notification(struct buf *out, const char *method)
{
    struct jw w = begin_message(out);

    jw_key_string(&w, "method", str_from_c(method));
    return w;
}

void jsonrpc_end(struct jw *w)
{
    jw_object_end(w);
}

void jsonrpc_write_result(struct buf *out, const struct jsonrpc_id *id, str result)
{
    struct jw w = begin_message(out);

    jw_key_raw(&w, "id", id->raw);
    jw_key_raw(&w, "result", result);
    jsonrpc_end(&w);
}

void jsonrpc_write_error(struct buf *out, const struct jsonrpc_id *id, int64_t code,
                         const char *message)
{
    struct jw w = begin_message(out);

    jw_key_raw(&w, "id", id->raw);
    jw_key(&w, "error");
    jw_object(&w);
    jw_key_int(&w, "code", code);
    jw_key_string(&w, "message", str_from_c(message));
    jw_object_end(&w);
    jsonrpc_end(&w);
}
