/* mcp_config.h -- the MCP servers that the operator configured (MCP 1).
 *
 * The file is the one people have from other programs: {"mcpServers": {label:
 * entry}} or {"servers": ...}, with comments and commas too many. It becomes a
 * table that never changes and is shared between threads: whoever uses a server
 * holds a reference to its table. A new file makes a new table, and
 * mcp_config_compare() says what that means for each server.
 *
 *     struct mcp_config *servers = mcp_config_load(path, is_named, environ, &defaults, &problems);
 *
 *     if (servers == NULL || problems.n_errors > 0) ...     do not start
 *
 * A mistake in one entry leaves it in the table with its problem, so that it
 * can be listed as not available, and counts as a warning; only when the entry
 * is "required" it is an error. */
#ifndef ANTIPHON_MCP_CONF_MCP_CONFIG_H
#define ANTIPHON_MCP_CONF_MCP_CONFIG_H

#include "config/config_problems.h"
#include "mcp/proto/mcp_approval.h"

enum { MCP_CONFIG_MAX_SERVERS = 256 };

/* A text that must not be logged, stored or sent back. It is a struct so that
 * it cannot be printed by mistake; a NUL follows that does not count. */
struct mcp_secret {
    str hidden;
};

struct mcp_pair {
    str name;
    struct mcp_secret value;
};

struct mcp_pairs {
    const struct mcp_pair *items;
    size_t n;
};

enum mcp_transport { MCP_TRANSPORT_STDIO, MCP_TRANSPORT_HTTP, MCP_TRANSPORT_SSE };
enum mcp_protocol { MCP_PROTOCOL_AUTO, MCP_PROTOCOL_LEGACY, MCP_PROTOCOL_2026_07_28 };
enum mcp_inject { MCP_INJECT_DEFAULT, MCP_INJECT_DECLARED, MCP_INJECT_ALWAYS };

/* One server. Texts point into the table; all of them have a NUL behind. */
struct mcp_server_conf {
    str label;
    size_t line;         /* of the file, where the entry starts */
    const char *problem; /* NULL, or why the server cannot be used: one line */
    bool is_enabled;     /* false: listed, never started */
    bool is_required;    /* startup waits for it */

    enum mcp_transport transport;
    bool is_sse_guess; /* SSE by the look of the URL: may be HTTP as well (MCP 1.4).
                        * HTTP always may be SSE (MCP 2.5) */
    const char *shown; /* for logs, not escaped: command or URL without credentials and query,
                        * ${...} not replaced */

    /* stdio */
    const char *const *argv; /* the command first, ends with NULL; its words may be secrets */
    struct mcp_pairs env;    /* in the order of the file */
    struct mcp_name_list inherit_env; /* further variables of the gateway's to pass on ... */
    bool inherits_all;                /* ... or all of them */
    const char *cwd, *env_file;       /* or NULL; config_read_file() the latter at each start */

    /* HTTP and SSE */
    struct mcp_secret url;
    struct mcp_pairs headers;       /* none that the transport sets itself */
    struct mcp_secret bearer_token; /* or STR_NONE */
    const char *bearer_token_file;  /* or NULL; for config_read_token(), again after a 401 */

    uint64_t startup_timeout_ms, call_timeout_ms, max_call_ms;
    uint64_t refresh_interval_ms; /* 0: the default for the server's era (MCP 9.4) */
    uint64_t max_concurrency;
    size_t max_message_bytes, max_result_bytes;
    enum mcp_protocol protocol;
    enum mcp_inject inject; /* MCP_INJECT_DEFAULT: the global option decides */

    struct mcp_name_list allowed_tools, excluded_tools; /* ask mcp_server_conf_offers() */
    struct mcp_approval approval;

    /* What must be replaced in texts that leave the gateway, in no order, short
     * ones and duplicates among them (MCP 16.6): values of headers, of env and
     * of variables, tokens, the query and the credentials of the URL. */
    const str *secrets;
    size_t n_secrets;

