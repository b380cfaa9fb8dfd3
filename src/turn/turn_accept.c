/* turn_accept.c -- a response that is made later, for nobody, is put in the queue (CONTRACT 4.8).
 *
 * The request has been read, and what it refers to was there: whatever is wrong with it is an error of
 * HTTP. What is stored is the response as it stands, its input items and the request, all in one task with
 * which the lock of the conversation goes over to the work. From then on it is no matter of this turn what
 * becomes of it: the client is answered, and if it has left meanwhile nothing changes. */
#include "flight/flight_limits.h"
#include "flight/flight_spans.h"
#include "flight/reach.h"
#include "resume/reader.h"
#include "store/store_work.h"
#include "turn/turn_run.h"
#include "turn/turn_stages.h"
#include "turn/work_request.h"

/* A warm-up is complete when its request is known to be good: nothing of it is left for later. */
bool turn_is_background(const struct turn *t)
{
    return t->request.background && !t->is_count && !t->request.is_warm_up;
}

/* ---- what is stored */

/* Short words stand in for a key ("unused", "ollama"): they do not have to be kept from anybody, where a
 * sealed request could not be run any more by the next gateway. */
static bool is_secret(const struct worker *w, str authorization)
{
    enum { MIN_KEY_BYTES = 12 };
    const str scheme = STR("Bearer ");
    const str key = str_starts_with_nocase(authorization, scheme)
                        ? str_trim(str_skip(authorization, scheme.len))
                        : authorization;

    return key.len >= (w->forgets_seals ? MIN_KEY_BYTES : 1);
}

/* The query of a URL may be a key, which is why no response shows it. */
static bool has_credentials(const struct responses_request *r)
{
    for (const struct mcp_declaration *d = r->tools.first_server; d != NULL; d = d->next) {
        if (!str_is_none(d->authorization) || !str_is_none(d->headers) ||
            str_find_char(d->server_url, '?') < d->server_url.len)
            return true;
    }
    return false;
}

/* The client's own key is kept where it goes on to the upstream; whose memory it uses is told by no more
 * than its hash. */
static int keep_request(struct turn *t, str body, struct buf *out, struct err *reterr)
{
    const struct worker *w = t->flight.worker;
    struct owner_seal seal;
    struct work_request r = {
        .body = body,
        .request_id = t->flight.request_id,
        .client = t->flight.client,
        .is_named = !str_is_none(t->flight.caller.name),
        .authorization = reach_passes_key(&t->flight) ? reach_authorization(&t->flight) : STR_NONE,
        .traceparent = STR_NONE,
        .tracestate = flight_spans_state(&t->flight),
        .scope = turn_memory_scope(t),
    };
    struct trace_context context;
    char traceparent[TRACEPARENT_CHARS + 1];
    const bool has_secrets = (!str_is_none(r.authorization) && is_secret(w, r.authorization)) ||
                             has_credentials(&t->request);

    if (str_is_none(r.scope))
        return err_set_no_memory(reterr);
    if (flight_spans_context(&t->flight, flight_span(&t->flight), &context)) {
        trace_context_write(&context, traceparent);
        r.traceparent = str_from_c(traceparent);
    }
    if (has_secrets)
        owner_seal_tell(w->forgets_seals);
    owner_seal_init(&seal, w->request_keys, t->flight.caller.owner);
    return work_request_write(&r, has_secrets ? &seal.text : NULL, out, reterr);
}

static int compose_request(struct turn *t, struct err *reterr)
{
    struct buf stored = {.limit = 0};
    str body;
    int rc = peer_body(t->flight.peer, &body, reterr);

    if (rc == 0)
        rc = keep_request(t, body, &stored, reterr);
    if (rc == 0) {
        t->accepted.request = arena_dup(&t->kept, buf_str(&stored));
        if (str_is_none(t->accepted.request))
            rc = err_set_no_memory(reterr);
    }
    buf_fini(&stored);
    return rc;
}

size_t turn_accept_weight(const void *arg)
{
    const struct turn *t = arg;

    return turn_is_background(t) ? turn_weight(t) : 0;
}

int turn_compose_accepted(void *arg, struct err *reterr)
{
    struct turn *t = arg;

    if (!turn_is_background(t) || t->has_response)
        return 0;
    if (turn_open_response(t, reterr) == -1)
        return -1;
    if (t->run != NULL)
        return 0;
    response_queue(&t->response, NULL);
    if (turn_compose_queued(t, reterr) == 0 && compose_request(t, reterr) == 0)
        return 0;
    turn_explain_size(t, reterr);
    return -1;
}

/* ---- it is stored */

static int accept_work(struct store_session *s, void *arg, struct err *reterr)
{
    const struct turn *t = arg;
    const struct config *c = t->flight.worker->config;
    const struct store_request request = {.body = t->accepted.request};
    const struct store_work_limits limits = {.most = c->background_queue,
                                             .most_of_owner = c->background_queue_per_owner};

    return store_accept_work(s, t->flight.caller.owner, &t->record, &request, &limits, reterr);
}

static void on_accepted(void *arg, const struct err *failure)
{
    struct turn *t = arg;

    t->flight.n_tasks--;
    if (failure == NULL) {
        t->lock = STR_NONE;  /* the work has it */
        t->key_lock.len = 0; /* and the key stands for its response */
        flight_limits_hand_over(&t->flight);
        worker_hint_work(t->flight.worker);
    }
    t->failure = turn_keep_failure(&t->kept, failure);
    turn_wake(&t->flight);
}

/* The store has not said that it has it, so whatever is wrong with it the request can be sent again:
 * twice the same only if the answer to the commit was all that got lost. */
static void explain_refusal(const struct err *failure, struct err *ret)
{
    *ret = *failure;
    if (failure->code == ERR_STORE)
        err_set(ret, ERR_STORE_AWAY, "%s Please try again.", failure->msg);
}

/* A client that waits for events reads them as they are stored. */
static void answer_accepted(struct turn *t)
{
    const struct reader_want want = {
        .id = id_str(&t->response.id), .after = -1, .obfuscate = t->request.include_obfuscation};
    struct buf object = {.limit = 0};

    if (t->request.stream) {
        turn_give_to_reader(t, &want);
        return;
    }
    response_object(&t->response, &object);
    turn_answer_object(t, &object);
}

/* ---- or it is begun */

static enum turn_next await_started(struct turn *t, struct err *reterr)
{
    if (!t->accepted.is_begun) {
        t->accepted.is_begun = true;
        if (turn_journal_start(t, reterr) == -1)
            return TURN_FAIL;
    }
    if (!t->run->is_started)
        return TURN_WAIT;
    return t->request.needs_tools ? TURN_GO : TURN_ELSE;
}

/* What is not a matter of the background passes, and so does what has been begun there. */
enum turn_next turn_accept(void *arg, struct err *reterr)
{
    struct turn *t = arg;

    if (!turn_is_background(t))
        return TURN_GO;
    if (t->run != NULL)
        return await_started(t, reterr);
    if (!t->accepted.is_begun) {
        t->accepted.is_begun = true;
        turn_start_task(t, STORE_WRITE, accept_work, on_accepted);
    }
    if (t->flight.n_tasks > 0)
        return TURN_WAIT;
    if (t->failure != NULL) {
        explain_refusal(t->failure, reterr);
        return TURN_FAIL;
    }
    answer_accepted(t);
    return TURN_WAIT;
}
