/* h1.c -- llhttp's callbacks and what llhttp leaves to its user.
 *
 * Layout of the buffer of the head:
 *
 *     target | record ... record          record: lengths, name, value
 *
 * llhttp is stopped at the end of the head, at the last chunk and at the end of
 * the message. So the state changes between two runs of the parser only, and a
 * limit on the bytes of the head is exact however they arrive: the parser is
 * never given more bytes than are still allowed.
 *
 * llhttp must be compiled with LLHTTP_STRICT_MODE=1. What it accepts even then
 * and we do not: a missing or repeated Host, codings other than chunked,
 * HTTP/0.9, and the lines that h1_lines.c refuses. It reads "chunked" before a
 * tab as another coding, so its word and ours on that are compared. */
#include "net/h1.h"

#include <assert.h>

#include "base/budget.h"
#include "base/url.h"

enum {
    KEEP_BUFFER_BYTES = 2048, /* an idle connection keeps no more */
    RESERVED_BODY_BYTES = 16384,
    FRAMING_PER_BODY = 8, /* a chunk of one byte takes six bytes: "1", CRLF, itself, CRLF */
};

/* Lengths in front of every name and value in the buffer. */
struct record {
    uint32_t name_len, value_len;
};

/* Fields that come once: of two, a server, a proxy and whoever looks between them could each take
 * another. */
static const struct {
    str name;
    const char *fault;
} single_fields[] = {
    {STR_INIT("authorization"), "The request has more than one Authorization header."},
    {STR_INIT("content-type"), "The request has more than one Content-Type header."},
    {STR_INIT("origin"), "The request has more than one Origin header."},
    {STR_INIT("idempotency-key"), "The request has more than one Idempotency-Key header."},
};

/* What llhttp's verdicts mean for the client; others are a plain 400. */
static const struct {
    llhttp_errno_t verdict;
    enum err_code code;
    const char *text;
} verdicts[] = {
    {HPE_INVALID_METHOD, ERR_BAD_REQUEST, "The request line has no known method."},
    {HPE_INVALID_URL, ERR_BAD_REQUEST, "The request target is malformed."},
    {HPE_INVALID_VERSION, ERR_BAD_REQUEST, "Only HTTP/1.1 and HTTP/1.0 are spoken here."},
    {HPE_PAUSED_H2_UPGRADE, ERR_HTTP_VERSION, "Only HTTP/1.1 and HTTP/1.0 are spoken here."},
    {HPE_INVALID_CONSTANT, ERR_BAD_REQUEST, "Only HTTP/1.1 and HTTP/1.0 are spoken here."},
    {HPE_UNEXPECTED_CONTENT_LENGTH, ERR_BAD_REQUEST,
     "Content-Length is repeated or stands beside Transfer-Encoding."},
    {HPE_INVALID_CONTENT_LENGTH, ERR_BAD_REQUEST, "Content-Length is not a number."},
    {HPE_INVALID_CHUNK_SIZE, ERR_BAD_REQUEST, "A chunk of the request body has no valid size."},
    {HPE_INVALID_TRANSFER_ENCODING, ERR_BAD_REQUEST,
     "Transfer-Encoding does not say where the body ends."},
};

#define FRAMING_TOO_LARGE "The chunk extensions and the trailer of the request are too large."

static struct h1 *request_of(llhttp_t *parser)
{
    return parser->data;
}

/* Stops the parser from inside a callback. */
static int fault_request(struct h1 *h, enum err_code code, const char *text)
{
    h->fault = code;
    h->fault_text = text;
    return HPE_USER;
}

static int fault_no_memory(struct h1 *h)
{
    return fault_request(h, ERR_OVERLOADED, "The server is out of memory.");
}

static int keep_bytes(struct h1 *h, const char *p, size_t n)
{
    buf_append(&h->bytes, str_from(p, n));
    return buf_failed(&h->bytes) ? fault_no_memory(h) : 0;
}

static int on_target(llhttp_t *parser, const char *p, size_t n)
{
    struct h1 *h = request_of(parser);

    for (size_t i = 0; i < n; i++) {
        if (p[i] <= 0x20 || p[i] == 0x7f || p[i] == '#')
            return fault_request(h, ERR_BAD_REQUEST,
                                 "The request target holds a forbidden character.");
    }
    h->target_len += n;
    return keep_bytes(h, p, n);
}

