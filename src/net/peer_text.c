/* peer_text.c -- one spelling for each address. */
#include "net/peer_text.h"

#include <arpa/inet.h>
#include <netinet/in.h>

bool peer_text_of(int family, const void *address, char out[PEER_TEXT_BYTES])
{
    struct in6_addr in6;

    if (family == AF_INET)
        return inet_ntop(AF_INET, address, out, PEER_TEXT_BYTES) != NULL;
    if (family != AF_INET6)
        return false;
    memcpy(&in6, address, sizeof(in6));
    if (IN6_IS_ADDR_V4MAPPED(&in6))
        return inet_ntop(AF_INET, in6.s6_addr + 12, out, PEER_TEXT_BYTES) != NULL;
    return inet_ntop(AF_INET6, &in6, out, PEER_TEXT_BYTES) != NULL;
}

bool peer_text_of_literal(str text, int family, char out[PEER_TEXT_BYTES])
{
    char literal[PEER_TEXT_BYTES];
    struct in6_addr address; /* has room for either */

    if (text.len >= sizeof(literal))
        return false;
    memcpy(literal, text.p, text.len);
    literal[text.len] = '\0';
    return inet_pton(family, literal, &address) == 1 && peer_text_of(family, &address, out);
}
