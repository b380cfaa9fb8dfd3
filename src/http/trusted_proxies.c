/* trusted_proxies.c -- networks, and a list that is read backwards.
 *
 * All lines of X-Forwarded-For are one list (RFC 9110, 5.3). What cannot be read as an address (RFC 7239
 * has "unknown" and "_hidden") ends the way back: nothing left of it can be believed. */
#include "http/trusted_proxies.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include "base/num.h"

struct trusted_network {
    unsigned char prefix[16]; /* IPv4 in its mapped form */
    unsigned bits;
};

/* ---- networks */

/* An address of either family as sixteen bytes; false when it is none. *ret_is_v4 is set then. */
static bool read_address(str text, unsigned char out[16], bool *ret_is_v4)
{
    static const unsigned char mapped[12] = {[10] = 0xff, [11] = 0xff};
    char literal[PEER_TEXT_BYTES];

    if (text.len >= sizeof(literal))
        return false;
    memcpy(literal, text.p, text.len);
    literal[text.len] = '\0';
    *ret_is_v4 = inet_pton(AF_INET, literal, out + sizeof(mapped)) == 1;
    if (*ret_is_v4)
        memcpy(out, mapped, sizeof(mapped));
    return *ret_is_v4 || inet_pton(AF_INET6, literal, out) == 1;
}

static bool read_network(str text, struct trusted_network *ret)
{
    enum { BITS = 128, BITS_V4 = 32 };
    str address = str_cut(&text, '/');
    bool is_v4, has_bits = text.p != address.p + address.len;
    uint64_t bits;

    if (!read_address(address, ret->prefix, &is_v4))
        return false;
    bits = is_v4 ? BITS_V4 : BITS;
    if (has_bits && (!num_uint(text, &bits) || bits > (is_v4 ? BITS_V4 : BITS)))
        return false;
    ret->bits = (unsigned)bits + (is_v4 ? BITS - BITS_V4 : 0);
    return true;
}

static bool is_within(const unsigned char address[16], const struct trusted_network *network)
{
    unsigned whole = network->bits / 8, rest = network->bits % 8;

    if (memcmp(address, network->prefix, whole) != 0)
        return false;
    return rest == 0 || (address[whole] ^ network->prefix[whole]) >> (8 - rest) == 0;
}

int trusted_proxies_make(const char *const *texts, size_t n, struct arena *a,
                         struct trusted_proxies *ret)
{
    struct trusted_proxies t = {.networks = arena_array(a, n, sizeof(*t.networks))};

    if (t.networks == NULL && n > 0)
        return -1;
    for (size_t i = 0; i < n; i++) {
        if (str_eq(str_from_c(texts[i]), STR(PEER_TEXT_UNIX)))
            t.trusts_unix = true;
        else if (read_network(str_from_c(texts[i]), &t.networks[t.n]))
            t.n++;
    }
    *ret = t;
    return 0;
}

bool trusted_proxies_have(const struct trusted_proxies *t, str peer)
{
    unsigned char address[16];
    bool is_v4;

    if (str_eq(peer, STR(PEER_TEXT_UNIX)))
        return t->trusts_unix;
    if (t->n == 0 || !read_address(peer, address, &is_v4))
        return false;
    for (size_t i = 0; i < t->n; i++) {
        if (is_within(address, &t->networks[i]))
            return true;
    }
    return false;
}

/* ---- the list */

/* The elements of a header from the last one on, all its lines together. */
struct backwards {
    const struct http_request *request;
    str name;
    size_t n_lines; /* that have not been begun */
    str line;       /* what is left of the one at hand; STR_NONE: nothing */
};

static size_t find_last(str s, char c)
{
    size_t i = s.len;

    while (i > 0 && s.p[i - 1] != c)
        i--;
    return i;
}

/* Takes the element before; STR_NONE when there is none. */
static str previous_element(struct backwards *b)
{
    str element;
    size_t at;

    while (str_is_none(b->line)) {
        const struct http_header *h;

        if (b->n_lines == 0)
            return STR_NONE;
        h = &b->request->headers[--b->n_lines];
        if (str_eq(h->name, b->name))
            b->line = h->value;
    }
    at = find_last(b->line, ',');
    element = str_skip(b->line, at);
    b->line = at == 0 ? STR_NONE : str_from(b->line.p, at - 1);
    return str_trim(element);
}

/* Takes off what some proxies add to an address: a port, brackets. */
static str bare_address(str element)
{
    size_t colon = str_find_char(element, ':');

    if (str_starts_with(element, STR("[")))
        return str_from(element.p + 1, str_find_char(str_skip(element, 1), ']'));
    if (colon < element.len &&
        str_find_char(str_skip(element, colon + 1), ':') + colon + 1 == element.len)
        return str_from(element.p, colon);
    return element;
}

/* An element as a peer is written; false when it is no address. */
static bool read_element(str element, char out[PEER_TEXT_BYTES])
{
    str address = bare_address(element);

    if (str_eq(address, STR(PEER_TEXT_UNIX))) { /* nginx has "unix:" */
        memcpy(out, PEER_TEXT_UNIX, sizeof(PEER_TEXT_UNIX));
        return true;
    }
    return peer_text_of_literal(address, AF_INET, out) ||
           peer_text_of_literal(address, AF_INET6, out);
}

bool trusted_proxies_client(const struct trusted_proxies *t, const struct http_request *r,
                            char out[PEER_TEXT_BYTES])
{
    struct backwards b = {r, STR("x-forwarded-for"), r->n_headers, STR_NONE};
    char element[PEER_TEXT_BYTES];
    bool is_known = false;
    str text;

    while (!str_is_none(text = previous_element(&b)) && read_element(text, element)) {
        memcpy(out, element, sizeof(element));
        is_known = true;
        if (!trusted_proxies_have(t, str_from_c(element)))
            break;
    }
    return is_known;
}

bool trusted_proxies_say_https(const struct http_request *r)
{
    struct backwards b = {r, STR("x-forwarded-proto"), r->n_headers, STR_NONE};

    return str_eq_nocase(previous_element(&b), STR("https"));
}
