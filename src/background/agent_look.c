/* agent_look.c -- once a second, for all agents: what is wished of their work, and what was lost. */
#include "background/agents.h"

#include <string.h>

enum { LOOK_EVERY_MS = 1000, MAX_LOOKED_AT = 4096 };

/* ---- hearing */

/* The next of the agent's works of which something is wished. */
static struct work *next_wished(struct agent *a)
{
    struct work *work;

    uv_mutex_lock(&a->background->lock);
    for (work = LIST_FIRST(&a->works); work != NULL; work = LIST_NEXT(work, next)) {
        if (work->wish != STORE_GO_ON)
            break;
    }
    if (work != NULL)
        work->wish = STORE_GO_ON;
    uv_mutex_unlock(&a->background->lock);
    return work;
}

/* A turn whose response is taken or deleted ends as a cancelled one; it finds the rest when it stores that. */
void agent_hear_wishes(struct agent *a)
{
    struct work *work;

    while ((work = next_wished(a)) != NULL)
        work_cancel(work);
}

/* ---- looking */

/* With the lock held. */
static size_t count_works(const struct background *b)
{
    size_t n = 0;

    for (const struct agent *a = b->agents; a != NULL; a = a->next) {
        for (const struct work *work = LIST_FIRST(&a->works); work != NULL;
             work = LIST_NEXT(work, next))
            n++;
    }
    return n < MAX_LOOKED_AT ? n : MAX_LOOKED_AT;
}

/* With the lock held: works may end while the store is asked, so it gets copies. False when out of
 * memory. */
static bool list_works(const struct background *b, struct look *look)
{
    const size_t n = count_works(b);

    look->n = 0;
    look->ids = arena_array(&look->arena, n, sizeof(*look->ids));
    look->locks = arena_array(&look->arena, n, sizeof(*look->locks));
    look->wishes = arena_array(&look->arena, n, sizeof(*look->wishes));
    if (look->ids == NULL || look->locks == NULL || look->wishes == NULL)
        return false;
    for (const struct agent *a = b->agents; a != NULL; a = a->next) {
        for (const struct work *work = LIST_FIRST(&a->works); work != NULL;
             work = LIST_NEXT(work, next)) {
            if (look->n == n)
                return true;
            look->ids[look->n] = arena_dup(&look->arena, work->claimed.id);
            look->locks[look->n] = arena_dup(&look->arena, work->claimed.lock);
            if (str_is_none(look->ids[look->n]) || str_is_none(look->locks[look->n]))
                return false;
            look->n++;
        }
    }
    return true;
}

static int look_work(struct store_session *s, void *arg, struct err *reterr)
{
    struct look *look = arg;

    look->is_found = false;
    if (look->n > 0 &&
        store_get_wishes(s, look->ids, look->locks, look->n, look->wishes, reterr) == -1)
        return -1;
    if (look->lost == NULL)
        return 0;
    return store_take_lost_work(s, &look->lost->arena, &look->lost->claimed, &look->is_found,
                                reterr);
}

/* With the lock held. */
static void note_wish(struct background *b, str lock, enum store_wish wish)
{
    for (struct agent *a = b->agents; a != NULL; a = a->next) {
        for (struct work *work = LIST_FIRST(&a->works); work != NULL;
             work = LIST_NEXT(work, next)) {
            if (!str_eq(work->claimed.lock, lock))
                continue;
            work->wish = wish;
            loop_post(a->worker->loop, &a->wake);
            return;
        }
    }
}

static void note_wishes(struct background *b, const struct look *look)
{
    for (size_t i = 0; i < look->n; i++) {
        if (look->wishes[i] == STORE_GO_ON)
            continue;
        uv_mutex_lock(&b->lock);
        note_wish(b, look->locks[i], look->wishes[i]);
        uv_mutex_unlock(&b->lock);
    }
}

/* What has run is not run again, since its tools may have acted. */
static void finish_lost(struct agent *a, struct work *lost)
{
    struct err why;

    if (lost->claimed.is_cancelled)
        err_set(&why, ERR_RESPONSE_CANCELLED, "The response was cancelled.");
    else
        err_set(&why, ERR_INTERNAL, "The gateway stopped while the response was in progress.");
    background_add_work(a, lost);
    work_finish(lost, &why);
}

void agent_forget_look(struct agent *a)
{
    arena_fini(&a->look.arena);
    if (a->look.lost != NULL)
        work_free(a->look.lost);
    a->look.lost = NULL;
}

/* Where there is one that was lost there may be more: no gateway has lost a single one. */
static void end_look(struct agent *a, bool is_due_again)
{
    struct background *b = a->background;

    agent_forget_look(a);
    uv_mutex_lock(&b->lock);
    b->is_looking = false;
    if (is_due_again)
        b->look_at_ms = 0;
    uv_mutex_unlock(&b->lock);
    if (is_due_again)
        agent_look(a);
}

static void on_looked(void *arg, const struct err *failure)
{
    struct look *look = arg;
    struct agent *a = look->agent;
    struct work *lost = look->lost;
    const bool has_lost = failure == NULL && look->is_found;

    if (failure == NULL)
        note_wishes(a->background, look);
    if (has_lost) {
        look->lost = NULL;
        finish_lost(a, lost);
    }
    end_look(a, has_lost);
}

static void start_look(struct agent *a)
{
    struct look *look = &a->look;
    struct background *b = a->background;
    bool is_listed;

    look->agent = a;
    arena_init(&look->arena, 0);
    look->lost = a->worker->is_draining ? NULL : work_new(a);
    uv_mutex_lock(&b->lock);
    is_listed = list_works(b, look);
    uv_mutex_unlock(&b->lock);
    if (!is_listed || (look->n == 0 && look->lost == NULL)) {
        end_look(a, false);
        return;
    }
    look->task = (struct store_task){.access = STORE_WRITE,
                                     .work = look_work,
                                     .done = on_looked,
                                     .arg = look,
                                     .loop = a->worker->loop};
    store_start(a->worker->store, &look->task);
}

/* The time at which a look is due is taken by one agent; whatever is queued may be by other gateways. */
static bool take_look(struct agent *a)
{
    struct background *b = a->background;
    const uint64_t now_ms = loop_now_ms(a->worker->loop);
    struct err e;
    bool is_due;

    if (store_refuses(a->worker->store, STORE_WRITE, &e))
        return false;
    uv_mutex_lock(&b->lock);
    is_due = !b->is_looking && now_ms >= b->look_at_ms;
    if (is_due) {
        b->is_looking = true;
        b->look_at_ms = now_ms + LOOK_EVERY_MS;
        b->may_have_work = true;
        background_dispatch(b);
    }
    uv_mutex_unlock(&b->lock);
    return is_due;
}

void agent_look(struct agent *a)
{
    if (take_look(a))
        start_look(a);
}
