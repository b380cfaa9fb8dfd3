/* ws_handshake.c -- the headers of a handshake.
 *
 * A list may stand in one line or in several (RFC 9110, 5.3); what comes once in a handshake may not
 * come twice, since a server and a proxy could each take another of the two. */
#include "http/ws_handshake.h"

#include <openssl/evp.h>

#include "base/base64.h"
#include "base/url.h"
#include "http/origin_check.h"
#include "net/address.h"

#define KEY_PREFIX "openai-insecure-api-key."

enum {
    KEY_BYTES = 16,
    KEY_LETTERS = 24,
    SHA1_BYTES = 20,
    MAX_PROTOCOLS = 32,
    MAX_ADDRESS_CHARS = 64,
};

/* ---- lists */

/* Where in the values of a header a list is read. */
struct list {
    const struct http_request *request;
    str name;
    size_t next; /* header to look at when the rest is used up */
    str rest;
    bool has_rest;
};

static struct list list_of(const struct http_request *r, str name)
{
    return (struct list){.request = r, .name = name};
}

/* The next element, which may be empty; false when there is none. */
static bool list_next(struct list *l, str *ret)
{
    const struct http_request *r = l->request;

    while (!l->has_rest && l->next < r->n_headers) {
        const struct http_header *h = &r->headers[l->next++];

        l->has_rest = str_eq(h->name, l->name);
        l->rest = h->value;
    }
    if (!l->has_rest)
        return false;
    l->has_rest = str_find_char(l->rest, ',') < l->rest.len;
    *ret = str_trim(str_cut(&l->rest, ','));
    return true;
}

static bool list_has(const struct http_request *r, str name, str wanted)
{
    struct list l = list_of(r, name);

    for (str element; list_next(&l, &element);) {
        if (str_eq_nocase(element, wanted))
            return true;
    }
    return false;
}

static size_t count_headers(const struct http_request *r, str name)
{
    size_t n = 0;

    for (size_t i = 0; i < r->n_headers; i++)
        n += str_eq(r->headers[i].name, name);
    return n;
}

/* ---- what is asked */

bool ws_handshake_is_meant(const struct http_request *r)
{
    return str_eq(r->method, STR("GET")) &&
           (list_has(r, STR("upgrade"), STR("websocket")) ||
            !str_is_none(http_request_header(r, STR("sec-websocket-key"))));
}

/* ---- the origin */

/* True for an IP address and for localhost, which no page can make to lead elsewhere. */
static bool is_sure_place(const struct url *place)
{
    struct address_list addresses;
    str host = url_bare_host(place);
    char text[MAX_ADDRESS_CHARS];

    if (host.len == 0 || host.len >= sizeof(text))
        return false;
    memcpy(text, host.p, host.len);
    text[host.len] = '\0';
    return address_of_literal(text, &addresses);
}

static str port_of(const struct url *place, bool is_https)
{
    if (place->port.len > 0)
        return place->port;
    return is_https ? STR("443") : STR("80");
}

/* True when the page was loaded from the very place that it connects to. */
static bool is_own_page(str origin, str host)
{
    struct url page = url_split(origin), ours = url_split_authority(host);

    return url_is_http(&page) && url_host_is_clear(&page) && url_host_is_clear(&ours) &&
           str_is_none(page.userinfo) && str_is_none(ours.userinfo) && is_sure_place(&ours) &&
           str_eq_nocase(page.host, ours.host) &&
           str_eq(port_of(&page, url_is_https(&page)), port_of(&ours, url_is_https(&page)));
}

int ws_handshake_check_origin(const struct origin_policy *policy, const struct http_request *r,
                              struct err *reterr)
{
    enum { SHOWN_BYTES = 256 };
    str origin = http_request_header(r, STR("origin"));
    str shown = str_from(origin.p, origin.len < SHOWN_BYTES ? origin.len : SHOWN_BYTES);

    if (str_is_none(origin) || !str_is_none(cors_allowed_origin(&policy->cors, origin)) ||
        is_own_page(origin, http_request_header(r, STR("host"))))
        return 0;
    err_set(
        reterr, ERR_PERMISSION_DENIED,
        "Pages of the origin '%.*s' may not open a WebSocket here. To let them, add %.*s to the "
        "configuration key cors_origins; without that, only pages that this gateway's IP address "
        "or localhost has shown may.",
        STR_ARG(shown), STR_ARG(shown));
    return -1;
}

/* ---- subprotocols */

/* The key in an element; STR_NONE when it is no key. */
static str key_in(str protocol)
{
    const str prefix = STR(KEY_PREFIX);

    return str_starts_with(protocol, prefix) && protocol.len > prefix.len
               ? str_skip(protocol, prefix.len)
               : STR_NONE;
}

