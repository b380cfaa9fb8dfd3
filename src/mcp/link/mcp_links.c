/* mcp_links.c -- what the links have in common. */
#include "mcp/link/mcp_links.h"

void mcp_link_secrets(const struct mcp_server_conf *server, struct secrets *out)
{
    str url = server->url.hidden;

    for (size_t i = 0; i < server->n_secrets; i++)
        secrets_add(out, server->secrets[i]);
    for (size_t i = 0; i < server->headers.n; i++)
        secrets_add_header(out, server->headers.items[i].value.hidden);
    secrets_add(out, server->bearer_token.hidden);
    secrets_add(out, str_skip(url, str_find_char(url, '?') + 1));
}