static int record_open(struct h1 *h)
{
    static const struct record empty = {0};

    if (h->n_headers == h->limits->max_headers)
        return fault_request(h, ERR_HEADERS_TOO_LARGE, "The request has too many header fields.");
    h->n_headers++;
    h->record_at = h->bytes.len;
    h->value_at = 0;
    return keep_bytes(h, (const char *)&empty, sizeof(empty));
}

static int on_name(llhttp_t *parser, const char *p, size_t n)
{
    struct h1 *h = request_of(parser);

    for (size_t i = 0; i < n; i++) {
        if (!header_is_name_char(p[i]))
            return fault_request(h, ERR_BAD_REQUEST, "A header name holds a forbidden character.");
    }
    if (h->state == H1_BODY)
        return 0; /* a trailer field: nothing of ours uses one */
    if (h->record_at == 0 && record_open(h) != 0)
        return HPE_USER;
    if (keep_bytes(h, p, n) != 0)
        return HPE_USER;
    str_lower(h->bytes.p + h->bytes.len - n, n);
    return 0;
}

static int on_name_complete(llhttp_t *parser)
{
    struct h1 *h = request_of(parser);

    if (h->state == H1_BODY)
        return 0;
    h->value_at = h->bytes.len;
    return 0;
}

static int on_value(llhttp_t *parser, const char *p, size_t n)
{
    struct h1 *h = request_of(parser);

    return h->state == H1_BODY ? 0 : keep_bytes(h, p, n);
}

static void note_single_field(struct h1 *h, str name)
{
    for (size_t i = 0; i < COUNT_OF(single_fields); i++) {
        if (!str_eq(name, single_fields[i].name))
            continue;
        if ((h->seen_fields & 1U << i) != 0)
            h->repeat_fault = single_fields[i].fault;
        h->seen_fields |= 1U << i;
    }
}

/* Notes the fields that decide how the message is read, and whose it is. */
static void note_field(struct h1 *h, str name, str value)
{
    if (str_eq(name, STR("host"))) {
        h->n_hosts++;
    } else if (str_eq(name, STR("transfer-encoding"))) {
        bool alone = h->coding == H1_CODING_NONE && str_eq_nocase(value, STR("chunked"));

        h->coding = alone ? H1_CODING_CHUNKED : H1_CODING_OTHER;
    } else if (str_eq(name, STR("expect"))) {
        h->expects_continue = str_eq_nocase(value, STR("100-continue"));
    } else {
        note_single_field(h, name);
    }
}

static int on_value_complete(llhttp_t *parser)
{
    struct h1 *h = request_of(parser);
    size_t name_at = h->record_at + sizeof(struct record);
    struct record r;
    str value;

    if (h->state == H1_BODY)
        return 0;
    value = str_trim(str_skip(buf_str(&h->bytes), h->value_at));
    h->bytes.len = h->value_at + value.len; /* llhttp has skipped leading spaces */
    r = (struct record){(uint32_t)(h->value_at - name_at), (uint32_t)value.len};
    memcpy(h->bytes.p + h->record_at, &r, sizeof(r));
    note_field(h, str_from(h->bytes.p + name_at, r.name_len), value);
    h->record_at = 0;
    return 0;
}

/* Length of "scheme://authority" in front of the path or query of an absolute target. */
static size_t target_origin(str target)
{
    struct url u;

    if (str_starts_with(target, STR("/")))
        return 0;
    u = url_split(target);
    return str_is_none(u.scheme) || str_is_none(u.authority) ? 0 : (size_t)(u.path.p - target.p);
}

