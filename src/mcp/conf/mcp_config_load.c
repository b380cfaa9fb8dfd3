/* mcp_config_load.c -- the file behind a table of servers. */
#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/secrets.h"
#include "config/config.h"
#include "config/file_mode.h"
#include "mcp/conf/mcp_config.h"

/* Warns of files, read when a server starts, that others may change or read. */
static void check_server_files(const struct mcp_config *c, struct config_problems *problems)
{
    for (size_t i = 0; c != NULL && i < c->n; i++) {
        const struct mcp_server_conf *s = &c->servers[i];

        if (s->env_file != NULL)
            file_mode_check_writers(s->env_file, problems);
        if (s->bearer_token_file != NULL) {
            file_mode_check_writers(s->bearer_token_file, problems);
            file_mode_check_readers(s->bearer_token_file, problems);
        }
    }
}

static struct mcp_config *load_config(const char *path, const char *const *env,
                                      const struct mcp_config_defaults *defaults,
                                      struct config_problems *problems)
{
    struct mcp_config_source source = {.name = path, .env = env};
    struct mcp_config *c = NULL;
    struct buf text;
    struct stat s;

    if (defaults != NULL)
        source.defaults = *defaults;
    if (config_read_file(path, &text, problems)) {
        source.text = buf_str(&text);
        source.others_may_read = stat(path, &s) == 0 && (s.st_mode & (S_IRGRP | S_IROTH)) != 0;
        c = mcp_config_parse(&source, problems);
        check_server_files(c, problems);
    }
    secret_buf_fini(&text);
    return c;
}

struct mcp_config *mcp_config_load(const char *path, bool is_named, const char *const *env,
                                   const struct mcp_config_defaults *defaults,
                                   struct config_problems *problems)
{
    static const struct mcp_config_source none = {.name = "",
                                                  .text = STR_INIT("{\"servers\": {}}")};
    struct stat s;

    if (is_named || stat(path, &s) == 0 || errno != ENOENT)
        return load_config(path, env, defaults, problems);
    config_warning(problems, "%s: there is no such file, so there are no MCP servers", path);
    return mcp_config_parse(&none, problems);
}
