/* fuzz_ws_handshake.c -- any headers: what is taken for a handshake can be answered, and no page gets
 * in that is neither listed nor our own. Lines of the input are headers, "name: value". */
#include "fuzz/fuzz.h"

#include "base/url.h"
#include "http/origin_check.h"
#include "http/ws_handshake.h"
#include "lib/fixture.h"

enum { MAX_HEADERS = 40 };

static const char *const listed[] = {"https://chat.example.org"};
static const struct origin_policy policy = {.cors = {listed, COUNT_OF(listed)}};

static size_t read_headers(str text, struct http_header headers[MAX_HEADERS])
{
    size_t n = 0;

    while (text.len > 0 && n < MAX_HEADERS) {
        str line = str_cut(&text, '\n');
        str name = str_trim(str_cut(&line, ':'));

        if (str_is_one_line(line))
            headers[n++] = (struct http_header){name, str_trim(line)};
    }
    return n;
}

static void check_answer(const struct http_request *r)
{
    char accept[WS_ACCEPT_LETTERS];
    str protocol = ws_handshake_protocol(r);

    fuzz_promise(r->wants_upgrade && !r->is_http_1_0 && !r->has_body && ws_handshake_is_meant(r),
                 "only a whole handshake is taken");
    fuzz_promise(ws_handshake_accept(r, accept), "a handshake has its answer");
    fuzz_promise(str_is_none(protocol) || str_is_visible(protocol), "a subprotocol is a token");
    fuzz_promise(str_is_none(protocol) ==
                     str_is_none(http_request_header(r, STR("sec-websocket-protocol"))),
                 "a subprotocol is answered when one was offered");
}

static void check_origin(const struct http_request *r)
{
    str origin = http_request_header(r, STR("origin"));
    struct url page = url_split(origin);

    if (ws_handshake_check_origin(&policy, r, NULL) == -1 || str_is_none(origin))
        return;
    fuzz_promise(str_eq_nocase(origin, str_from_c(listed[0])) ||
                     (url_is_http(&page) && url_host_is_clear(&page) &&
                      str_has_nocase(http_request_header(r, STR("host")), page.host)),
                 "a page is listed or our own");
}

static void check_authorization(const struct http_request *r)
{
    struct arena memory = {.limit = 0};
    str sent = http_request_header(r, STR("authorization"));
    str got = ws_handshake_authorization(r, &memory);

    fuzz_promise(str_is_none(sent) ? str_is_none(got) || str_starts_with(got, STR("Bearer "))
                                   : str_eq(sent, got),
                 "a key is that of Authorization, or one among the subprotocols");
    arena_fini(&memory);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct http_header headers[MAX_HEADERS];
    str input = fuzz_input(bytes, n);
    unsigned flags = input.len == 0 ? 0 : (unsigned char)input.p[0];
    char *copy = exact_copy(str_skip(input, 1));
    struct http_request r = {.method = STR("GET"),
                             .headers = headers,
                             .wants_upgrade = (flags & 1) != 0,
                             .is_http_1_0 = (flags & 2) != 0,
                             .has_body = (flags & 4) != 0};

    r.n_headers = read_headers(str_from(copy, input.len == 0 ? 0 : input.len - 1), headers);
    if (ws_handshake_check(&r, NULL) == 0)
        check_answer(&r);
    check_origin(&r);
    check_authorization(&r);
    free(copy);
    return 0;
}