static int check_request_line(struct h1 *h)
{
    str path = h1_path(h);

    if (h->parser.http_major != 1 || h->parser.http_minor > 1 ||
        h->parser.method > HTTP_SOURCE) /* RTSP */
        return fault_request(h, ERR_BAD_REQUEST, "Only HTTP/1.1 and HTTP/1.0 are spoken here.");
    if (h->parser.method == HTTP_CONNECT)
        return fault_request(h, ERR_NOT_IMPLEMENTED, "The method CONNECT is not supported.");
    if (str_eq(path, STR("*")) && h->parser.method == HTTP_OPTIONS)
        return 0;
    if (path.len == 0 || path.p[0] != '/')
        return fault_request(h, ERR_BAD_REQUEST, "The request target is malformed.");
    return 0;
}

/* True for a request that should tell the length of its body and does not. As far as its framing
 * goes it has none, but its client may mean to send one: all that follows could be misread. */
static bool lacks_length(const struct h1 *h)
{
    const llhttp_t *p = &h->parser;

    return (p->method == HTTP_POST || p->method == HTTP_PUT || p->method == HTTP_PATCH) &&
           (p->flags & (F_CONTENT_LENGTH | F_CHUNKED)) == 0;
}

static int check_head_fields(struct h1 *h)
{
    if (h->n_hosts > 1 || (h->n_hosts == 0 && !h->is_http_1_0))
        return fault_request(h, ERR_BAD_REQUEST, "The request must have exactly one Host header.");
    if (h->repeat_fault != NULL)
        return fault_request(h, ERR_BAD_REQUEST, h->repeat_fault);
    if (h->coding == H1_CODING_OTHER && (h->parser.flags & F_CHUNKED) != 0)
        return fault_request(h, ERR_NOT_IMPLEMENTED,
                             "No transfer coding but chunked is supported.");
    if (h->coding != H1_CODING_NONE &&
        (h->coding == H1_CODING_OTHER || h->is_http_1_0 || (h->parser.flags & F_CHUNKED) == 0))
        return fault_request(h, ERR_BAD_REQUEST,
                             "Transfer-Encoding does not say where the body ends.");
    if (lacks_length(h))
        return fault_request(h, ERR_LENGTH_REQUIRED,
                             "The request needs a Content-Length, or Transfer-Encoding: chunked.");
    if (h->parser.content_length > h->limits->max_body_bytes)
        return fault_request(h, ERR_REQUEST_TOO_LARGE, "The request body is too large.");
    return 0;
}

static int on_head_complete(llhttp_t *parser)
{
    struct h1 *h = request_of(parser);

    h->wants_upgrade = parser->upgrade != 0;
    parser->upgrade = 0; /* the body is read first, whatever the client wants then */
    h->keep_alive = llhttp_should_keep_alive(parser) != 0;
    h->is_http_1_0 = parser->http_minor == 0;
    h->has_body = parser->content_length > 0 || (parser->flags & F_CHUNKED) != 0;
    h->pause = H1_PAUSE_HEAD;
    h->has_head = true;
    return check_request_line(h) != 0 || check_head_fields(h) != 0 ? HPE_USER : HPE_PAUSED;
}

static int count_extension(struct h1 *h, size_t n)
{
    h->extension_bytes += n;
    if (h->extension_bytes > h->limits->max_head_bytes)
        return fault_request(h, ERR_HEADERS_TOO_LARGE, FRAMING_TOO_LARGE);
    return 0;
}

static int on_extension(llhttp_t *parser, const char *p, size_t n)
{
    (void)p;
    return count_extension(request_of(parser), n);
}

/* Counts a semicolon or an equals sign, behind which there may be nothing. */
static int on_extension_part(llhttp_t *parser)
{
    return count_extension(request_of(parser), 1);
}

static int on_chunk_head(llhttp_t *parser)
{
    struct h1 *h = request_of(parser);

    if (parser->content_length > h->limits->max_body_bytes - h->body.len)
        return fault_request(h, ERR_REQUEST_TOO_LARGE, "The request body is too large.");
    h->pause = H1_PAUSE_LAST_CHUNK;
    return parser->content_length == 0 ? HPE_PAUSED : 0;
}

/* A small body whose length is known takes one piece of memory. */
static void reserve_body(struct h1 *h, size_t n)
{
    uint64_t left = h->parser.content_length;

    (void)buf_reserve(&h->body, left < RESERVED_BODY_BYTES ? n + (size_t)left : n);
}

