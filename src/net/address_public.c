/* address_public.c -- the blocks of addresses that are not public, as a table.
 *
 * They come from the IANA's registries of special-purpose addresses. Blocks of
 * IPv6 through which IPv4 can be reached (6to4, Teredo, NAT64) count as a
 * whole: who checks the inner address would have to know every gateway on the
 * way. Only the mapped form, which this machine itself turns into IPv4, is
 * judged by what is inside. */
#include "net/address_public.h"

#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/str.h"

struct block {
    uint8_t prefix[16];
    unsigned bits;
};

static const struct block blocks4[] = {
    {{0}, 8},             /* this network */
    {{10}, 8},            /* private */
    {{100, 64}, 10},      /* of carriers */
    {{127}, 8},           /* this machine */
    {{169, 254}, 16},     /* this link; metadata of clouds */
    {{172, 16}, 12},      /* private */
    {{192, 0, 0}, 24},    /* of protocols */
    {{192, 0, 2}, 24},    /* documentation */
    {{192, 88, 99}, 24},  /* relays of 6to4 */
    {{192, 168}, 16},     /* private */
    {{198, 18}, 15},      /* benchmarks */
    {{198, 51, 100}, 24}, /* documentation */
    {{203, 0, 113}, 24},  /* documentation */
    {{224}, 4},           /* multicast */
    {{240}, 4},           /* reserved; broadcast */
};

/* Blocks inside of global6, which is public in general; all else, from ::1 over NAT64 and private
 * networks to multicast, is not. */
static const struct block blocks6[] = {
    {{0x20, 0x01}, 23},             /* of protocols; Teredo */
    {{0x20, 0x01, 0x0d, 0xb8}, 32}, /* documentation */
    {{0x20, 0x02}, 16},             /* 6to4 */
    {{0x3f, 0xff}, 20},             /* documentation */
};

static const struct block global6 = {{0x20}, 3};
static const struct block mapped4 = {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff}, 96};

static bool is_in_block(const uint8_t *address, const struct block *block)
{
    unsigned whole = block->bits / 8, rest = block->bits % 8;

    if (memcmp(address, block->prefix, whole) != 0)
        return false;
    return rest == 0 || (address[whole] ^ block->prefix[whole]) >> (8 - rest) == 0;
}

static bool is_in_any_block(const uint8_t *address, const struct block *blocks, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (is_in_block(address, &blocks[i]))
            return true;
    }
    return false;
}

static bool is_public4(const uint8_t address[4])
{
    return !is_in_any_block(address, LIST_OF(blocks4));
}

static bool is_public6(const uint8_t address[16])
{
    if (is_in_block(address, &mapped4))
        return is_public4(address + 12);
    return is_in_block(address, &global6) && !is_in_any_block(address, LIST_OF(blocks6));
}

bool address_is_public(const struct sockaddr *to)
{
    uint8_t bytes[16];

    /* The bytes are copied, since not every sockaddr that is passed around is aligned. */
    if (to->sa_family == AF_INET) {
        memcpy(bytes, (const char *)to + offsetof(struct sockaddr_in, sin_addr), 4);
        return is_public4(bytes);
    }
    if (to->sa_family == AF_INET6) {
        memcpy(bytes, (const char *)to + offsetof(struct sockaddr_in6, sin6_addr), 16);
        return is_public6(bytes);
    }
    return false;
}
