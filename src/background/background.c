/* background.c -- places, and who takes the next one. */
#include <stdlib.h>

#include "background/agents.h"
#include "background/poll_cache.h"

struct background *background_new(unsigned max_running)
{
    struct background *b = calloc(1, sizeof(*b));

    if (b == NULL)
        return NULL;
    b->polls = poll_cache_new();
    if (b->polls == NULL || uv_mutex_init(&b->lock) != 0) {
        poll_cache_free(b->polls);
        free(b);
        return NULL;
    }
    b->max_running = max_running;
    return b;
}

void background_free(struct background *b)
{
    if (b == NULL)
        return;
    buf_fini(&b->last_owner);
    poll_cache_free(b->polls);
    uv_mutex_destroy(&b->lock);
    free(b);
}

struct poll_cache *background_polls(struct background *b)
{
    return b->polls;
}

/* ---- who is next */

static struct agent *find_idlest(struct background *b)
{
    struct agent *idlest = NULL;

    for (struct agent *a = b->agents; a != NULL; a = a->next) {
        if (!a->is_claiming && !a->is_closed && (idlest == NULL || a->n_works < idlest->n_works))
            idlest = a;
    }
    return idlest;
}

void background_dispatch(struct background *b)
{
    struct agent *a;

    if (!b->may_have_work || b->n_running >= b->max_running || (a = find_idlest(b)) == NULL)
        return;
    b->may_have_work = false;
    b->n_running++;
    a->n_works++;
    a->is_claiming = true;
    loop_post(a->worker->loop, &a->wake);
}

void background_hint(struct background *b)
{
    uv_mutex_lock(&b->lock);
    b->may_have_work = true;
    background_dispatch(b);
    uv_mutex_unlock(&b->lock);
}

static void give_place_back(struct agent *a)
{
    a->background->n_running--;
    a->n_works--;
}

void background_end_claim(struct agent *a, bool has_found)
{
    struct background *b = a->background;

    uv_mutex_lock(&b->lock);
    a->is_claiming = false;
    if (has_found)
        b->may_have_work = true; /* where there is one there may be more */
    else
        give_place_back(a);
    background_dispatch(b);
    uv_mutex_unlock(&b->lock);
}

void background_add_work(struct agent *a, struct work *work)
{
    uv_mutex_lock(&a->background->lock);
    LIST_INSERT_HEAD(&a->works, work, next);
    uv_mutex_unlock(&a->background->lock);
}

void background_end_work(struct agent *a, struct work *work)
{
    struct background *b = a->background;

    uv_mutex_lock(&b->lock);
    LIST_REMOVE(work, next);
    if (work->has_place)
        give_place_back(a);
    background_dispatch(b);
    uv_mutex_unlock(&b->lock);
}

static bool has_work(const struct agent *a, str id)
{
    for (const struct work *work = LIST_FIRST(&a->works); work != NULL;
         work = LIST_NEXT(work, next)) {
        if (str_eq(work->claimed.id, id))
            return true;
    }
    return false;
}

bool background_is_making(struct background *b, str id)
{
    bool is_made = false;

    uv_mutex_lock(&b->lock);
    for (const struct agent *a = b->agents; a != NULL && !is_made; a = a->next)
        is_made = has_work(a, id);
    uv_mutex_unlock(&b->lock);
    return is_made;
}
