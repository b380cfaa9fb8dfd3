/* mcp_config_fixture.h -- tables of MCP servers for tests. */
#ifndef ANTIPHON_TESTS_UNIT_MCP_CONFIG_FIXTURE_H
#define ANTIPHON_TESTS_UNIT_MCP_CONFIG_FIXTURE_H

#include "lib/test.h"

#include "lib/fixture.h"
#include "mcp/conf/mcp_config.h"

enum { MAX_VARIABLES = 8 };

/* A file with what it is read with; zeroed members are "not given". */
struct listing {
    const char *env[MAX_VARIABLES + 1];
    const char *file; /* its text */
    bool others_may_read;
    struct mcp_config *table;
    struct config_problems problems;
    struct buf lines; /* the problems, one below the other */
};

static inline void listing_parse(struct listing *l)
{
    char *text = exact_copy(str_from_c(l->file));
    struct mcp_config_source source = {.name = "mcp.json",
                                       .text = str_from(text, strlen(l->file)),
                                       .others_may_read = l->others_may_read,
                                       .env = l->env};

    l->table = mcp_config_parse(&source, &l->problems);
    free(text);
    config_problems_print(&l->problems, &l->lines);
}

static inline void listing_end(struct listing *l)
{
    mcp_config_unref(l->table);
    config_problems_fini(&l->problems);
    buf_fini(&l->lines);
    l->table = NULL;
}

/* Parses, and nothing is wrong with it. */
static inline void listing_fine(struct listing *l)
{
    listing_parse(l);
    if (l->table == NULL || l->problems.n_kept > 0)
        fail_msg("%s", buf_cstr(&l->lines));
}

static inline const struct mcp_server_conf *listing_server(const struct listing *l,
                                                           const char *label)
{
    const struct mcp_server_conf *s = mcp_config_find(l->table, str_from_c(label));

    if (s == NULL)
        fail_msg("no server \"%s\"", label);
    return s;
}

static inline void listing_says(struct listing *l, const char *piece)
{
    if (strstr(buf_cstr(&l->lines), piece) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", buf_cstr(&l->lines), piece);
}

/* A file with one server "s" that has these members. */
#define ONE(members) "{\"mcpServers\": {\"s\": {" members "}}}"

/* Parses a file with one server, which must be usable or not. */
static inline const struct mcp_server_conf *listing_one(struct listing *l, bool is_usable)
{
    const struct mcp_server_conf *s;

    listing_parse(l);
    if (l->table == NULL)
        fail_msg("%s", buf_cstr(&l->lines));
    s = listing_server(l, "s");
    if (mcp_server_conf_is_usable(s) != is_usable)
        fail_msg("%s\n%s", l->file, buf_cstr(&l->lines));
    return s;
}

#endif
