/* turn_response.c -- the response of a turn is made, of what its request says. */
#include <string.h>

#include "flight/reach.h"
#include "turn/turn_internal.h"
#include "turn/turn_run.h"
#include "upstream/upstream_options.h"
#include "wire/harmony/harmony_request.h"
#include "wire/request/response_echo.h"

static enum reasoning_mode reasoning_mode(const struct config *c, const struct responses_request *r)
{
    if (c->reasoning == CONFIG_REASONING_NONE)
        return REASONING_NONE;
    if (c->reasoning == CONFIG_REASONING_SUMMARY ||
        (c->summary_when_requested && r->reasoning_summary_requested))
        return REASONING_SUMMARY;
    return c->reasoning == CONFIG_REASONING_OPENRESPONSES ? REASONING_OPEN_RESPONSES
                                                          : REASONING_TEXT;
}

/* Listing servers, running what was approved and the queue come before the model is asked: a mistake
 * in the items is to be known before anything is done. */
static int check_items(const struct turn *t, struct err *reterr)
{
    const struct chat_request_options plain = {.short_call_ids = false};
    const bool asks_at_once =
        !t->request.needs_tools && t->request.approved == NULL && !turn_is_background(t);
    struct conversation c;
    struct arena scratch;
    int rc;

    if (asks_at_once || t->request.has_trigger)
        return 0;
    arena_init(&scratch, t->flight.worker->config->max_request_memory_bytes);
    rc = chat_request_conversation(&t->request, &plain, &t->flight.worker->ids, &scratch, &c,
                                   reterr);
    if (rc == 0 && t->profile.harmony == HARMONY_MODE_COMPLETIONS)
        rc = harmony_request_check(&t->request, &c, CHAT_FIRST_ROUND, reterr);
    arena_fini(&scratch);
    return rc;
}

/* The first events repeat the request twice. What is large is written here, where that holds up
 * nobody, and is kept until the stream begins. Where there is none, they are what may be read later. */
static int write_opening(struct turn *t, struct err *reterr)
{
    if (turn_is_background(t))
        return 0;
    if (!t->request.stream && t->response.conf.keeps_cuts)
        response_start(&t->response, NULL);
    if (!t->request.stream || t->echo.len < WORKER_LARGE_BYTES)
        return 0;
    response_start(&t->response, &t->opening);
    if (!buf_failed(&t->opening))
        return 0;
    return err_set_no_memory(reterr);
}

/* The id was made up when the response was accepted. */
static struct id given_id(str text)
{
    struct id id = {.len = (unsigned char)(text.len < ID_BYTES ? text.len : ID_BYTES)};

    memcpy(id.text, text.p, id.len);
    return id;
}

int turn_open_response(struct turn *t, struct err *reterr)
{
    const struct config *c = t->flight.worker->config;
    const str model = turn_upstream_model(t);
    struct response_conf response = {
        .ids = &t->flight.worker->ids,
        .tools = &t->request.tools,
        .service_tier = t->request.service_tier,
        .created_at = t->run == NULL ? clock_unix_s() : t->run->work.created_at,
        .reasoning = reasoning_mode(c, &t->request),
        .error_event = c->error_event && t->flight.peer.ops->manners.has_error_events,
        .obfuscation = t->request.include_obfuscation && t->run == NULL,
        .interleaved_calls = c->interleaved_calls,
        .max_output_bytes = c->max_response_bytes,
        .max_tool_calls = t->request.max_tool_calls,
        .single_call = str_eq(t->request.parallel_tool_calls, STR("false")),
        .dialect = t->dialect,
        .keeps_cuts = turn_keeps_cuts(t),
        .max_events = turn_keeps_cuts(t) ? c->events_per_response : 0,
        .is_background = t->request.background,
        .seal = turn_asked_seal(t),
        .shows_code_outputs = t->request.include_code_outputs,
        .sources = turn_sources(t),
    };

    t->profile = reach_profile(&t->flight, t->facts, model);
    t->window = upstream_window_profiled(&t->profile, t->facts, model);
    if (check_items(t, reterr) == -1 || turn_choose_container(t, reterr) == -1)
        return -1;
    response.container_id = t->calls.container_id; /* ids need no escapes */
    responses_request_echo(&t->request, &t->echo);
    if (buf_failed(&t->echo))
        return err_set_no_memory(reterr);
    response.echo = buf_str(&t->echo);
    response_init(&t->response, &response);
    if (t->key_lock.len > 0)
        t->response.id = t->key_lock; /* by which it is known to those who repeat the request */
    t->has_response = true;
    if (t->run != NULL)
        t->response.id = given_id(t->run->work.id);
    return write_opening(t, reterr);
}
