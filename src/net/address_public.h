/* address_public.h -- is an address on the public Internet?
 *
 * For connections whose goal strangers may choose (MCP 16.3): they must not
 * reach this machine, its networks, or the metadata services of clouds. Pure;
 * any thread. */
#ifndef ANTIPHON_NET_ADDRESS_PUBLIC_H
#define ANTIPHON_NET_ADDRESS_PUBLIC_H

#include <stdbool.h>
#include <sys/socket.h>

/* True for a public address: not for what special-purpose registries set apart, for ways to tunnel
 * IPv4 through IPv6, nor for any other family. */
bool address_is_public(const struct sockaddr *to);

#endif
