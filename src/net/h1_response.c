/* h1_response.c -- llhttp's callbacks for responses.
 *
 * llhttp is stopped at the end of the head and at the end of each message, 1xx
 * ones included, so the state changes between two runs of it only. The bytes of
 * all heads together are limited, exactly: the parser is never given more of
 * them than are still allowed.
 *
 * llhttp must be compiled with LLHTTP_STRICT_MODE=1. */
#include "net/h1_response.h"

#include <assert.h>

/* A byte of the body may come in a chunk of its own; no server sends extensions. */
enum { FRAMING_A_BYTE = 32 };

static struct h1_response *response_of(llhttp_t *parser)
{
    return parser->data;
}

/* Stops the parser from inside a callback. */
static int fault_response(struct h1_response *r, enum h1_response_fault fault)
{
    r->fault = fault;
    return HPE_USER;
}

static int keep_bytes(struct h1_response *r, const char *p, size_t n)
{
    buf_append(&r->fields, str_from(p, n));
    return buf_failed(&r->fields) ? fault_response(r, H1_FAULT_NO_MEMORY) : 0;
}

/* Keeps a piece of a name or of a value. A trailer field is left out: nothing of ours uses one. */
static int on_field_piece(llhttp_t *parser, const char *p, size_t n)
{
    struct h1_response *r = response_of(parser);

    return r->state == H1_RESPONSE_BODY ? 0 : keep_bytes(r, p, n);
}

static int on_name_complete(llhttp_t *parser)
{
    struct h1_response *r = response_of(parser);

    if (r->state == H1_RESPONSE_BODY)
        return 0;
    if (r->fields.len == r->name_at)
        return fault_response(r, H1_FAULT_NOT_HTTP);
    str_lower(r->fields.p + r->name_at, r->fields.len - r->name_at);
    if (keep_bytes(r, "", 1) != 0)
        return HPE_USER;
    r->value_at = r->fields.len;
    return 0;
}

static int on_value_complete(llhttp_t *parser)
{
    struct h1_response *r = response_of(parser);
    str name, value;

    if (r->state == H1_RESPONSE_BODY)
        return 0;
    name = str_from_c(r->fields.p + r->name_at);
    value = str_trim(str_skip(buf_str(&r->fields), r->value_at));
    r->fields.len = r->value_at + value.len; /* llhttp has skipped leading spaces */
    if (str_eq(name, STR("transfer-encoding"))) {
        r->is_coded = r->is_coded || !str_eq_nocase(value, STR("chunked"));
        r->has_coding = true;
    }
    r->n_headers++;
    r->name_at = r->fields.len + 1;
    return keep_bytes(r, "", 1);
}

static bool is_informational(const struct h1_response *r)
{
    return r->parser.status_code >= 100 && r->parser.status_code < 200;
}

/* llhttp reads "chunked" before a tab as another coding, and the body after it up
 * to the end of the stream: its word and ours on that are compared. */
static bool is_chunked_or_plain(const struct h1_response *r)
{
    return !r->has_coding || (!r->is_coded && (r->parser.flags & F_CHUNKED) != 0);
}

/* RFC 9112, 6.1: a coding in HTTP/1.0 is no framing to build on. */
static bool may_be_kept(const struct h1_response *r)
{
    return llhttp_should_keep_alive(&r->parser) != 0 &&
           !(r->has_coding && r->parser.http_minor == 0);
}

static int on_head_complete(llhttp_t *parser)
{
    struct h1_response *r = response_of(parser);
    unsigned status = parser->status_code;

    parser->upgrade = 0;
    if (parser->http_major != 1 || status < 100 || status == 101) /* nobody asked to change */
        return fault_response(r, H1_FAULT_NOT_HTTP);
    if (is_informational(r) || status == 204 || status == 304 || r->has_no_body)
        parser->flags |= F_SKIPBODY;
    else if (!is_chunked_or_plain(r))
        return fault_response(r, H1_FAULT_CODING);
    if (is_informational(r))
        return 0;
    r->status = (int)status;
    r->ends_by_close = llhttp_message_needs_eof(parser) != 0;
    r->keep_alive = may_be_kept(r);
    return HPE_PAUSED;
}

/* Takes what stands between the body's bytes, up to byte `to`. False when it is too much. */
static bool take_framing(struct h1_response *r, size_t to)
{
    size_t n = to - r->framed_to;

    r->framed_to = to;
    if (n > r->allowed_bytes)
        return false;
    r->allowed_bytes -= n;
    return true;
}

static void allow_framing(struct h1_response *r, size_t n_body_bytes)
{
    size_t missing = r->max_head_bytes - r->allowed_bytes;

    r->allowed_bytes +=
        n_body_bytes > missing / FRAMING_A_BYTE ? missing : n_body_bytes * FRAMING_A_BYTE;
}

static int on_body(llhttp_t *parser, const char *p, size_t n)
{
    struct h1_response *r = response_of(parser);
    size_t at = (size_t)(p - r->piece);

    if (!take_framing(r, at))
        return fault_response(r, H1_FAULT_FRAMING);
    r->framed_to = at + n;
    allow_framing(r, n);
    if (r->body_bytes == 0)
        r->body_at = at;
    else if (at != r->body_at + r->body_bytes)
        memmove(r->piece + r->body_at + r->body_bytes, p, n);
    r->body_bytes += n;
    return 0;
}

