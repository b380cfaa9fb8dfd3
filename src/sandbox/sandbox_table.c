/* sandbox_table.c -- the containers that there are.
 *
 * A container of someone else is one that is not there: in all that is found, and in what is said
 * of it. There are few enough to look at each. */
#include "sandbox/sandbox_internal.h"

#include "ev/log.h"
#include "metrics/metrics.h"

static bool is_owned_by(const struct box *b, str owner)
{
    return str_eq(b->owner, owner);
}

struct box *sandbox_table_find(const struct sandbox_hub *hub, str owner, str container_id)
{
    struct box *b = hub->boxes;

    while (b != NULL && !(str_eq(b->view.id, container_id) && is_owned_by(b, owner)))
        b = b->next;
    return b;
}

/* ---- the end of one */

/* The sandbox that is tried at the start is nobody's container, and so only logged for debugging.
 */
static void log_box(const char *event, const struct box *b, const char *why)
{
    log_line(b->hub->is_tried ? LOG_INFO : LOG_DEBUG, event,
             (struct log_field[]){LOG_STR("container", b->view.id), LOG_STR("why", str_from_c(why)),
                                  LOG_END});
}

static void count_box(const struct box *b, int n)
{
    if (!b->is_trial)
        metrics_move(METRIC_CONTAINERS, 0, n);
}

static void unlink_box(struct box *b)
{
    struct sandbox_hub *hub = b->hub;
    struct box **place = &hub->boxes;

    while (*place != b)
        place = &(*place)->next;
    uv_mutex_lock(&hub->lock);
    *place = b->next;
    uv_mutex_unlock(&hub->lock);
    b->next = hub->leaving;
    hub->leaving = b;
}

void sandbox_table_remove(struct box *b, enum sandbox_failure failure, str message, const char *why)
{
    log_box("container_end", b, why);
    count_box(b, -1);
    unlink_box(b);
    sandbox_box_leave(b, failure, message);
}

/* ---- room for another */

/* Counts the boxes of this owner, or all when owner is NULL; *ret_idle is the idle one of them that
 * was not used for the longest time. */
static size_t count_boxes(const struct sandbox_hub *hub, const str *owner, struct box **ret_idle)
{
    size_t n = 0;

    *ret_idle = NULL;
    for (struct box *b = hub->boxes; b != NULL; b = b->next) {
        if (owner != NULL && !is_owned_by(b, *owner))
            continue;
        n++;
        if (sandbox_box_is_idle(b) && (*ret_idle == NULL || b->used < (*ret_idle)->used))
            *ret_idle = b;
    }
    return n;
}

static bool make_room_for_one(const struct sandbox_hub *hub, const str *owner, unsigned limit)
{
    struct box *idle;

    if (count_boxes(hub, owner, &idle) < limit)
        return true;
    if (idle == NULL)
        return false;
    sandbox_table_remove(idle, SANDBOX_NOT_FOUND, STR(""), "its place is needed");
    return true;
}

/* Owner "" may take all places: nobody is asked who they are then. */
static bool make_room(const struct sandbox_hub *hub, str owner)
{
    const struct sandbox_conf *conf = &hub->conf;

    return (owner.len == 0 || make_room_for_one(hub, &owner, conf->max_per_owner)) &&
           make_room_for_one(hub, NULL, conf->max_containers);
}

static bool id_is_taken(const struct sandbox_hub *hub, str container_id)
{
    const struct box *b = hub->boxes;

    while (b != NULL && !str_eq(b->view.id, container_id))
        b = b->next;
    return b != NULL;
}

struct box *sandbox_table_add(struct sandbox_hub *hub, const struct sandbox_request *request,
                              enum sandbox_failure *ret_failure)
{
    struct box *b = NULL;

    if (id_is_taken(hub, request->container_id)) {
        *ret_failure = SANDBOX_NOT_FOUND;
    } else if (!make_room(hub, request->owner)) {
        *ret_failure = SANDBOX_FULL;
    } else {
        *ret_failure = SANDBOX_BROKEN;
        b = sandbox_box_new(hub, request);
    }
    if (b == NULL)
        return NULL;
    uv_mutex_lock(&hub->lock);
    b->next = hub->boxes;
    hub->boxes = b;
    uv_mutex_unlock(&hub->lock);
    log_box("container_start", b, NULL);
    count_box(b, 1);
    sandbox_box_used(b);
    return b;
}
