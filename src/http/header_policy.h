/* header_policy.h -- the header fields that a client may have us send to a server.
 *
 * MCP 16.5: `headers` and `authorization` of an mcp tool in a request. Fields
 * that say how a message is framed, whom it is for or what protocol it speaks
 * are ours. Pure; any thread. */
#ifndef ANTIPHON_HTTP_HEADER_POLICY_H
#define ANTIPHON_HTTP_HEADER_POLICY_H

#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/header.h"

enum { HEADER_POLICY_MAX_FIELDS = 32, HEADER_POLICY_MAX_BYTES = 8 * 1024 };

struct header_list {
    struct http_header *fields;
    size_t n;
};

/* Fills *ret with the fields to send: those given, without white space around
 * their values, and Authorization as Bearer, when authorization is not STR_NONE,
 * in place of one that was given. The array and the Bearer value are in the
 * arena, all other views are the caller's.
 *
 * Returns 0, or -1 with *reterr: a 400 about a parameter inside `at`, such as
 * "tools[0]". Messages name fields, never values. */
int header_policy_check(const struct http_header *headers, size_t n, str authorization,
                        const char *at, struct arena *a, struct header_list *ret,
                        struct err *reterr);

#endif
