/* turn_prepare.c -- the beginning of a turn: the client's request is read, and completed
 * with what it refers to. */
#include "gateway/request_body.h"
#include "gateway/turn_internal.h"
#include "gateway/upstream_options.h"

void turn_explain_size(const struct turn *t, struct err *e)
{
    if (t->flight.arena.is_full || t->kept.is_full || t->chat_body.is_full)
        err_set(e, ERR_REQUEST_TOO_LARGE,
                "The request needs more than %zu bytes of memory (max_request_memory).",
                t->flight.worker->config->max_request_memory_bytes);
}

/* The client's word, or else the operator's. */
static int read_dialect(struct turn *t, struct err *reterr)
{
    str word = http_request_header(t->flight.http, STR("x-gateway-dialect"));

    t->dialect = RESPONSE_DIALECT_OPENAI;
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

static int read_request(struct turn *t, struct err *reterr)
{
    const struct responses_request_options options = turn_request_options(t);
    str body;

    if (http_exchange_body(t->flight.x, &body, reterr) == -1)
        return -1;
    t->flight.body_bytes = body.len;
    if (responses_request_parse(body, &options, &t->flight.worker->ids, &t->flight.arena,
                                &t->request, reterr) == -1)
        return -1;
    return t->request.needs_store ? turn_list_references(t, reterr) : 0;
}

/* ---- what it refers to is there */

static int complete_request(struct turn *t, struct err *reterr)
{
    if (t->request.needs_store && turn_resolve(t, reterr) == -1)
        return -1;
    if (turn_put_back(t, reterr) == -1)
        return -1;
    return t->request.needs_tools ? 0 : turn_open_response(t, reterr);
}

static int ask_or_find_tools(struct turn *t, struct err *reterr)
{
    return t->request.needs_tools ? turn_tools(t, reterr) : turn_ask(t, reterr);
}

int turn_resolved(struct turn *t, struct err *reterr)
{
    static const struct turn_step step = {"resolved", complete_request, ask_or_find_tools, false,
                                          false};

    if (turn_step(t, turn_weight(t), &step, reterr) == 0)
        return 0;
    turn_explain_size(t, reterr);
    return -1;
}

/* ---- the beginning */

static int go_on(struct turn *t, struct err *reterr)
{
    if (!t->request.stream)
        t->dialect = RESPONSE_DIALECT_OPENAI; /* the other one has streams only */
    if (turn_check_store(t, reterr) == -1)
        return -1;
    return t->request.needs_store ? turn_load(t, reterr) : turn_resolved(t, reterr);
}

int turn_prepare(struct turn *t, struct err *reterr)
{
    static const struct turn_step step = {"parsed", read_request, go_on, false, false};

    if (read_dialect(t, reterr) == -1)
        return -1;
    if (turn_step(t, request_body_weight(t->flight.http), &step, reterr) == 0)
        return 0;
    turn_explain_size(t, reterr);
    return -1;
}
