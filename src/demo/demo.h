/* demo.h -- the built-in demo upstream: a Chat Completions server for when
 * none is configured. It listens on a loopback port of its own, and the
 * gateway reaches it through the same bytes as any other upstream. */
#ifndef ANTIPHON_DEMO_DEMO_H
#define ANTIPHON_DEMO_DEMO_H

#include "base/err.h"

struct demo;
struct loop;

/* Opens the server on the loop. NULL with *reterr filled. */
struct demo *demo_open(struct loop *loop, struct err *reterr);

/* Closes the server, before the loop is freed. NULL is fine. */
void demo_close(struct demo *demo);

int demo_port(const struct demo *demo);

#endif
