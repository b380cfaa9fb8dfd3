/* admin_keys.c -- /admin/keys: who may ask, how much, and what is used of that. Of keys nothing is shown but the
 * marks by which the log names them. */
#include "access/api_key_names.h"
#include "access/key_setting.h"
#include "access/rate_table.h"
#include "admin/admin_routes.h"
#include "flight/flight_limits.h"
#include "flight/worker.h"
#include "json/json_write.h"

static void write_number(struct jw *j, const char *key, bool is_known, uint64_t n)
{
    jw_key(j, key);
    if (is_known)
        jw_int(j, (int64_t)n);
    else
        jw_null(j);
}

static void write_keys(struct jw *j, const struct api_key_name *name)
{
    jw_key(j, "keys");
    jw_array(j);
    for (const struct api_key_shown *k = name->first; k != NULL; k = k->next) {
        jw_object(j);
        jw_key_string(j, "mark", k->mark);
        jw_key_bool(j, "admin", k->is_admin);
        write_number(j, "expires", k->expires_s != INT64_MAX, (uint64_t)k->expires_s);
        jw_object_end(j);
    }
    jw_array_end(j);
}

/* The models that a name may ask for; null when it may ask for all. */
static void write_models(struct jw *j, const struct allowance *a)
{
    str rest;

    jw_key(j, "models");
    if (!allowance_is_choosy(a)) {
        jw_null(j);
        return;
    }
    rest = a->models;
    jw_array(j);
    while (rest.len > 0)
        jw_string(j, str_cut(&rest, ','));
    jw_array_end(j);
}

/* The limits of a name and what is left of them. Requests of a name without limits are not counted: `running` is
 * null then. */
static void write_use(struct jw *j, const struct worker *w, const struct caller *caller)
{
    const struct rate_limits limits = flight_limits_of(w, caller);
    struct rate_answer use = {.n_running = 0};

    if (w->rates != NULL)
        use = rate_table_look(w->rates, caller->owner, &limits, loop_now_ms(w->loop));
    write_number(j, "rpm", limits.rpm > 0, limits.rpm);
    write_number(j, "tpm", limits.tpm > 0, limits.tpm);
    write_number(j, "concurrency", limits.concurrency > 0, limits.concurrency);
    write_number(j, "running", rate_limits_are_any(&limits), use.n_running);
    write_number(j, "requests_left", limits.rpm > 0, use.requests.left);
    write_number(j, "tokens_left", limits.tpm > 0, use.tokens.left);
}

static void write_name(struct jw *j, const struct worker *w, const struct api_key_name *name)
{
    const struct allowance *a = name->caller.allowance;

    jw_object(j);
    jw_key_string(j, "name", name->caller.name);
    write_keys(j, name);
    write_models(j, a);
    jw_key_int(j, "weight", allowance_weight(a));
    jw_key_string(j, "priority", key_priority_word(allowance_priority(a)));
    write_use(j, w, &name->caller);
    jw_object_end(j);
}

static void respond_names(const struct worker *w, struct http_exchange *x,
                          const struct api_key_name *names, size_t n)
{
    struct buf body = {.limit = 0};
    struct jw j = jw_to(&body);

    jw_object(&j);
    jw_key(&j, "data");
    jw_array(&j);
    for (size_t i = 0; i < n; i++)
        write_name(&j, w, &names[i]);
    jw_array_end(&j);
    jw_object_end(&j);
    admin_respond_json(x, 200, &body);
}

void admin_keys(struct worker *w, struct http_exchange *x, const struct http_request *r,
                const struct path_ids *ids)
{
    struct arena memory = {.limit = 0};
    struct api_key_name *names;
    size_t n;
    struct err e;

    (void)r;
    (void)ids;
    if (api_key_names(w->keys, &memory, &names, &n) == 0) {
        respond_names(w, x, names, n);
    } else {
        err_set_no_memory(&e);
        http_exchange_respond_error(x, &e, NULL, 0);
    }
    arena_fini(&memory);
}
