/* admin_turns.c -- /admin/turns: what is being asked of models, and the end of one of it. Nothing is shown
 * of what is said. */
#include "admin/admin_ask.h"
#include "admin/admin_routes.h"
#include "flight/flight.h"
#include "flight/turn_drive.h"
#include "upstream/upstream_table.h"

/* ---- the list */

static void write_turn(struct jw *j, const struct flight *f, uint64_t now_ms)
{
    struct flight_view view;
    const char *phase = flight_describe(f, &view);

    jw_object(j);
    jw_key_string(j, "id", view.id);
    jw_key_string(j, "request_id", f->request_id);
    jw_key_string(j, "owner", f->caller.name);
    jw_key_escaped(j, "model", view.model);
    jw_key_string(j, "upstream", f->upstream->name);
    jw_key_string(j, "phase", str_from_c(phase));
    jw_key_int(j, "age_ms", (int64_t)(now_ms - f->start_ms));
    jw_key_int(j, "rounds", (int64_t)view.rounds);
    jw_key_int(j, "input_tokens", view.input_tokens);
    jw_key_int(j, "output_tokens", view.output_tokens);
    jw_key_bool(j, "stream", view.is_stream);
    jw_key_bool(j, "background", view.is_background);
    jw_key_string(j, "client", f->client);
    jw_object_end(j);
}

static void list_turns(struct admin_ask *ask, struct worker *w)
{
    for (const struct flight *f = w->flights; f != NULL; f = f->next) {
        if (flight_is_shown(f))
            write_turn(&ask->json, f, loop_now_ms(w->loop));
    }
}

static void respond_list(struct admin_ask *ask)
{
    struct buf turns = ask->text;
    struct jw j;

    ask->text = (struct buf){.limit = 0};
    j = jw_to(&ask->text);
    jw_object(&j);
    jw_key(&j, "data");
    jw_array(&j);
    buf_append(&ask->text, buf_str(&turns));
    jw_array_end(&j);
    jw_object_end(&j);
    buf_fini(&turns);
    admin_ask_respond(ask, 200);
}

void admin_turns(struct worker *w, struct http_exchange *x, const struct http_request *r,
                 const struct path_ids *ids)
{
    static const struct admin_ask_kind kind = {list_turns, respond_list};

    (void)r;
    (void)ids;
    admin_ask_begin(&kind, w, x, STR_NONE);
}

/* ---- the end of one */

static bool is_named(const struct flight *f, str id)
{
    struct flight_view view;

    if (!flight_is_shown(f))
        return false;
    (void)flight_describe(f, &view);
    return str_eq(f->request_id, id) || (!str_is_none(view.id) && str_eq(view.id, id));
}

static void cancel_turn(struct admin_ask *ask, struct worker *w)
{
    for (struct flight *f = w->flights; f != NULL; f = f->next) {
        if (!is_named(f, ask->id))
            continue;
        ask->is_found = true;
        ask->is_busy = !flight_stop(f);
        return;
    }
}

static void respond_cancelled(struct admin_ask *ask)
{
    struct jw *j = &ask->json;
    struct err e;

    if (!ask->is_found) {
        err_set(&e, ERR_NOT_FOUND, "No turn with the id '%.*s' is running.", STR_ARG(ask->id));
        admin_ask_respond_error(ask, &e);
        return;
    }
    if (ask->is_busy) {
        err_set(&e, ERR_OVERLOADED, "Another thread works on the turn just now. Please try again.");
        admin_ask_respond_error(ask, &e);
        return;
    }
    jw_object(j);
    jw_key_string(j, "id", ask->id);
    jw_key_bool(j, "cancelled", true);
    jw_object_end(j);
    admin_ask_respond(ask, 200);
}

void admin_turns_cancel(struct worker *w, struct http_exchange *x, const struct http_request *r,
                        const struct path_ids *ids)
{
    static const struct admin_ask_kind kind = {cancel_turn, respond_cancelled};

    (void)r;
    admin_ask_begin(&kind, w, x, ids->v[0]);
}