static int on_body(llhttp_t *parser, const char *p, size_t n)
{
    struct h1 *h = request_of(parser);

    if (h->body.p == NULL)
        reserve_body(h, n);
    buf_append(&h->body, str_from(p, n));
    return buf_failed(&h->body) ? fault_no_memory(h) : 0;
}

static int on_message_complete(llhttp_t *parser)
{
    request_of(parser)->pause = H1_PAUSE_END;
    return HPE_PAUSED;
}

static const llhttp_settings_t callbacks = {
    .on_url = on_target,
    .on_header_field = on_name,
    .on_header_field_complete = on_name_complete,
    .on_header_value = on_value,
    .on_header_value_complete = on_value_complete,
    .on_headers_complete = on_head_complete,
    .on_chunk_extension_name = on_extension,
    .on_chunk_extension_name_complete = on_extension_part,
    .on_chunk_extension_value = on_extension,
    .on_chunk_extension_value_complete = on_extension_part,
    .on_chunk_header = on_chunk_head,
    .on_body = on_body,
    .on_message_complete = on_message_complete,
};

static void start_request(struct h1 *h)
{
    const struct h1_limits *limits = h->limits;
    struct buf bytes = h->bytes;

    *h = (struct h1){.limits = limits, .bytes = bytes};
    h->allowed_bytes = limits->max_head_bytes;
    h->lines.max_lines = limits->max_headers + 1; /* with the request line */
    llhttp_init(&h->parser, HTTP_REQUEST, &callbacks);
    h->parser.data = h;
}

void h1_init(struct h1 *h, const struct h1_limits *limits)
{
    buf_init(&h->bytes, 0);
    h->limits = limits;
    start_request(h);
}

void h1_fini(struct h1 *h)
{
    buf_fini(&h->bytes);
    buf_fini(&h->body);
}

void h1_next(struct h1 *h)
{
    buf_fini(&h->body);
    if (h->bytes.cap > KEEP_BUFFER_BYTES)
        buf_fini(&h->bytes);
    buf_reset(&h->bytes);
    start_request(h);
}

/* CONTRACT 7: the message of a 413 names the limit. */
static void set_fault(const struct h1 *h, struct err *reterr)
{
    if (h->fault == ERR_REQUEST_TOO_LARGE)
        err_set(reterr, h->fault, "The request body is larger than %zu bytes.",
                h->limits->max_body_bytes);
    else if (h->fault == ERR_OVERLOADED && budget_was_refused())
        err_set_short_of_memory(reterr);
    else
        err_set(reterr, h->fault, "%s", h->fault_text);
}

static ssize_t fail_request(struct h1 *h, llhttp_errno_t verdict, struct err *reterr)
{
    h->state = H1_FAILED;
    if (h->fault != ERR_NONE) { /* llhttp reports it as a verdict on the callback */
        set_fault(h, reterr);
        return -1;
    }
    for (size_t i = 0; i < COUNT_OF(verdicts); i++) {
        if (verdicts[i].verdict == verdict) {
            err_set(reterr, verdicts[i].code, "%s", verdicts[i].text);
            return -1;
        }
    }
    err_set(reterr, ERR_BAD_REQUEST, "The request is not well-formed HTTP.");
    return -1;
}

/* True when the bytes that are left may not be fed; h->fault says why. */
static bool is_stopped(struct h1 *h)
{
    if (h->lines.fault != NULL)
        (void)fault_request(h, h->lines.is_full ? ERR_HEADERS_TOO_LARGE : ERR_BAD_REQUEST,
                            h->lines.fault);
    else if (h->allowed_bytes == 0 && h->state == H1_HEAD)
        (void)fault_request(h, ERR_HEADERS_TOO_LARGE,
                            "The request line and headers are too large.");
    else if (h->allowed_bytes == 0 && h->in_trailer)
        (void)fault_request(h, ERR_HEADERS_TOO_LARGE, FRAMING_TOO_LARGE);
    else if (h->allowed_bytes == 0)
        (void)fault_request(h, ERR_REQUEST_TOO_LARGE, "The request body is too large.");
    return h->fault != ERR_NONE;
}

