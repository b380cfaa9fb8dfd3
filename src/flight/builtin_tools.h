/* builtin_tools.h -- the tools that the gateway brings itself: code interpreter and web search.
 *
 * Opened once at start, before the workers; unchanging from then on, so that all threads may
 * read it. */
#ifndef ANTIPHON_FLIGHT_BUILTIN_TOOLS_H
#define ANTIPHON_FLIGHT_BUILTIN_TOOLS_H

#include "base/arena.h"
#include "base/err.h"
#include "config/config.h"
#include "conv/hosted.h"
#include "http/url_policy.h"
#include "json/json_write.h"
#include "sandbox/egress_policy.h"
#include "search/search.h"

struct sandbox_conf;
struct sandbox_hub;
struct sockaddr;

struct builtin_tools {
    /* NULL: the gateway has this tool. Else a sentence for who asks for it. */
    const char *why_not[HOSTED_KIND_COUNT];
    struct sandbox_hub *sandboxes;  /* NULL: there is no code interpreter */
    struct egress_policy egress;    /* of the sandboxes, if they may reach anything */
    char reason[ERR_MSG_BYTES + 2]; /* of a code interpreter that does not work; else "" */
};

/* What code may reach, if it may reach anything; texts are the configuration's. */
struct egress_policy builtin_egress_policy(const struct config *c);

/* What sandboxes run with; texts are the configuration's, and egress outlives them. */
struct sandbox_conf builtin_sandbox_conf(const struct config *c,
                                         const struct egress_policy *egress);

/* What a container gets that asks for so much memory, as "1g" (escaped); 0: what the configuration
 * says, which is also the most. */
size_t builtin_memory_limit(const struct config *c, str escaped);

/* What code may reach is the operator's to say: network_policy (raw, or STR_NONE) may only ask for
 * no network where there is none. Returns 0, or -1 with *reterr filled: it names the field below
 * container (plain, or STR_NONE). */
int builtin_check_network(const struct config *c, str network_policy, str container,
                          struct err *reterr);

/* Tries whether code can be run here, which takes a moment, and logs what came of it. Returns 0,
 * or -1 with *reterr filled when it cannot although the configuration requires it. */
int builtin_tools_open(struct builtin_tools *b, const struct config *c, struct err *reterr);

/* False when something could not be ended: then the process is to be left by _exit(). */
bool builtin_tools_close(struct builtin_tools *b);

/* Appends what GET /health says of them: nothing, unless one was meant to be there and is not. */
void builtin_tools_health(const struct builtin_tools *b, struct jw *w);

/* ---- web search, of which every worker has its own part */

/* True when there is an HTTP service to search with. Else nobody searches, or an MCP server. */
bool builtin_searches_by_http(const struct config *c);

/* What is asked of that service; only when there is one. */
struct search_http_conf builtin_search_conf(const struct config *c);

struct url_policy builtin_page_policy(const struct config *c);

/* For a client that fetches pages (http_client_conf.may_connect); NULL: any address. */
bool (*builtin_page_guard(const struct config *c))(const struct sockaddr *to);

#endif
