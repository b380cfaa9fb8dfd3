/* chat_turn_round.c -- the upstream call of a round: the client's body, with our tools and
 * what the rounds before have brought. */
#include "flight/flight_admission.h"
#include "flight/reach.h"
#include "front/chat_turn_internal.h"
#include "front/chat_turn_spans.h"
#include "front/relay_headers.h"
#include "json/json_text.h"
#include "upstream/upstream_live.h"
#include "upstream/upstream_options.h"
#include "upstream/upstream_table.h"
#include "upstream/upstream_watch.h"

/* Room for FLIGHT_HEADERS more than the client has sent is in out. */
static size_t write_headers(struct chat_turn *t, struct http_header *out)
{
    size_t n_passed = relay_headers_on(t->flight.http, RELAY_WITHOUT_CODING, out), n = 0;

    /* A key stands for one request: with it a second round might get the first's answer. */
    for (size_t i = 0; i < n_passed; i++) {
        if (t->n_rounds == 1 || !str_eq(out[i].name, STR("idempotency-key")))
            out[n++] = out[i];
    }
    return flight_add_headers(&t->flight, out, n);
}

static bool is_among(str name, const str *names, size_t n)
{
    size_t i = 0;

    while (i < n && !str_eq(name, names[i]))
        i++;
    return i < n;
}

/* A server that cannot be told the tool that the client forces gets no other (CONTRACT 1.4). */
static void narrow_choice(const struct chat_turn *t, enum chat_tool_choice forms,
                          struct chat_loop_additions *add)
{
    const str forced = t->request.forced;

    if (forms == CHAT_CHOICE_FULL || add->is_later_round || str_is_none(forced))
        return;
    if (!is_among(forced, t->request.names, t->request.n_names) &&
        !is_among(forced, t->names.names, t->names.n))
        return;
    add->only = forced;
    add->choice = forms == CHAT_CHOICE_STRINGS ? STR("\"required\"") : STR("\"auto\"");
}

struct model_profile chat_turn_profile(struct chat_turn *t)
{
    const str model = json_text_dup(&t->flight.arena, t->request.model);
    struct upstream_facts *facts = upstream_watch_facts(t->flight.upstream->live->watch);
    const struct model_profile profile = reach_profile(&t->flight, facts, model);

    upstream_facts_unref(facts);
    return profile;
}

size_t chat_turn_weight(const void *arg)
{
    const struct chat_turn *t = arg;

    return t->flight.body_bytes + t->history.len + chat_loop_said_bytes(&t->merge.said);
}

int chat_turn_write_request(void *arg, struct err *reterr)
{
    struct chat_turn *t = arg;
    const struct model_profile profile = chat_turn_profile(t);
    struct chat_loop_additions add = {
        .tools = buf_str(&t->offer),
        .is_later_round = t->n_rounds > 0,
        .asks_for_usage = t->request.stream && profile.asks_for_usage,
        .only = STR_NONE,
        .choice = STR_NONE,
    };

    if (t->n_rounds > 0)
        chat_turn_remember(t);
    add.messages = buf_str(&t->history);
    narrow_choice(t, profile.tool_choice, &add);
    buf_reset(&t->body);
    chat_loop_request_write(&t->request, &add, &t->body);
    if (!buf_failed(&t->body) && !buf_failed(&t->history))
        return 0;
    if (!t->body.is_full && !t->history.is_full)
        return err_set_no_memory(reterr);
    err_set(reterr, ERR_REQUEST_TOO_LARGE,
            "The request needs more than %zu bytes of memory (max_request_memory).",
            t->flight.worker->config->max_request_memory_bytes);
    return -1;
}

int chat_turn_name_model(void *arg, struct err *reterr)
{
    struct chat_turn *t = arg;

    buf_reset(&t->named);
    if (!str_is_none(flight_sent_model(&t->flight)))
        (void)model_alias_rewrite(flight_names(&t->flight), buf_str(&t->body), &t->named);
    return buf_failed(&t->named) ? err_set_no_memory(reterr) : 0;
}

enum turn_next chat_turn_ask(void *arg, struct err *reterr)
{
    struct chat_turn *t = arg;
    struct http_header *headers =
        arena_array(&t->flight.arena, t->flight.http->n_headers + FLIGHT_HEADERS, sizeof(*headers));
    struct flight_call call = {
        .method = "POST",
        .path = STR("/chat/completions"),
        .query = t->flight.http->query,
        .headers = headers,
        .body = buf_str(t->named.len > 0 ? &t->named : &t->body),
    };

    if (metrics_are_on && t->n_rounds == 0)
        t->flight.counted.model = json_text_dup(&t->flight.arena, t->request.model);
    if (!t->is_retried)
        t->n_rounds++;
    t->is_retried = t->is_held = t->has_shown = false;
    t->failure = NULL;
    chat_merge_begin(&t->merge);
    if (headers == NULL) {
        err_set_no_memory(reterr);
        return TURN_FAIL;
    }
    call.n_headers = write_headers(t, headers);
    chat_turn_spans_ask(t);
    return flight_start_call(&t->flight, &call, &chat_turn_call_handler, reterr) == -1 ? TURN_FAIL
                                                                                       : TURN_GO;
}
