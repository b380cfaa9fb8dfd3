/* sandbox_share.c -- who has requests for files under way, and how many.
 *
 * An answer may be large, and is kept until its client has read it, on whichever thread that client
 * is. So what is counted is the whole of a request, from its beginning to its last byte. */
#include "sandbox/sandbox_internal.h"

#include <stdlib.h>

struct share {
    struct share *next;
    unsigned n;
    size_t len;
    char owner[];
};

static struct share **find_share(struct sandbox_hub *hub, str owner)
{
    struct share **place = &hub->shares;

    while (*place != NULL && !str_eq(str_from((*place)->owner, (*place)->len), owner))
        place = &(*place)->next;
    return place;
}

static struct share *share_new(str owner)
{
    struct share *s = calloc(1, sizeof(*s) + owner.len);

    if (s == NULL)
        return NULL;
    s->len = owner.len;
    if (owner.len > 0)
        memcpy(s->owner, owner.p, owner.len);
    return s;
}

/* The analyzer of gcc does not see that find_share() returns a place in the list. */
#ifndef __clang__
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wanalyzer-malloc-leak"
#endif

/* Owner "" may take all places: nobody is asked who they are then. */
static enum sandbox_failure take_place(struct sandbox_hub *hub, str owner)
{
    const struct sandbox_conf *conf = &hub->conf;
    struct share **place = find_share(hub, owner);

    if (owner.len > 0 && *place != NULL && (*place)->n >= conf->max_file_requests_per_owner)
        return SANDBOX_BUSY;
    if (hub->n_file_requests >= conf->max_file_requests)
        return SANDBOX_FULL;
    if (*place == NULL)
        *place = share_new(owner);
    if (*place == NULL)
        return SANDBOX_BROKEN;
    (*place)->n++;
    hub->n_file_requests++;
    return SANDBOX_OK;
}

#ifndef __clang__
#pragma GCC diagnostic pop
#endif

enum sandbox_failure sandbox_files_enter(struct sandbox_hub *hub, str owner)
{
    enum sandbox_failure failure;

    uv_mutex_lock(&hub->lock);
    failure = take_place(hub, owner);
    uv_mutex_unlock(&hub->lock);
    return failure;
}

void sandbox_files_leave(struct sandbox_hub *hub, str owner)
{
    struct share **place, *s;

    uv_mutex_lock(&hub->lock);
    place = find_share(hub, owner);
    s = *place;
    hub->n_file_requests--;
    if (s != NULL && --s->n == 0) {
        *place = s->next;
        free(s);
    }
    uv_mutex_unlock(&hub->lock);
}
