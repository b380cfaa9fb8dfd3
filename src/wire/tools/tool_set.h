/* tool_set.h -- the tools of a request and the map between two sets of names.
 *
 * The client knows a tool by name and namespace; the upstream knows it by one
 * name of at most 64 characters [A-Za-z0-9_-] (CONTRACT 1.2). A tool_set is
 * built once when the request is parsed, lives in the turn's arena and does
 * not change afterwards. All str are escaped JSON text into that arena or the
 * request body. */
#ifndef ANTIPHON_WIRE_TOOLS_TOOL_SET_H
#define ANTIPHON_WIRE_TOOLS_TOOL_SET_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "base/str_map.h"
#include "conv/item.h"

enum tool_kind {
    TOOL_FUNCTION, /* a call becomes a function_call item */
    TOOL_CUSTOM,   /* custom_tool_call: the argument "input" is unpacked */
    /* those that clients run and the API has types for (wire/tools/client_tool.h) */
    TOOL_LOCAL_SHELL,   /* local_shell_call */
    TOOL_SHELL,         /* shell_call */
    TOOL_APPLY_PATCH,   /* apply_patch_call */
    TOOL_CLIENT_SEARCH, /* tool_search_call */
    TOOL_MCP,           /* mcp_call, or mcp_approval_request: the gateway runs it */
    TOOL_HOSTED,        /* one of the gateway's own (conv/hosted.def), which runs it as well */
};

/* What a request says of a tool of type code_interpreter. */
struct code_declaration {
    str at;             /* plain, where it stands: "tools[0]" */
    str container;      /* escaped id; STR_NONE: auto */
    str memory_limit;   /* escaped: "1g", "4g" ...; STR_NONE when not given, as all below */
    str network_policy; /* raw; whether it holds here, the caller has to find out */
};

/* What a request says of a tool of type web_search, or of its older names. */
struct search_declaration {
    str at;
    str size;                             /* escaped: low, medium, high */
    str country, region, city, timezone;  /* escaped */
    str allowed_domains, blocked_domains; /* raw arrays of texts */
    /* The model may read pages. Not with external_web_access false, which allows what a search
     * service knows already, but no visits; nor when the gateway does not. */
    bool opens_pages;
};

struct tool {
    enum tool_kind kind;
    enum hosted_kind hosted_kind;           /* TOOL_HOSTED */
    str name_space;                         /* STR_NONE when it stands in no namespace */
    str space_description;                  /* of the namespace or server; escaped, or STR_NONE */
    str name;                               /* as the client wrote it, escaped */
    str upstream_name;                      /* as the model sees it; plain characters only */
    str description;                        /* escaped, STR_NONE when not given */
    str parameters;                         /* raw JSON object, STR_NONE when not given */
    str strict;                             /* raw "true" or "false", STR_NONE when not given */
    str grammar_syntax, grammar_definition; /* custom tools with a grammar, else STR_NONE */
    /* TOOL_MCP */
    str server_label; /* escaped */
    bool needs_approval;
    const void *mcp;                         /* what its maker needs to run it */
    const struct code_declaration *code;     /* HOSTED_CODE_INTERPRETER */
    const struct search_declaration *search; /* HOSTED_WEB_SEARCH */
    bool is_given;                           /* it stands in `tools` of this very request */
    bool is_deferred; /* the request wants it to be searched for (tool_defer.h) */
    bool is_waiting;  /* it has not been found yet, and is not sent */
    bool is_loaded;   /* a search has found it; it stands behind those that were there before */
    bool sent;        /* false: kept out by allowed_tools; a call to it is suppressed */
    struct tool *next, *before; /* in the order of the request; before is for tool_add.h alone */
};

/* A tool of type mcp as a request declares it (CONTRACT 1.5): a server, whose tools have to be
 * found out before they can be in the set. */