static int on_message_complete(llhttp_t *parser)
{
    (void)parser;
    return HPE_PAUSED;
}

static const llhttp_settings_t callbacks = {
    .on_header_field = on_field_piece,
    .on_header_field_complete = on_name_complete,
    .on_header_value = on_field_piece,
    .on_header_value_complete = on_value_complete,
    .on_headers_complete = on_head_complete,
    .on_body = on_body,
    .on_message_complete = on_message_complete,
};

static void start_head(struct h1_response *r)
{
    llhttp_init(&r->parser, HTTP_RESPONSE, &callbacks);
    r->parser.data = r;
    buf_reset(&r->fields);
    r->name_at = 0;
    r->n_headers = 0;
    r->has_coding = r->is_coded = false;
}

void h1_response_init(struct h1_response *r, size_t max_head_bytes, bool is_answer_to_head)
{
    *r = (struct h1_response){.allowed_bytes = max_head_bytes,
                              .max_head_bytes = max_head_bytes,
                              .has_no_body = is_answer_to_head};
    start_head(r);
}

void h1_response_fini(struct h1_response *r)
{
    buf_fini(&r->fields);
}

static ssize_t fail_response(struct h1_response *r, enum h1_response_fault otherwise)
{
    if (r->fault == H1_FAULT_NONE)
        r->fault = otherwise;
    r->state = H1_RESPONSE_FAILED;
    return -1;
}

/* Goes on where the parser has stopped itself. */
static void resume_response(struct h1_response *r)
{
    if (r->state == H1_RESPONSE_BODY) {
        r->state = H1_RESPONSE_DONE;
    } else if (is_informational(r)) {
        start_head(r);
    } else {
        llhttp_resume(&r->parser);
        r->state = H1_RESPONSE_BODY;
    }
}

/* Lets the parser run until it stops or has eaten what it may; returns what it
 * has eaten, or -1. */
static ssize_t run_parser(struct h1_response *r, char *p, size_t n)
{
    bool in_head = r->state == H1_RESPONSE_HEAD;
    llhttp_errno_t verdict;

    if (in_head && n > r->allowed_bytes)
        n = r->allowed_bytes;
    verdict = llhttp_execute(&r->parser, p, n);
    if (verdict != HPE_OK && verdict != HPE_PAUSED && !in_head && r->fault == H1_FAULT_NONE &&
        !take_framing(r, (size_t)(llhttp_get_error_pos(&r->parser) - r->piece)))
        return fail_response(r, H1_FAULT_FRAMING);
    if (verdict != HPE_OK && verdict != HPE_PAUSED)
        return fail_response(r, in_head ? H1_FAULT_NOT_HTTP : H1_FAULT_CHUNK);
    if (verdict == HPE_PAUSED) {
        n = (size_t)(llhttp_get_error_pos(&r->parser) - p);
        resume_response(r);
    }
    if (in_head)
        r->allowed_bytes = r->state == H1_RESPONSE_HEAD ? r->allowed_bytes - n : r->max_head_bytes;
    return (ssize_t)n;
}

ssize_t h1_response_feed(struct h1_response *r, char *p, size_t n, str *ret_body)
{
    enum h1_response_state state = r->state;
    ssize_t used = 0, taken = 0;

    assert(state == H1_RESPONSE_HEAD || state == H1_RESPONSE_BODY);
    r->begun = r->begun || n > 0;
    r->piece = p;
    r->body_at = r->body_bytes = r->framed_to = 0;
    do {
        taken = run_parser(r, p + used, n - (size_t)used);
        used += taken;
    } while (taken != -1 && r->state == state && (size_t)used < n &&
             (state == H1_RESPONSE_BODY || r->allowed_bytes > 0));
    if (taken != -1 && state == H1_RESPONSE_BODY && !take_framing(r, (size_t)used))
        taken = fail_response(r, H1_FAULT_FRAMING);
    *ret_body = str_from(p + r->body_at, r->body_bytes);
    if (taken != -1 && r->state == H1_RESPONSE_HEAD && (size_t)used < n)
        taken = fail_response(r, H1_FAULT_HEAD_LIMIT);
    return taken == -1 ? -1 : used;
}

bool h1_response_end(struct h1_response *r)
{
    if (r->state == H1_RESPONSE_BODY && r->ends_by_close)
        r->state = H1_RESPONSE_DONE;
    return r->state == H1_RESPONSE_DONE;
}

void h1_response_headers(const struct h1_response *r, struct http_header *out)
{
    const char *p = r->fields.p;

    for (size_t i = 0; i < r->n_headers; i++) {
        out[i].name = str_from_c(p);
        out[i].value = str_from_c(p + out[i].name.len + 1);
        p = out[i].value.p + out[i].value.len + 1;
    }
}

void h1_response_drop_head(struct h1_response *r)
{
    buf_fini(&r->fields);
    r->n_headers = 0;
}
