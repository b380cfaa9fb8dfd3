/* admin_life.c -- /admin/drain and /admin/reload: what signals do, asked for over HTTP (flight/life.h). */
#include <stdlib.h>

#include "admin/admin_routes.h"
#include "flight/life.h"
#include "flight/worker.h"
#include "json/json_write.h"

static const struct http_header json_type = {STR_INIT("content-type"),
                                             STR_INIT("application/json")};

void admin_drain(struct worker *w, struct http_exchange *x, const struct http_request *r,
                 const struct path_ids *ids)
{
    (void)r;
    (void)ids;
    life_drain(w->life);
    http_exchange_respond(x, 200, &json_type, 1, STR("{\"status\":\"draining\"}"));
}

void admin_take_back(struct worker *w, struct http_exchange *x, const struct http_request *r,
                     const struct path_ids *ids)
{
    (void)r;
    (void)ids;
    life_take_back(w->life);
    http_exchange_respond(x, 200, &json_type, 1, STR("{\"status\":\"serving\"}"));
}

/* ---- reload */

struct reload_ask {
    struct life_reload reload;
    struct worker *home;
    struct http_exchange *x; /* NULL: the client has left */
};

static void on_gone(void *arg)
{
    struct reload_ask *ask = arg;

    ask->x = NULL;
}

static void on_blocked(void *arg, bool is_blocked)
{
    (void)arg;
    (void)is_blocked;
}

/* Returns whether all parts are good. */
static bool write_results(const struct life_reload *reload, struct buf *out)
{
    struct jw j = jw_to(out);
    bool is_good = true;

    jw_object(&j);
    jw_key(&j, "parts");
    jw_array(&j);
    for (size_t i = 0; i < reload->n_results; i++) {
        const struct life_result *result = &reload->results[i];

        is_good = is_good && result->is_good;
        jw_object(&j);
        jw_key_string(&j, "part", str_from_c(result->part));
        jw_key_string(&j, "result", result->is_good ? STR("ok") : STR("error"));
        jw_object_end(&j);
    }
    jw_array_end(&j);
    jw_object_end(&j);
    return is_good;
}

static void on_reloaded(void *arg)
{
    struct reload_ask *ask = arg;
    struct buf body = {.limit = 0};
    bool is_good = write_results(&ask->reload, &body);

    loop_receive(ask->home->loop);
    if (ask->x != NULL)
        http_exchange_respond(ask->x, is_good ? 200 : 409, &json_type, 1, buf_str(&body));
    buf_fini(&body);
    free(ask);
}

void admin_reload(struct worker *w, struct http_exchange *x, const struct http_request *r,
                  const struct path_ids *ids)
{
    static const struct http_exchange_handler handler = {on_gone, on_blocked};
    struct reload_ask *ask = calloc(1, sizeof(*ask));
    struct err e;

    (void)r;
    (void)ids;
    if (ask == NULL) {
        err_set_no_memory(&e);
        http_exchange_respond_error(x, &e, NULL, 0);
        return;
    }
    ask->home = w;
    ask->x = x;
    ask->reload.loop = w->loop;
    ask->reload.done = (struct loop_message){.fn = on_reloaded, .arg = ask};
    http_exchange_watch(x, &handler, ask);
    loop_expect(w->loop);
    life_reload(w->life, &ask->reload);
}