struct mcp_declaration {
    str label;            /* plain; no two have the same */
    str at;               /* plain, where it stands: "tools[0]" */
    str server_url;       /* plain; STR_NONE: a configured server is meant */
    str authorization;    /* plain; STR_NONE when not given, as all below */
    str headers;          /* raw object */
    str description;      /* escaped: server_description */
    str allowed_tools;    /* raw: array of texts, or object */
    str require_approval; /* raw: text or object */
    bool is_deferred;     /* its tools are to be searched for */
    bool is_inherited;    /* it was stored with what came before: it has no credentials any more */
    /* raw; to be set, when it is known, by who decides about approvals: what holds if the request
     * does not say. The echo has it then (MCP 11.5). */
    str effective_approval;
    struct mcp_declaration *next;
};

/* A type that the gateway cannot serve: such tools are echoed, and not sent. */
struct unserved_type {
    str type; /* escaped, as the client wrote it */
    struct unserved_type *next;
};

struct tool_set {
    struct unserved_type *unserved; /* the first of them, each once, for the log */
    struct tool *first, *last;
    struct tool *last_declared; /* behind it are those that are loaded; NULL: all are */
    size_t n, n_sent;
    struct mcp_declaration *first_server, *last_server; /* in the order of the request */
    size_t n_servers;
    bool is_restricted; /* by allowed_tools: calls to anything that is not sent are suppressed */
};

/* A tool of an MCP server, found out after the request was read. */
struct server_tool {
    str server_label, name; /* plain */
    str upstream_name;      /* of nobody else in the set; plain characters only */
    str description;        /* plain, "" when there is none */
    str parameters;         /* raw object */
    bool needs_approval;
    const void *mcp;
};

/* A type of tools that the request has, servable or not. */
struct declared_type {
    struct tool *tool;   /* when such a tool needs no name; NULL: it cannot be served */
    const char *why_not; /* what is known of the reason, or NULL */
};

/* What is only needed while the request is parsed: who has which name, and
 * which tool types the client declared. */
struct tool_index {
    struct str_map by_name; /* upstream name -> struct tool */
    struct str_map types;   /* plain type, by each of its names -> struct declared_type */
    bool is_partial;        /* stored items or servers may bring more tools */
    bool has_all_servers;   /* no tool will be of a server that is not in the set */
};

/* Where the tools of a request stand. */
struct tool_sources {
    str tools;                     /* raw `tools`, or STR_NONE */
    bool is_inherited;             /* they are those of the previous response */
    const struct item_list *items; /* of which some bring more (item_brings_tools) */
    size_t n_before;               /* so many of the items, the first, are history */
};

/* Which tools of its own the gateway has, and, when it has not, why: a sentence for whoever
 * insists. */
struct tool_options {
    bool serves[HOSTED_KIND_COUNT];
    const char *why_not[HOSTED_KIND_COUNT];
    bool serves_pages;    /* with web search: the model may open those it has found */
    bool reject_unserved; /* else such tools are left out of the upstream's request */
};

/* Reads all of them. An item may define a tool anew, which then stands at the end; one of the history
 * does not replace what the request itself has in `tools`. Tools that cannot be served are checked
 * but not in the set, or refused, as the options say. Those of type mcp become declarations: whether a label without a URL is
 * configured, and a URL allowed, is for the caller to find out. Hosted tools, at most one of a
 * kind, get names that no tool of the client has. */
int tool_set_parse(const struct tool_sources *from, const struct tool_options *options,
                   const struct id_source *ids, struct arena *a, struct tool_set *ret,
                   struct tool_index *ret_index, struct err *reterr);

/* Adds one at the end, before those that are loaded. Texts are escaped into the arena, parameters and upstream_name are kept as
 * views. Returns 0, or -1 with *reterr filled: a name that is taken is a 400. */
int tool_set_add_mcp(struct tool_set *set, struct tool_index *index, const struct server_tool *tool,
                     struct arena *a, struct err *reterr);

/* The tool of an MCP server (both escaped), or NULL. */
const struct tool *tool_set_find_mcp(const struct tool_set *set, str server_label, str name);

/* The tool that the upstream calls by this name (plain text), or NULL. Walks the list. */
const struct tool *tool_set_find(const struct tool_set *set, str upstream_name);

/* The hosted tool of this kind, of which there is one at most, or NULL. */
const struct tool *tool_set_find_hosted(const struct tool_set *set, enum hosted_kind kind);

#endif