    struct mcp_secret canonical; /* JSON of all that matters: equal texts, equal servers */
};

struct mcp_config {
    const struct mcp_server_conf *servers; /* in the order of the file */
    size_t n;
};

/* Defaults of an entry (MCP 1.3), and of a server that a request declares. */
enum {
    MCP_STARTUP_TIMEOUT_MS = 60 * 1000,
    MCP_CALL_TIMEOUT_MS = 60 * 1000, /* when the operator does not say either */
    MCP_MAX_CALL_FACTOR = 10,        /* times callTimeoutMs is maxCallMs */
    MCP_MAX_CONCURRENCY = 8,
    MCP_MAX_MESSAGE_BYTES = 8 * 1024 * 1024,
};

/* Defaults that the operator sets (config mcp_call_timeout, max_mcp_result). 0 stands for
 * MCP_CALL_TIMEOUT_MS and MCP_RESULT_LIMIT_BYTES. */
struct mcp_config_defaults {
    uint64_t call_timeout_ms; /* callTimeoutMs; see MCP_MAX_CALL_FACTOR */
    size_t result_bytes;      /* maxResultBytes */
};

/* What a table is made from; nothing of it is kept. */
struct mcp_config_source {
    const char *name;       /* of the file, for messages */
    str text;               /* of it, at most 1 MiB */
    bool others_may_read;   /* the file's mode lets them */
    const char *const *env; /* for ${VAR}: "NAME=value", ends with NULL */
    struct mcp_config_defaults defaults;
};

/* Makes a table with one reference, or returns NULL when the file as a whole
 * cannot be used. What is found is added to *problems, which may be NULL: file,
 * line, label, key and what would be valid, never a value of the entry. */
struct mcp_config *mcp_config_parse(const struct mcp_config_source *source,
                                    struct config_problems *problems);

/* Makes a table from a file. When path is only the default (is_named is false) and there is no such
 * file, that is a warning and an empty table. defaults may be NULL. Blocks. */
struct mcp_config *mcp_config_load(const char *path, bool is_named, const char *const *env,
                                   const struct mcp_config_defaults *defaults,
                                   struct config_problems *problems);

/* Replaces entries of now, a table of the caller's alone, that have a problem by those of old with
 * the same label that have none: a mistake must not stop a server that runs. Both may be NULL. */
void mcp_config_keep_usable(struct mcp_config *now, struct mcp_config *old);

/* Any thread. NULL is fine. The last reference wipes the secrets. */
struct mcp_config *mcp_config_ref(struct mcp_config *c);
void mcp_config_unref(struct mcp_config *c);

/* The server of that label, usable or not; NULL when there is none. */
const struct mcp_server_conf *mcp_config_find(const struct mcp_config *c, str label);

/* True when the server is enabled and has no problem. */
bool mcp_server_conf_is_usable(const struct mcp_server_conf *s);

/* True when clients may see the tool: it is in allowedTools and not in excludeTools. */
bool mcp_server_conf_offers(const struct mcp_server_conf *s, str tool);

/* True when the server's tools join every request; by_default is for entries that do not say. */
bool mcp_server_conf_injects(const struct mcp_server_conf *s, bool by_default);

/* "stdio", "streamable_http" or "sse", as in MCP 17.1. */
const char *mcp_transport_name(enum mcp_transport transport);

/* What a new table means for a server that may be running (MCP 1.6). Order,
 * comments, names of keys and defaults that are written out make no change. */
enum mcp_change { MCP_UNCHANGED, MCP_CHANGED, MCP_NEW, MCP_GONE };

/* Calls on_server once for each label: those of now in its order, then those
 * that are gone. old is NULL for a new one, now for one that is gone. Either
 * table may be NULL, which is an empty one. */
void mcp_config_compare(const struct mcp_config *old, const struct mcp_config *now,
                        void (*on_server)(void *arg, enum mcp_change change,
                                          const struct mcp_server_conf *old,
                                          const struct mcp_server_conf *now),
                        void *arg);

#endif
