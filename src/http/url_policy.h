/* url_policy.h -- may a client of ours have us connect to this URL?
 *
 * MCP 16.1 and 16.2, CONTRACT 1.5: the URL of a remote server comes with a
 * request, from anyone who may send one. Here it is read and judged by how it
 * is written; no name is looked up. Where the name leads is judged for every
 * connection, by the client that makes it (http_client_conf.may_connect).
 *
 * Reading is strict: what two programs could read in two ways is refused. Pure;
 * any thread. */
#ifndef ANTIPHON_HTTP_URL_POLICY_H
#define ANTIPHON_HTTP_URL_POLICY_H

#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/host_list.h"
#include "base/str.h"

enum url_mode {
    URL_OFF,    /* no URL at all */
    URL_PUBLIC, /* https, and a host that has a public name */
    URL_WEB,    /* http as well, but only at the ports of web servers: pages to be read */
    URL_ANY,    /* http as well, and any host */
};

enum { URL_MAX_BYTES = 2048 };

struct url_policy {
    enum url_mode mode;
    struct host_list allowed; /* n is 0: all */
    struct host_list denied;  /* wins over allowed */
};

/* A URL that may be used, written in the one way that we write it: scheme and
 * host in lower case, no dot behind the host, no default port, at least "/"
 * behind it. The views point into text, and that into the arena. */
struct allowed_url {
    const char *text;
    str origin; /* scheme, host and port: equal texts are equal origins */
    str host;   /* with the brackets of an IPv6 address */
    str shown;  /* all before the query: for logs and messages (MCP 16.6) */
    str query;  /* behind the "?", a secret; STR_NONE when there is none */
};

/* Returns 0 with *ret filled, or -1 with *reterr: a 400 about param (such as
 * "tools[0].server_url"), whose message repeats nothing of the URL. */
int url_policy_check(const struct url_policy *policy, str url, const char *param, struct arena *a,
                     struct allowed_url *ret, struct err *reterr);

#endif
