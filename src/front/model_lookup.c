/* model_lookup.c -- one model out of the upstream's list.
 *
 * Few servers have a path for one model: vLLM and llama.cpp answer 404 to it, also for
 * the model they run, and a web interface in front of a server answers any path with its
 * page. Clients that ask for a model before they use it take that for its absence. So the
 * upstream is asked for its list then; and at once for an alias, which it does not know, or
 * where its answer to a path would mean nothing. */
#include "flight/flight_spans.h"
#include "flight/reach.h"
#include "front/relay_internal.h"
#include "http/percent.h"
#include "upstream/upstream_live.h"
#include "upstream/upstream_options.h"
#include "upstream/upstream_table.h"
#include "upstream/upstream_watch.h"
#include "wire/dialect/model_list.h"

static const str models_path = STR_INIT("/models/");

str model_lookup_id(const struct http_request *r, struct arena *a)
{
    str path = relay_path(r->path);

    if (!str_starts_with(path, models_path) || path.len == models_path.len ||
        (!str_eq(r->method, STR("GET")) && !str_eq(r->method, STR("HEAD"))))
        return STR_NONE;
    return percent_decode(a, str_skip(path, models_path.len));
}

/* What the upstream calls the model. */
static str upstream_name(const struct relay *relay)
{
    const struct name_list aliases = upstream_model_aliases(relay->flight.upstream->config);
    str model = model_alias_find(aliases, relay->model);

    return str_is_none(model) ? relay->model : model;
}

static bool knows_its_paths(const struct upstream_entry *u)
{
    struct upstream_facts *facts = upstream_watch_facts(u->live->watch);
    const bool knows_any =
        upstream_has(upstream_kind_profile(u->config, facts), UPSTREAM_KNOWS_ANY_PATH);

    upstream_facts_unref(facts);
    return !knows_any;
}

bool model_lookup_is_due(const struct relay *relay)
{
    return !str_is_none(relay->model) && (!str_eq(upstream_name(relay), relay->model) ||
                                          !knows_its_paths(relay->flight.upstream));
}

static bool is_no_path(int status)
{
    return status == 404 || status == 405 || status == 501;
}

bool model_lookup_is_needed(const struct relay *relay, int status,
                            const struct http_header *headers, size_t n_headers)
{
    if (str_is_none(relay->model))
        return false;
    for (size_t i = 0; i < n_headers; i++) {
        if (str_eq(headers[i].name, STR("content-type")) &&
            str_has_nocase(headers[i].value, STR("text/html")))
            return status < 400 || is_no_path(status); /* an error's page is no model's either */
    }
    return is_no_path(status);
}

/* ---- reports of the call */

static void on_head(void *arg, int status, const struct http_header *headers, size_t n_headers)
{
    struct relay *relay = arg;

    flight_spans_head(&relay->flight, status);
    upstream_answer_head(&relay->flight.answer, status, headers, n_headers);
}

static void answer_from_list(struct relay *relay)
{
    struct buf object = {.limit = 0}, shown = {.limit = 0};
    struct err e;

    if (buf_failed(&relay->list)) {
        err_set(&e, ERR_UPSTREAM_ERROR, "The upstream server's list of models is too large.");
        relay_fail(relay, &e);
    } else if (model_list_find(buf_str(&relay->list), upstream_name(relay), relay->model,
                               &object)) {
        models_view_write_entry(relay, buf_str(&object), &shown);
        relay_respond(relay, buf_str(&shown));
    } else {
        err_set_param(&e, ERR_MODEL_NOT_FOUND, "model", "The model '%.*s' does not exist.",
                      STR_ARG(relay->model));
        relay_fail(relay, &e);
    }
    buf_fini(&object);
    buf_fini(&shown);
}

static void end_lookup(struct relay *relay)
{
    struct err e;

    if (upstream_answer_is_good(&relay->flight.answer) || is_no_path(relay->flight.answer.status)) {
        answer_from_list(relay);
    } else {
        upstream_answer_error(&relay->flight.answer, reach_passes_key(&relay->flight), &e);
        reach_hide_keys(&relay->flight, &e);
        relay_fail(relay, &e);
    }
}

/* A body that is too large may have no end. */
static void on_body(void *arg, str bytes)
{
    struct relay *relay = arg;
    bool fits;

    if (upstream_answer_is_good(&relay->flight.answer)) {
        buf_append(&relay->list, bytes);
        fits = !buf_failed(&relay->list);
    } else {
        fits = upstream_answer_keep(&relay->flight.answer, bytes);
    }
    if (fits)
        return;
    flight_cancel_call(&relay->flight);
    end_lookup(relay);
    flight_free_if_over(&relay->flight);
}

static void on_end(void *arg, const struct err *failure)
{
    struct relay *relay = arg;

    if (failure != NULL)
        relay->phase = http_call_phase(relay->flight.call);
    relay->flight.call = NULL;
    flight_spans_call_ended(&relay->flight, failure);
    if (failure != NULL)
        relay_fail(relay, failure);
    else
        end_lookup(relay);
    flight_free_if_over(&relay->flight);
}

static const struct http_call_handler list_handler = {on_head, on_body, on_end};

/* ---- the call */

void model_lookup_start(struct relay *relay)
{
    struct http_header headers[1 + FLIGHT_HEADERS] = {{STR("accept"), STR("application/json")}};
    const struct flight_call call = {
        .method = "GET",
        .path = STR("/models"),
        .headers = headers,
        .n_headers = flight_add_headers(&relay->flight, headers, 1),
    };
    struct err e;

    buf_init(&relay->list, relay->flight.worker->config->max_response_bytes);
    if (flight_start_call(&relay->flight, &call, &list_handler, &e) == -1)
        relay_fail(relay, &e);
}
