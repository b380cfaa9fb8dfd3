/* models_view.c -- the upstream's models as clients look at them (CONTRACT 15.2, 15.3).
 *
 *     head -> held -> all of the body is there -> written -> answered
 *               \_ it is too large: head and body as they are
 *
 * The head of the upstream's answer waits until its body is there, since only then it is known
 * whether that is a list. What is none, errors among it, is passed on as it is, and so is all when
 * models_extras is off. Large lists are gone through on the pool. */
#include "flight/reach.h"
#include "front/relay_internal.h"
#include "json/json_text.h"
#include "upstream/upstream_live.h"
#include "upstream/upstream_options.h"
#include "upstream/upstream_table.h"
#include "upstream/upstream_watch.h"
#include "upstream/upstream_window.h"
#include "wire/dialect/model_list.h"

/* ---- which answers */

/* The client version that Codex sends, and nobody else. */
bool models_view_wants_catalogue(const struct relay *relay)
{
    str query = relay->flight.http->query;

    while (query.len > 0) {
        if (str_starts_with(str_cut(&query, '&'), STR("client_version=")))
            return true;
    }
    return false;
}

static bool is_list(const struct relay *relay)
{
    return str_eq(relay_path(relay->flight.http->path), STR("/models"));
}

bool models_view_is_wanted(const struct relay *relay)
{
    return (relay->flight.worker->config->models_extras ||
            relay_limits_hide_models(&relay->flight)) &&
           (is_list(relay) || !str_is_none(relay->model));
}

bool models_view_is_due(const struct relay *relay, int status, const struct http_header *headers,
                        size_t n_headers)
{
    if (relay_limits_hide_models(&relay->flight) && is_list(relay))
        return status >= 200 && status <= 299; /* what cannot be read is not shown */
    if (!models_view_is_wanted(relay) || status != 200)
        return false;
    for (size_t i = 0; i < n_headers; i++) {
        if (str_eq(headers[i].name, STR("content-encoding")))
            return false;
    }
    return true;
}

/* ---- what is known of a model */

/* What a look at a model needs. */
struct looker {
    const struct config *config;
    const struct upstream_facts *facts;
};

static struct model_view look_at_model(void *arg, str id, str entry)
{
    const struct looker *l = arg;
    const struct upstream_limits listed = upstream_models_entry(UPSTREAM_PATH_MODELS, entry);
    const struct upstream_window w =
        upstream_window_listed(l->config, l->facts, upstream_name_of(l->config, id), &listed);

    return (struct model_view){.window = w.is_guess ? 0 : w.tokens,
                               .at_most = w.tokens,
                               .takes_images = w.takes_images,
                               .efforts = w.efforts};
}

static struct model_list_view list_view(const struct relay *relay, struct looker *l)
{
    return (struct model_list_view){
        .look = look_at_model,
        .arg = l,
        .aliases = upstream_model_aliases(relay->flight.upstream->config),
        .wants_catalogue = models_view_wants_catalogue(relay),
    };
}

/* Clients with keys of their own may see lists of their own. */
static void report_models(struct relay *relay, const struct upstream_facts *facts)
{
    struct upstream_models models;

    if (!reach_passes_key(&relay->flight) &&
        upstream_models_read(buf_str(&relay->list), &relay->flight.arena, &models) && models.n > 0)
        upstream_watch_hear_models(relay->flight.upstream->live->watch, facts, &models);
}

void models_view_write_entry(const struct relay *relay, str entry, struct buf *out)
{
    struct upstream_facts *facts = upstream_watch_facts(relay->flight.upstream->live->watch);
    struct looker l = {relay->flight.upstream->config, facts};
    const struct model_list_view view = list_view(relay, &l);

    if (!l.config->models_extras || !model_list_write_entry(entry, &view, out))
        buf_append(out, entry);
    upstream_facts_unref(facts);
}

/* ---- what the caller may see of them */

void models_view_refuse(struct err *ret)
{
    err_set(
        ret, ERR_UPSTREAM_ERROR,
        "The upstream server's list of models could not be read, and this key may see a part of "
        "it only.");
}

static bool is_shown(void *arg, str id)
{
    const struct relay *relay = arg;

    return allowance_has_model(relay->flight.caller.allowance, id);
}

/* Leaves out of the list in relay->body what is not for the caller. */
static int hide_models(struct relay *relay, struct err *reterr)
{
    struct buf part = {.limit = 0};
    const bool is_good =
        model_list_filter(buf_str(&relay->body), is_shown, relay, &part) && !buf_failed(&part);

    buf_fini(&relay->body);
    relay->body = part;
    if (is_good)
        return 0;
    models_view_refuse(reterr);
    return -1;
}

/* ---- writing it */

/* On the pool, if there is much. What is shown of a model may be a hundred times what the list says of
 * it: where that is too much in all, the list is passed on as it is. */
static int write_view(void *arg, struct err *reterr)
{
    struct relay *relay = arg;
    struct upstream_facts *facts = upstream_watch_facts(relay->flight.upstream->live->watch);
    struct looker l = {relay->flight.upstream->config, facts};
    const struct model_list_view view = list_view(relay, &l);
    const str said = buf_str(&relay->list);
    bool is_written;

    buf_fini(&relay->body); /* of the request, which has been sent */
    buf_init(&relay->body, l.config->max_response_bytes);
    if (!l.config->models_extras) {
        is_written = false;
    } else if (is_list(relay)) {
        report_models(relay, facts);
        is_written = model_list_write(said, &view, &relay->body);
    } else {
        is_written = model_list_write_entry(said, &view, &relay->body);
    }
    if (!is_written || relay->body.is_full) {
        buf_fini(&relay->body);
        buf_init(&relay->body, 0);
        buf_append(&relay->body, said);
    }
    upstream_facts_unref(facts);
    if (buf_failed(&relay->body))
        return err_set_no_memory(reterr);
    return relay_limits_hide_models(&relay->flight) && is_list(relay) ? hide_models(relay, reterr)
                                                                      : 0;
}

static void answer_view(void *arg, const struct err *failure)
{
    struct relay *relay = arg;

    if (!flight_has_client(&relay->flight))
        return;
    if (failure != NULL)
        relay_fail(relay, failure);
    else
        relay_respond_held(relay, buf_str(&relay->body));
}

/* ---- holding an answer */

/* What describes the bytes of the upstream's answer does not describe ours. */
static bool is_about_bytes(str name)
{
    static const str names[] = {STR_INIT("etag"),          STR_INIT("last-modified"),
                                STR_INIT("accept-ranges"), STR_INIT("content-md5"),
                                STR_INIT("digest"),        STR_INIT("content-digest"),
                                STR_INIT("repr-digest")};

    return str_is_one_of(name, LIST_OF(names));
}

bool models_view_hold(struct relay *relay, const struct http_header *headers, size_t n_headers)
{
    buf_init(&relay->list, relay->flight.worker->config->max_line_bytes);
    return relay_hold_head(relay, headers, n_headers, is_about_bytes);
}

bool models_view_take(struct relay *relay, str bytes)
{
    if (relay->list.len + bytes.len > relay->list.limit)
        return false;
    buf_append(&relay->list, bytes);
    return true;
}

void models_view_answer(struct relay *relay)
{
    struct err e;

    if (!buf_failed(&relay->list)) {
        flight_work(&relay->flight, relay->list.len, write_view, answer_view);
        return;
    }
    err_set_no_memory(&e);
    relay_fail(relay, &e);
}