static size_t allowed_for_body(const struct h1_limits *limits)
{
    if (limits->max_body_bytes > SIZE_MAX / FRAMING_PER_BODY - limits->max_head_bytes)
        return SIZE_MAX;
    return limits->max_body_bytes * FRAMING_PER_BODY + limits->max_head_bytes;
}

static size_t allowed_for_trailer(const struct h1 *h)
{
    size_t bytes = h->limits->max_head_bytes - h->extension_bytes;

    return bytes < h->allowed_bytes ? bytes : h->allowed_bytes;
}

/* Goes on where the parser has stopped itself. */
static void resume_request(struct h1 *h)
{
    llhttp_resume(&h->parser);
    switch (h->pause) {
    case H1_PAUSE_HEAD:
        h->state = H1_BODY;
        h->allowed_bytes = allowed_for_body(h->limits);
        break;
    case H1_PAUSE_LAST_CHUNK: /* lines follow, as in a head */
        h->in_trailer = true;
        h->allowed_bytes = allowed_for_trailer(h);
        h->lines = H1_LINES_TRAILER;
        break;
    case H1_PAUSE_END:
        h->state = H1_DONE;
        break;
    }
}

/* Lets the parser run until it stops or has eaten what it may; returns what it
 * has eaten, or -1. */
static ssize_t run_parser(struct h1 *h, str bytes, struct err *reterr)
{
    size_t n = bytes.len < h->allowed_bytes ? bytes.len : h->allowed_bytes;
    llhttp_errno_t verdict;

    if (h->state == H1_HEAD || h->in_trailer)
        n = h1_lines_scan(&h->lines, str_from(bytes.p, n));
    verdict = llhttp_execute(&h->parser, bytes.p, n);
    if (verdict == HPE_PAUSED)
        n = (size_t)(llhttp_get_error_pos(&h->parser) - bytes.p);
    else if (verdict != HPE_OK)
        return fail_request(h, verdict, reterr);
    h->allowed_bytes -= n;
    if (verdict == HPE_PAUSED)
        resume_request(h);
    return (ssize_t)n;
}

ssize_t h1_feed(struct h1 *h, str bytes, struct err *reterr)
{
    str rest = bytes;

    assert(h->state == H1_HEAD || h->state == H1_BODY);
    while (h->state != H1_DONE) {
        enum h1_state state = h->state;
        ssize_t n = run_parser(h, rest, reterr);

        if (n == -1)
            return -1;
        rest = str_skip(rest, (size_t)n);
        if (h->state == H1_BODY && state == H1_HEAD && h->has_body)
            break;
        if (h->state != state)
            continue; /* a message without body is complete without another byte */
        if (rest.len == 0)
            break;
        if (is_stopped(h))
            return fail_request(h, HPE_USER, reterr);
    }
    return (ssize_t)(bytes.len - rest.len);
}

bool h1_is_idle(const struct h1 *h)
{
    return h->state == H1_HEAD && h->allowed_bytes == h->limits->max_head_bytes;
}

str h1_method(const struct h1 *h)
{
    return str_from_c(llhttp_method_name((llhttp_method_t)h->parser.method));
}

static str request_target(const struct h1 *h)
{
    str whole = str_from(buf_str(&h->bytes).p, h->target_len);

    return str_skip(whole, target_origin(whole));
}

str h1_path(const struct h1 *h)
{
    str t = request_target(h), path = str_from(t.p, str_find_char(t, '?'));

    return path.len == 0 && h->target_len > 0 ? STR("/") : path; /* "http://host" */
}

str h1_query(const struct h1 *h)
{
    str t = request_target(h);

    return str_skip(t, str_find_char(t, '?') + 1);
}

str h1_body(const struct h1 *h)
{
    return buf_str(&h->body);
}

void h1_headers(const struct h1 *h, struct http_header *out)
{
    const char *p = buf_str(&h->bytes).p + h->target_len;

    for (size_t i = 0; i < h->n_headers; i++) {
        struct record r;

        memcpy(&r, p, sizeof(r));
        p += sizeof(r);
        out[i].name = str_from(p, r.name_len);
        out[i].value = str_from(p + r.name_len, r.value_len);
        p += r.name_len + r.value_len;
    }
}
