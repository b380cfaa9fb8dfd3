/* sandbox_hub.c -- the hub's thread: its start and its end.
 *
 * Sandboxes are children of this thread, and the kernel ends them with it. */
#include "sandbox/sandbox_internal.h"

#include <stdlib.h>

#include "ev/log.h"

enum { END_MS = SANDBOX_DEATH_MS + 2000 };

static void stop_when_empty(const struct sandbox_hub *hub)
{
    if (hub->is_ending && hub->boxes == NULL && hub->leaving == NULL)
        loop_stop(hub->loop);
}

void sandbox_hub_left(struct sandbox_hub *hub, struct box *b)
{
    struct box **place = &hub->leaving;

    while (*place != b)
        place = &(*place)->next;
    *place = b->next;
    sandbox_box_free(b);
    stop_when_empty(hub);
}

bool sandbox_hub_has(struct sandbox_hub *hub, str owner, str container_id)
{
    bool has;

    uv_mutex_lock(&hub->lock);
    has = sandbox_table_find(hub, owner, container_id) != NULL;
    uv_mutex_unlock(&hub->lock);
    return has;
}

void sandbox_hub_describe(const struct sandbox_hub *hub, struct buf *out)
{
    jail_describe(hub->jail, out);
    buf_c(out, " (");
    buf_append(out, buf_str(&hub->python));
    buf_c(out, ")");
}

size_t sandbox_hub_shortfalls(const struct sandbox_hub *hub, struct buf *out)
{
    return jail_shortfalls(hub->jail, out);
}

/* ---- the end */

static void on_end_too_late(void *arg)
{
    const struct sandbox_hub *hub = arg;

    loop_stop(hub->loop);
}

static void on_end(void *arg)
{
    struct sandbox_hub *hub = arg;

    hub->is_ending = true;
    loop_timer_start(hub->end_timer, END_MS);
    while (hub->boxes != NULL)
        sandbox_table_remove(hub->boxes, SANDBOX_NOT_FOUND, STR("The gateway ends."), "end");
    stop_when_empty(hub);
}

static void thread_main(void *arg)
{
    const struct sandbox_hub *hub = arg;

    loop_run(hub->loop);
}

/* Frees a hub whose thread has ended or was never started. */
static void hub_fini(struct sandbox_hub *hub)
{
    loop_timer_free(hub->end_timer);
    egress_proxy_free(hub->egress);
    loop_free(hub->loop);
    jail_free(hub->jail);
    buf_fini(&hub->python);
    buf_fini(&hub->detail);
    uv_mutex_destroy(&hub->lock);
    free(hub);
}

bool sandbox_hub_free(struct sandbox_hub *hub)
{
    if (hub == NULL)
        return true;
    loop_post(hub->loop, &hub->end);
    (void)uv_thread_join(&hub->thread);
    if (hub->leaving != NULL) {
        log_msg(LOG_WARN, "sandboxes have not ended in %d s and are left alone", END_MS / 1000);
        return false;
    }
    hub_fini(hub);
    return true;
}

/* ---- the start */

static int open_hub_parts(struct sandbox_hub *hub, struct err *reterr)
{
    hub->conf.jail.has_egress = hub->conf.egress != NULL;
    hub->jail = jail_new(&hub->conf.jail, reterr);
    if (hub->jail == NULL)
        return -1;
    hub->loop = loop_new(reterr);
    if (hub->loop == NULL || sandbox_egress_open(hub, reterr) == -1)
        return -1;
    hub->end_timer = loop_timer_new(hub->loop, on_end_too_late, hub);
    if (hub->end_timer == NULL)
        return err_set_no_memory(reterr);
    if (uv_thread_create(&hub->thread, thread_main, hub) == 0)
        return 0;
    err_set(reterr, ERR_INTERNAL, "The thread for sandboxes could not be started.");
    return -1;
}

static struct sandbox_hub *hub_new(const struct sandbox_conf *conf)
{
    struct sandbox_hub *hub = calloc(1, sizeof(*hub));

    if (hub == NULL || uv_mutex_init(&hub->lock) != 0) {
        free(hub);
        return NULL;
    }
    hub->conf = *conf;
    hub->end = (struct loop_message){.fn = on_end, .arg = hub};
    return hub;
}

/* Opens a hub and tries it; *ret_ground is what its sandboxes were to start in. */
static struct sandbox_hub *open_hub(const struct sandbox_conf *conf, enum jail_ground *ret_ground,
                                    struct err *reterr)
{
    struct sandbox_hub *hub = hub_new(conf);

    *ret_ground = JAIL_GROUND_NONE;
    if (hub == NULL) {
        err_set_no_memory(reterr);
        return NULL;
    }
    if (open_hub_parts(hub, reterr) == -1) {
        hub_fini(hub);
        return NULL;
    }
    *ret_ground = jail_ground_of(hub->jail);
    if (sandbox_probe(hub, reterr) == 0)
        return hub;
    (void)sandbox_hub_free(hub);
    return NULL;
}

/* A machine may let a child prepare the ground, and then not let bwrap work on it: then less is
 * tried. */
struct sandbox_hub *sandbox_hub_new(const struct sandbox_conf *conf, struct err *reterr)
{
    struct sandbox_conf less = *conf;
    enum jail_ground ground;
    struct sandbox_hub *hub = open_hub(&less, &ground, reterr);

    while (hub == NULL && ground != JAIL_GROUND_NONE) {
        less.jail.ground = ground + 1;
        hub = open_hub(&less, &ground, reterr);
    }
    return hub;
}
