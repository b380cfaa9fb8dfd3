/* turn_prepare.c -- the beginning of a turn: the client's request is read, and completed
 * with what it refers to. */
#include "flight/request_body.h"
#include "json/json_text.h"
#include "turn/turn_stages.h"

/* The client's word, or else the operator's. */
static int read_dialect(struct turn *t, struct err *reterr)
{
    str word = http_request_header(t->flight.http, STR("x-gateway-dialect"));

    t->dialect = RESPONSE_DIALECT_OPENAI;
    if (!t->flight.peer.ops->manners.has_dialects)
        return 0;
    if (str_is_none(word) ? t->flight.worker->config->dialect == CONFIG_DIALECT_ORS
                          : str_eq_nocase(word, STR("ors")))
        t->dialect = RESPONSE_DIALECT_ORS;
    else if (!str_is_none(word) && !str_eq_nocase(word, STR("responses"))) {
        err_set(reterr, ERR_INVALID_VALUE,
                "Invalid header 'X-Gateway-Dialect'. Supported values are: 'responses' and 'ors'.");
        return -1;
    }
    return 0;
}

size_t turn_body_weight(const void *arg)
{
    const struct turn *t = arg;

    return request_body_weight(t->flight.http);
}

/* Ids come as they stand in JSON; the store knows them without escapes. */
static int keep_id(struct turn *t, str escaped, str *ret, struct err *reterr)
{
    *ret = json_text_copy(&t->flight.arena, escaped);
    if (str_is_none(escaped) || !str_is_none(*ret))
        return 0;
    return err_set_no_memory(reterr);
}

static int list_references(struct turn *t, struct err *reterr)
{
    if (keep_id(t, t->request.previous_response_id, &t->previous_id, reterr) == -1 ||
        keep_id(t, t->request.conversation_id, &t->conversation_id, reterr) == -1 ||
        request_references(&t->request, &t->flight.arena, &t->references, reterr) == -1)
        return -1;
    t->found = arena_array(&t->flight.arena, t->references.n, sizeof(*t->found));
    if (t->found != NULL || t->references.n == 0)
        return 0;
    return err_set_no_memory(reterr);
}

int turn_read_request(void *arg, struct err *reterr)
{
    struct turn *t = arg;
    struct responses_request_options options = turn_request_options(t);
    str body;

    options.is_message = t->flight.peer.ops->manners.sends_messages;
    if (read_dialect(t, reterr) == -1 || peer_body(t->flight.peer, &body, reterr) == -1 ||
        turn_left_keep(t, &body, reterr) == -1)
        return -1;
    t->flight.body_bytes = body.len;
    if (responses_request_parse(body, &options, &t->flight.worker->ids, &t->flight.arena,
                                &t->request, reterr) == -1)
        return -1;
    return t->request.needs_store ? list_references(t, reterr) : 0;
}

/* What the client's connection has is not asked for. */
static bool is_loaded(const struct turn *t)
{
    return t->request.needs_store && (t->before == NULL || t->references.n > 0);
}

/* The store may be away: then the model is not asked in vain. With store_failure=continue an answer is
 * worth more than its being stored. */
static int check_store(const struct turn *t, struct err *reterr)
{
    const struct responses_request *r = &t->request;
    bool writes = !t->is_count && (r->store || !str_is_none(r->conversation_id)); /* it is locked */

    if (t->run != NULL)
        return 0; /* it waits until the store is there again */
    if (t->flight.worker->config->store_failure == CONFIG_STORE_FAILURE_CONTINUE ||
        (!writes && !is_loaded(t)))
        return 0;
    return store_refuses(t->flight.worker->store, writes ? STORE_WRITE : STORE_READ, reterr) ? -1
                                                                                             : 0;
}

/* Events of the background are read again, and those of the legacy dialect cannot be. */
static int check_dialect(const struct turn *t, struct err *reterr)
{
    if (t->dialect == RESPONSE_DIALECT_OPENAI || !t->request.background)
        return 0;
    err_set_param(
        reterr, ERR_UNSUPPORTED_PARAMETER, "background",
        "Streams of background responses have no legacy dialect. Send 'X-Gateway-Dialect: "
        "responses', or leave 'stream' out.");
    return -1;
}

enum turn_next turn_check_request(void *arg, struct err *reterr)
{
    struct turn *t = arg;

    if (t->run != NULL)
        t->request.stream = false; /* whoever reads it reads what was stored */
    if (!t->request.stream)
        t->dialect = RESPONSE_DIALECT_OPENAI; /* the other one has streams only */
    if (check_dialect(t, reterr) == -1)
        return TURN_FAIL;
    turn_find_context(t);
    if (check_store(t, reterr) == -1 || turn_limit(t, reterr) == -1)
        return TURN_FAIL;
    if (t->no_route != NULL) {
        *reterr = *t->no_route;
        return TURN_FAIL;
    }
    return is_loaded(t) ? TURN_GO : TURN_ELSE;
}

/* ---- what it refers to is there */

static int resolve_references(struct turn *t, struct err *reterr)
{
    const struct responses_request_options options = turn_request_options(t);
    const struct store_items *stored = &t->history.items;
    struct request_history h = {.found = t->found, .previous_tail = t->history.tail};
    struct request_history_item *items = arena_array(&t->flight.arena, stored->n, sizeof(*items));

    if (items == NULL && stored->n > 0)
        return err_set_no_memory(reterr);
    for (; h.n < stored->n; h.n++) {
        const struct store_item *item = &stored->v[h.n];

        /* A hidden reference may have become the item itself, when that was deleted. */
        items[h.n] = (struct request_history_item){
            .id = item->id, .body = item->body, .is_output = item->is_output || item->is_hidden};
    }
    h.items = items;
    return request_resolve(&t->request, &h, &options, &t->flight.worker->ids, &t->flight.arena,
                           reterr);
}

int turn_complete_request(void *arg, struct err *reterr)
{
    struct turn *t = arg;

    if (turn_read_context(t, reterr) == -1 ||
        (t->request.needs_store && resolve_references(t, reterr) == -1))
        return -1;
    if (turn_put_back(t, reterr) == -1)
        return -1;
    if (turn_is_background(t) || (t->request.needs_tools && !t->request.is_warm_up))
        return 0;
    return turn_open_response(t, reterr);
}

/* The request was good, and can be continued: that is all that a warm-up asks for (CONTRACT 6.3). */
static enum turn_next end_warm_up(struct turn *t)
{
    if (t->request.stream)
        turn_begin_stream(t);
    response_finish_empty(&t->response, clock_unix_s());
    return TURN_END;
}

enum turn_next turn_pass_tools(void *arg, struct err *reterr)
{
    struct turn *t = arg;

    if (t->request.is_warm_up)
        return end_warm_up(t);
    if (turn_is_background(t) && t->request.needs_tools && turn_choose_servers(t, reterr) == -1)
        return TURN_FAIL; /* what the response repeats of them is known then */
    return t->request.needs_tools || turn_is_background(t) ? TURN_GO : TURN_ELSE;
}
