/* mcp_pending.c -- which request does an answer belong to? */
#include "mcp/link/mcp_pending.h"

#include <stddef.h>

void mcp_pending_add(struct mcp_pending_table *t, struct mcp_pending *p)
{
    p->id = ++t->last_id;
    p->next = t->first;
    t->first = p;
}

void mcp_pending_remove(struct mcp_pending_table *t, struct mcp_pending *p)
{
    struct mcp_pending **at = &t->first;

    if (p->id == 0)
        return;
    while (*at != p)
        at = &(*at)->next;
    *at = p->next;
    p->id = 0;
}

struct mcp_pending *mcp_pending_find(const struct mcp_pending_table *t, int64_t id)
{
    struct mcp_pending *p = t->first;

    while (p != NULL && p->id != id)
        p = p->next;
    return id > 0 ? p : NULL;
}

/* An id that was given to a request, though perhaps to none that still waits. */
static bool is_our_id(const struct mcp_pending_table *t, const struct jsonrpc_id *id)
{
    return id->kind == JSONRPC_ID_INT && id->number > 0 && id->number <= t->last_id;
}

/* Servers that refuse a request before they have read it do not know its id: such an error
 * belongs to the exchange that brought it. Results are only taken under their own. */
struct mcp_pending *mcp_pending_match(const struct mcp_pending_table *t,
                                      const struct jsonrpc_message *m, int64_t carrier)
{
    if (is_our_id(t, &m->id))
        return mcp_pending_find(t, m->id.number);
    if (m->kind == JSONRPC_ERROR || m->id.kind == JSONRPC_ID_ABSENT)
        return mcp_pending_find(t, carrier);
    return NULL;
}
