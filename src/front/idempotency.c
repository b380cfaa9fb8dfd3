/* idempotency.c -- a request with a key, on its way to its turn or to the answer of an earlier one.
 *
 *     read -> asked -> begun ----> its turn
 *              ^  |--> finished -> the answer: a stored response, its events, or kept bytes
 *              |  |--> runs -----> its events, if they are made here and asked for
 *              +-wait<---'
 *
 * Whoever waits asks again, each time after twice as long, until that is a second: another gateway may be
 * at it, and nothing tells when that is done. A key in the store is held by a lock whose name is the id that the
 * response is going to have, which is how those that wait know it.
 *
 * Streams of the legacy dialect are not the events that can be read again from the store, so what was
 * answered is kept of them as well. */
#include "front/idempotency.h"

#include "ev/log.h"
#include "ev/sha256.h"
#include "flight/flight.h"
#include "flight/flight_spans.h"
#include "flight/request_body.h"
#include "flight/worker.h"
#include "front/idempotency_key.h"
#include "front/peer_recorder.h"
#include "front/refuse.h"
#include "front/state_calls.h"
#include "json/json_read.h"
#include "memory/answer_memory.h"
#include "resume/reader.h"
#include "resume/running.h"
#include "store/store_idempotency.h"
#include "turn/turn.h"

enum { FIRST_WAIT_MS = 10, MEMORY_WAIT_MS = 100, STORE_WAIT_MS = 1000 };

struct keyed {
    struct flight flight; /* first */
    struct http_exchange *x;
    const struct http_request *http; /* lives as long as the client */
    struct answer_key hashes;
    bool is_compact;
    bool is_stored, is_stream, is_padded; /* its response */
    uint64_t wait_ms;
    struct store_key stored; /* in the arena, like the next one */
    struct store_answer answer;
    struct store_task task;
};

/* ---- the end */

static void log_end(const struct keyed *k, const char *outcome)
{
    log_line(LOG_INFO, "repeated",
             (struct log_field[]){
                 LOG_STR("request_id", k->flight.request_id), LOG_PATH("path", k->stored.path),
                 LOG_STR("outcome", str_from_c(outcome)),
                 LOG_INT("total_ms", loop_now_ms(k->flight.worker->loop) - k->flight.start_ms),
                 LOG_STR("owner", k->flight.caller.name), LOG_END});
}

/* Takes the client off the flight, to be answered by somebody else. */
static struct peer take_client(struct keyed *k)
{
    const struct peer client = k->flight.peer;

    k->flight.peer = (struct peer){.ops = NULL};
    return client;
}

/* Takes it off for another flight, which is traced in its place. */
static struct peer hand_over_client(struct keyed *k)
{
    flight_spans_forget(&k->flight);
    return take_client(k);
}

static void refuse_request_of(struct keyed *k, const struct err *e)
{
    log_end(k, err_wire_code(e));
    peer_respond_error(take_client(k), e);
}

/* ---- the turn of the first request */

static void start_recorded(struct keyed *k, struct answer *answer)
{
    struct worker *w = k->flight.worker;
    const struct caller caller = k->flight.caller;
    struct peer recorder;
    struct err e;

    if (peer_recorder_new(w, k->flight.peer, answer, &recorder, &e) == -1) {
        refuse_request_of(k, &e);
        return;
    }
    (void)hand_over_client(k);
    if (k->is_compact)
        turn_begin_compact(w, recorder, k->http, &caller);
    else
        turn_begin(w, recorder, k->http, &caller);
}

static void start_stored(struct keyed *k)
{
    const struct caller caller = k->flight.caller;

    turn_begin_keyed(k->flight.worker, hand_over_client(k), k->http, &caller, k->stored.lock,
                     k->is_stream);
}

/* ---- the answer of an earlier one */

static void give_kept(struct keyed *k, struct answer *answer)
{
    struct http_header headers[ANSWER_MAX_HEADERS + 1];
    size_t n = answer_headers(answer, headers);

    headers[n++] = idempotency_key_replayed();
    log_end(k, "replayed");
    peer_respond(take_client(k), answer_status(answer), headers, n, answer_body(answer));
    answer_unref(answer);
}

/* is_running: then its turn may be given up before anything has come of it, as its own client leaves. */
static void give_events(struct keyed *k, str response_id, bool is_running)
{
    const struct http_header replayed = idempotency_key_replayed();
    const struct caller caller = k->flight.caller;

    log_end(k, "read");
    reader_start(k->flight.worker, hand_over_client(k), k->http, &caller,
                 &(struct reader_want){.id = response_id,
                                       .after = -1,
                                       .obfuscate = k->is_padded,
                                       .headers = &replayed,
                                       .n_headers = 1,
                                       .again = is_running ? idempotency_start_turn : NULL,
                                       .exchange = k->x});
}

