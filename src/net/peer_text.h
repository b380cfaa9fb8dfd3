/* peer_text.h -- how an address is written in logs, and compared: without port, an IPv4 address in its
 * mapped form as IPv4, a Unix socket as "unix". Pure. */
#ifndef ANTIPHON_NET_PEER_TEXT_H
#define ANTIPHON_NET_PEER_TEXT_H

#include <stdbool.h>

#include "base/str.h"

enum { PEER_TEXT_BYTES = 64 };

#define PEER_TEXT_UNIX "unix"

/* Writes the address of AF_INET or AF_INET6 that stands at these bytes, in network order. False for other
 * families. */
bool peer_text_of(int family, const void *address, char out[PEER_TEXT_BYTES]);

/* Writes the text of an address that is written out; false when it is none of the family. */
bool peer_text_of_literal(str text, int family, char out[PEER_TEXT_BYTES]);

#endif
