/* work_request.c -- writes and reads the request of background work. */
#include "turn/work_request.h"

#include "base/num.h"
#include "json/json_read.h"
#include "json/json_text.h"
#include "json/json_write.h"

/* ---- written */

static void write_plain(const struct work_request *r, struct buf *out)
{
    struct jw writer = jw_to(out), *w = &writer;

    jw_object(w);
    jw_key_string(w, "request_id", r->request_id);
    jw_key_string(w, "client", r->client);
    jw_key_bool(w, "is_named", r->is_named);
    if (!str_is_none(r->authorization))
        jw_key_string(w, "authorization", r->authorization);
    if (!str_is_none(r->traceparent))
        jw_key_string(w, "traceparent", r->traceparent);
    if (!str_is_none(r->tracestate))
        jw_key_string(w, "tracestate", r->tracestate);
    if (!str_is_none(r->scope)) {
        jw_key(w, "scope");
        jw_open_string(w);
        buf_hex(out, (const unsigned char *)r->scope.p, r->scope.len);
        jw_close_string(w);
    }
    jw_object_end(w);
    buf_char(out, '\n');
    buf_append(out, r->body);
}

static bool write_sealed(str plain, const struct text_seal *seal, struct buf *out)
{
    struct jw writer = jw_to(out), *w = &writer;
    bool ok;

    jw_object(w);
    jw_key(w, "sealed");
    jw_open_string(w);
    ok = seal->close(seal->arg, plain, out);
    jw_close_string(w);
    jw_object_end(w);
    return ok;
}

int work_request_write(const struct work_request *r, const struct text_seal *seal, struct buf *out,
                       struct err *reterr)
{
    struct buf plain = {.limit = 0};
    bool ok = true;

    if (seal == NULL) {
        write_plain(r, out);
    } else {
        write_plain(r, &plain);
        ok = !buf_failed(&plain) && write_sealed(buf_str(&plain), seal, out);
    }
    buf_fini(&plain);
    return ok && !buf_failed(out) ? 0 : err_set_no_memory(reterr);
}

/* ---- read */

static int reject_request(const char *why, struct err *reterr)
{
    err_set(reterr, ERR_INTERNAL, "The stored request of this response cannot be run: %s.", why);
    return -1;
}

/* Bytes from hexadecimal digits. */
static str read_hex(str digits, struct arena *a)
{
    char *bytes = arena_alloc(a, digits.len / 2 + 1);

    if (bytes == NULL)
        return STR_NONE;
    for (size_t i = 0; i + 1 < digits.len; i += 2) {
        const int high = num_hex_digit(digits.p[i]), low = num_hex_digit(digits.p[i + 1]);

        if (high == -1 || low == -1)
            return STR_NONE;
        bytes[i / 2] = (char)(high * 16 + low);
    }
    return str_from(bytes, digits.len / 2);
}

/* The line at its beginning is all that is looked through: the body is read when it is parsed. */
static int read_plain(str plain, struct arena *a, struct work_request *ret, struct err *reterr)
{
    const size_t n = str_find_char(plain, '\n');
    const str head = str_from(plain.p, n);
    const str scope = jr_is_valid(head) ? jr_member_string(head, STR("scope")) : STR_NONE;
    struct work_request r;

    if (n == plain.len || !jr_is_valid(head))
        return reject_request("it is damaged", reterr);
    r = (struct work_request){
        .body = str_skip(plain, n + 1),
        .request_id = json_text_dup(a, jr_member_string(head, STR("request_id"))),
        .client = json_text_dup(a, jr_member_string(head, STR("client"))),
        .is_named = str_eq(jr_member(head, STR("is_named")), STR("true")),
        .authorization = json_text_dup(a, jr_member_string(head, STR("authorization"))),
        .traceparent = json_text_dup(a, jr_member_string(head, STR("traceparent"))),
        .tracestate = json_text_dup(a, jr_member_string(head, STR("tracestate"))),
        .scope = str_is_none(scope) ? STR_NONE : read_hex(scope, a),
    };
    if (str_is_none(r.request_id) || str_is_none(r.client) ||
        str_is_none(r.scope) != str_is_none(scope))
        return reject_request("it is damaged", reterr);
    *ret = r;
    return 0;
}

int work_request_read(str stored, const struct text_seal *seal, struct arena *a,
                      struct work_request *ret, struct err *reterr)
{
    str sealed, plain;

    if (str_find_char(stored, '\n') < stored.len)
        return read_plain(stored, a, ret, reterr);
    sealed = jr_is_valid(stored) ? jr_member_string(stored, STR("sealed")) : STR_NONE;
    if (str_is_none(sealed))
        return reject_request("it is damaged", reterr);
    if (seal->open(seal->arg, sealed, a, &plain))
        return read_plain(plain, a, ret, reterr);
    return reject_request(
        "it has credentials that were sealed with a key which this gateway does not have "
        "(encryption_keys)",
        reterr);
}
