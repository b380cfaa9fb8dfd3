/* proxy_header.c -- both versions. A port has to be one, but nobody asks for it. */
#include "net/proxy_header.h"

#include <netinet/in.h>

#include "base/num.h"

enum { MOST_LINE_BYTES = 107, FIXED_BYTES = 16 };

static const str line_mark = STR_INIT("PROXY ");
static const str block_mark = STR_INIT("\r\n\r\n\0\r\nQUIT\n");

static ssize_t refuse_header(struct err *reterr, const char *why)
{
    err_set(reterr, ERR_BAD_REQUEST, "no PROXY header: %s", why);
    return -1;
}

/* Could the bytes become the mark, or something that begins with it? */
static bool may_begin_with(str bytes, str mark)
{
    size_t n = bytes.len < mark.len ? bytes.len : mark.len;

    return memcmp(bytes.p, mark.p, n) == 0;
}

/* ---- version 1 */

static bool is_port(str s)
{
    uint64_t port;

    return s.len <= 5 && num_uint(s, &port) && port <= UINT16_MAX;
}

/* The client of "TCP4 192.0.2.7 198.51.100.1 54321 443". */
static bool read_line(str rest, struct proxy_header *ret)
{
    str family = str_cut(&rest, ' ');
    str from = str_cut(&rest, ' '), to = str_cut(&rest, ' ');
    str from_port = str_cut(&rest, ' '), to_port = rest;
    bool is_v6 = str_eq(family, STR("TCP6"));
    char other[PEER_TEXT_BYTES];

    if (!is_v6 && !str_eq(family, STR("TCP4")))
        return false;
    return is_port(from_port) && is_port(to_port) &&
           peer_text_of_literal(from, is_v6 ? AF_INET6 : AF_INET, ret->client) &&
           peer_text_of_literal(to, is_v6 ? AF_INET6 : AF_INET, other);
}

static ssize_t read_version_1(str bytes, struct proxy_header *ret, struct err *reterr)
{
    size_t end = str_find_char(bytes, '\n');
    str line = str_from(bytes.p, end);

    if (end >= MOST_LINE_BYTES)
        return refuse_header(reterr, "its line is too long");
    if (end == bytes.len)
        return 0;
    if (!str_ends_with(line, STR("\r")))
        return refuse_header(reterr, "its line does not end in CRLF");
    line = str_skip(str_from(line.p, line.len - 1), line_mark.len);
    if (str_eq(line, STR("UNKNOWN")) || str_starts_with(line, STR("UNKNOWN ")))
        ret->keeps_peer = true;
    else if (!read_line(line, ret))
        return refuse_header(reterr, "its line names no client");
    return (ssize_t)end + 1;
}

/* ---- version 2 */

enum { COMMAND_LOCAL = 0, COMMAND_PROXY = 1 };
enum { FAMILY_NONE = 0x00, FAMILY_TCP4 = 0x11, FAMILY_TCP6 = 0x21, FAMILY_UNIX = 0x31 };

/* The client of the addresses behind the fixed part; false when they are none of a stream. */
static bool read_addresses(unsigned family, str addresses, struct proxy_header *ret)
{
    enum { TCP4_BYTES = 12, TCP6_BYTES = 36, UNIX_BYTES = 216 };

    switch (family) {
    case FAMILY_NONE:
        ret->keeps_peer = true;
        return true;
    case FAMILY_TCP4:
        return addresses.len >= TCP4_BYTES && peer_text_of(AF_INET, addresses.p, ret->client);
    case FAMILY_TCP6:
        return addresses.len >= TCP6_BYTES && peer_text_of(AF_INET6, addresses.p, ret->client);
    case FAMILY_UNIX:
        memcpy(ret->client, PEER_TEXT_UNIX, sizeof(PEER_TEXT_UNIX));
        return addresses.len >= UNIX_BYTES;
    default:
        return false;
    }
}

static ssize_t read_version_2(str bytes, struct proxy_header *ret, struct err *reterr)
{
    const unsigned char *fixed = (const unsigned char *)bytes.p;
    unsigned version, command;
    size_t length;

    if (bytes.len < FIXED_BYTES)
        return 0;
    version = fixed[12] >> 4;
    command = fixed[12] & 15;
    length = (size_t)fixed[14] << 8 | fixed[15];
    if (version != 2 || command > COMMAND_PROXY)
        return refuse_header(reterr, "its version or command is unknown");
    if (FIXED_BYTES + length > PROXY_HEADER_MOST)
        return refuse_header(reterr, "it is too long");
    if (bytes.len < FIXED_BYTES + length)
        return 0;
    if (command == COMMAND_LOCAL)
        ret->keeps_peer = true;
    else if (!read_addresses(fixed[13], str_from(bytes.p + FIXED_BYTES, length), ret))
        return refuse_header(reterr, "its addresses are none of TCP");
    return (ssize_t)(FIXED_BYTES + length);
}

/* ---- */

ssize_t proxy_header_read(str bytes, struct proxy_header *ret, struct err *reterr)
{
    *ret = (struct proxy_header){.keeps_peer = false};
    if (bytes.len == 0)
        return 0;
    if (may_begin_with(bytes, line_mark))
        return bytes.len < line_mark.len ? 0 : read_version_1(bytes, ret, reterr);
    if (may_begin_with(bytes, block_mark))
        return read_version_2(bytes, ret, reterr);
    return refuse_header(reterr, "it begins otherwise");
}