str ws_handshake_authorization(const struct http_request *r, struct arena *a)
{
    const str scheme = STR("Bearer ");
    str sent = http_request_header(r, STR("authorization")), key = STR_NONE;
    struct list l = list_of(r, STR("sec-websocket-protocol"));
    char *text;

    if (!str_is_none(sent))
        return sent;
    for (str protocol; str_is_none(key) && list_next(&l, &protocol);)
        key = key_in(protocol);
    text = str_is_none(key) ? NULL : arena_alloc(a, scheme.len + key.len);
    if (text == NULL)
        return STR_NONE;
    memcpy(text, scheme.p, scheme.len);
    memcpy(text + scheme.len, key.p, key.len);
    return str_from(text, scheme.len + key.len);
}

str ws_handshake_protocol(const struct http_request *r)
{
    struct list l = list_of(r, STR("sec-websocket-protocol"));
    str chosen = STR_NONE;

    for (str protocol; list_next(&l, &protocol);) {
        if (str_is_none(key_in(protocol)))
            return protocol;
        if (str_is_none(chosen))
            chosen = protocol;
    }
    return chosen;
}

/* RFC 9110, 5.6.2. */
static bool is_token(str s)
{
    for (size_t i = 0; i < s.len; i++) {
        if (s.p[i] <= ' ' || s.p[i] > '~' || strchr("\"(),/:;<=>?@[\\]{}", s.p[i]) != NULL)
            return false;
    }
    return s.len > 0;
}

/* RFC 6455, 4.1: tokens, none of them twice. */
static bool protocols_are_right(const struct http_request *r)
{
    struct list l = list_of(r, STR("sec-websocket-protocol"));
    str seen[MAX_PROTOCOLS], protocol;
    size_t n = 0;

    while (list_next(&l, &protocol)) {
        if (n == MAX_PROTOCOLS || !is_token(protocol) || str_is_one_of(protocol, seen, n))
            return false;
        seen[n++] = protocol;
    }
    return true;
}

/* ---- is it right? */

/* Base64 of 16 bytes: whatever they are, since they prove only that we have read them. */
static bool is_key(str key)
{
    char bytes[KEY_BYTES];
    str letters = base64_unpadded(key);

    return key.len == KEY_LETTERS && !str_is_none(letters) &&
           base64url_bytes(letters.len) == KEY_BYTES && base64_read(letters, bytes);
}

/* What is malformed; NULL when nothing is. */
static const char *fault_of(const struct http_request *r)
{
    if (r->is_http_1_0)
        return "it needs HTTP/1.1.";
    if (!r->wants_upgrade || !list_has(r, STR("upgrade"), STR("websocket")))
        return "it needs the headers 'Connection: upgrade' and 'Upgrade: websocket'. A proxy in "
               "between may have taken them away.";
    if (r->has_body)
        return "it has a body.";
    if (count_headers(r, STR("sec-websocket-version")) != 1)
        return "it needs the header 'Sec-WebSocket-Version: 13', once.";
    if (count_headers(r, STR("sec-websocket-key")) != 1 ||
        !is_key(http_request_header(r, STR("sec-websocket-key"))))
        return "it needs the header 'Sec-WebSocket-Key' with 16 bytes in base64, once.";
    if (!protocols_are_right(r))
        return "Sec-WebSocket-Protocol must hold different tokens, 32 at most.";
    return NULL;
}

int ws_handshake_check(const struct http_request *r, struct err *reterr)
{
    str version = http_request_header(r, STR("sec-websocket-version"));
    const char *fault = fault_of(r);

    if (fault != NULL) {
        err_set(reterr, ERR_BAD_REQUEST, "The WebSocket handshake is malformed: %s", fault);
        return -1;
    }
    if (!str_eq(version, STR("13"))) {
        err_set(reterr, ERR_UPGRADE_REQUIRED,
                "Version 13 of WebSocket is spoken here (Sec-WebSocket-Version: 13).");
        return -1;
    }
    return 0;
}

/* ---- the answer */

/* RFC 6455, 4.2.2: by the SHA-1 of the key and a constant a client sees that it is a WebSocket that
 * has answered. Nothing is secret about it. */
bool ws_handshake_accept(const struct http_request *r, char accept[WS_ACCEPT_LETTERS])
{
    struct buf text = {.limit = 0};
    unsigned char hash[SHA1_BYTES];
    bool ok;

    buf_append(&text, http_request_header(r, STR("sec-websocket-key")));
    buf_c(&text, "258EAFA5-E914-47DA-95CA-C5AB0DC85B11");
    ok = !buf_failed(&text) && EVP_Digest(text.p, text.len, hash, NULL, EVP_sha1(), NULL) == 1;
    buf_reset(&text);
    if (ok)
        base64_write(str_from((const char *)hash, sizeof(hash)), &text);
    ok = ok && text.len == WS_ACCEPT_LETTERS;
    if (ok)
        memcpy(accept, text.p, WS_ACCEPT_LETTERS);
    buf_fini(&text);
    return ok;
}