static void give_response(struct keyed *k, str response_id)
{
    const struct path_ids ids = {{response_id, STR_NONE}};
    const struct caller caller = k->flight.caller;

    (void)take_client(k);
    state_request_replay(k->flight.worker, k->x, k->http, &caller, &ids, &state_response_get);
}

/* ---- asking */

static void ask_later(struct keyed *k)
{
    const uint64_t longest_ms = k->is_stored ? STORE_WAIT_MS : MEMORY_WAIT_MS;

    loop_timer_start(k->flight.timer, k->wait_ms);
    k->wait_ms = 2 * k->wait_ms < longest_ms ? 2 * k->wait_ms : longest_ms;
}

static void ask_memory(struct keyed *k)
{
    struct worker *w = k->flight.worker;
    enum answer_state state;
    struct answer *answer;
    struct err e;

    if (answer_memory_ask(w->answers, &k->hashes, loop_now_ms(w->loop), &state, &answer, &e) ==
        -1) {
        refuse_request_of(k, &e);
        return;
    }
    switch (state) {
    case ANSWER_BEGUN:
        start_recorded(k, answer);
        break;
    case ANSWER_RUNS:
        ask_later(k);
        break;
    case ANSWER_KEPT:
        give_kept(k, answer);
        break;
    case ANSWER_OTHER_BODY:
        (void)idempotency_key_reject(&e);
        refuse_request_of(k, &e);
        break;
    }
}

static void take_answer(struct keyed *k)
{
    const struct store_answer *a = &k->answer;
    struct worker *w = k->flight.worker;
    struct err e;

    switch (a->state) {
    case STORE_KEY_BEGUN:
        start_stored(k);
        break;
    case STORE_KEY_HERE:
        if (k->is_stream && running_has(w->running, k->flight.caller.owner, a->lock))
            give_events(k, a->lock, true);
        else
            ask_later(k);
        break;
    case STORE_KEY_ELSEWHERE:
        ask_later(k);
        break;
    case STORE_KEY_FINISHED:
        if (k->is_stream)
            give_events(k, a->response_id, false);
        else
            give_response(k, a->response_id);
        break;
    case STORE_KEY_OTHER_BODY:
        (void)idempotency_key_reject(&e);
        refuse_request_of(k, &e);
        break;
    }
}

static int begin_key(struct store_session *s, void *arg, struct err *reterr)
{
    struct keyed *k = arg;

    return store_begin_key(s, &k->stored, &k->flight.arena, &k->answer, reterr);
}

/* The request has not run, and may be tried again: unlike a failure in the middle that is no error of
 * ours. */
static void refuse_without_store(struct keyed *k, const struct err *failure)
{
    struct err e = *failure;

    if (e.code == ERR_STORE)
        e.code = ERR_STORE_AWAY;
    refuse_request_of(k, &e);
}

static void on_asked(void *arg, const struct err *failure)
{
    struct keyed *k = arg;

    k->flight.n_tasks--;
    if (flight_has_client(&k->flight) && failure != NULL)
        refuse_without_store(k, failure);
    else if (flight_has_client(&k->flight))
        take_answer(k);
    else if (failure == NULL && k->answer.state == STORE_KEY_BEGUN)
        store_release_lock(k->flight.worker->store, k->stored.lock);
    flight_free_if_over(&k->flight);
}

static void ask_store(struct keyed *k)
{
    struct worker *w = k->flight.worker;
    struct err e;

    if (store_refuses(w->store, STORE_WRITE, &e)) {
        refuse_request_of(k, &e);
        return;
    }
    k->flight.n_tasks++;
    k->task = (struct store_task){.access = STORE_WRITE,
                                  .purpose = STORE_FOR_LOCK,
                                  .work = begin_key,
                                  .done = on_asked,
                                  .arg = k,
                                  .loop = w->loop};
    store_start(w->store, &k->task);
}

static void ask_for_answer(struct keyed *k)
{
    if (k->is_stored)
        ask_store(k);
    else
        ask_memory(k);
}

/* ---- the beginning */

static void read_members(struct keyed *k, str body)
{
    struct jr j;
    str name;

    jr_init(&j, body);
    if (!jr_enter(&j, JR_OBJECT))
        return;
    while (jr_next_member(&j, &name)) {
        if (str_eq(name, STR("store")))
            k->is_stored = jr_bool(&j, true);
        else if (str_eq(name, STR("stream")))
            k->is_stream = jr_bool(&j, false);
        else if (str_eq(name, STR("stream_options")))
            k->is_padded = str_eq(jr_member(jr_raw(&j), STR("include_obfuscation")), STR("true"));
        else
            jr_skip(&j);
    }
}

/* The name is one of its owner's, whatever stands in the path and the key. */
static bool hash_name(struct keyed *k)
{
    struct sha256_run *run = sha256_begin();

    sha256_add(run, k->stored.path);
    sha256_add(run, STR(" "));
    sha256_add(run, k->stored.key);
    sha256_add(run, STR(" "));
    sha256_add(run, k->stored.owner);
    return sha256_end(run, k->hashes.name);
}

/* Is what the turn will write a stream of the legacy dialect? What the turn refuses is no matter here. */
static bool has_legacy_stream(const struct keyed *k)
{
    const str word = http_request_header(k->http, STR("x-gateway-dialect"));

    return k->is_stream &&
           (str_is_none(word) ? k->flight.worker->config->dialect == CONFIG_DIALECT_ORS
                              : str_eq_nocase(word, STR("ors")));
}

static int read_request(void *arg, struct err *reterr)
{
    struct keyed *k = arg;
    str body;

    if (peer_body(k->flight.peer, &body, reterr) == -1)
        return -1;
    k->is_stored = true;
    read_members(k, body);
    k->is_stored = k->is_stored && !k->is_compact && !has_legacy_stream(k);
    if (hash_name(k) && sha256(body, k->hashes.body))
        return 0;
    return err_set_no_memory(reterr);
}

static void on_read(void *arg, const struct err *failure)
{
    struct keyed *k = arg;

    if (!flight_has_client(&k->flight))
        return;
    if (failure != NULL)
        refuse_request_of(k, failure);
    else
        ask_for_answer(k);
}

/* Copies what the store's thread reads: the client may leave before it has. */
static bool copy_names(struct keyed *k, str path, str key)
{
    struct arena *a = &k->flight.arena;
    const struct id id = id_make(&k->flight.worker->ids, "resp_", ID_RANDOM_CHARS);

    k->stored = (struct store_key){
        .owner = k->flight.caller.owner,
        .path = arena_dup(a, path),
        .key = arena_dup(a, key),
        .sha256 = str_from((const char *)k->hashes.body, sizeof(k->hashes.body)),
        .lock = arena_dup(a, id_str(&id)),
    };
    return !str_is_none(k->stored.path) && !str_is_none(k->stored.key) &&
           !str_is_none(k->stored.lock);
}

static void log_gone(void *arg)
{
    log_end(arg, "client_gone");
}

static void on_timer(void *arg)
{
    ask_for_answer(arg);
}

static void fail_request(void *arg, const struct err *e)
{
    refuse_request_of(arg, e);
}

static void fini_request(void *arg)
{
    (void)arg; /* all is the flight's */
}

static const struct flight_ops ops = {
    .size = sizeof(struct keyed),
    .log_gone = log_gone,
    .on_timer = on_timer,
    .fail = fail_request,
    .fini = fini_request,
};

static void start_keyed(struct worker *w, struct http_exchange *x, const struct http_request *r,
                        const struct caller *caller, str key, bool is_compact)
{
    struct keyed *k = flight_new(&ops, w, peer_of_exchange(x), r, caller);
    struct err e;

    if (k == NULL) {
        err_set_no_memory(&e);
        http_exchange_respond_error(x, &e, NULL, 0);
        return;
    }
    k->x = x;
    k->http = r;
    k->is_compact = is_compact;
    k->wait_ms = FIRST_WAIT_MS;
    if (copy_names(k, r->path, key)) {
        flight_work(&k->flight, request_body_weight(r), read_request, on_read);
    } else {
        err_set_no_memory(&e);
        refuse_request_of(k, &e);
    }
    flight_free_if_over(&k->flight);
}

static void start_request(struct worker *w, struct http_exchange *x, const struct http_request *r,
                          const struct caller *caller, bool is_compact)
{
    struct err e;
    str key;

    if (idempotency_key_read(r, &key, &e) == -1)
        refuse_request(x, r, REJECT_BAD_REQUEST, &e);
    else if (!str_is_none(key))
        start_keyed(w, x, r, caller, key, is_compact);
    else if (is_compact)
        turn_start_compact(w, x, r, caller);
    else
        turn_start(w, x, r, caller);
}

void idempotency_start_turn(struct worker *w, struct http_exchange *x, const struct http_request *r,
                            const struct caller *caller)
{
    start_request(w, x, r, caller, false);
}

void idempotency_start_compact(struct worker *w, struct http_exchange *x,
                               const struct http_request *r, const struct caller *caller)
{
    start_request(w, x, r, caller, true);
}
