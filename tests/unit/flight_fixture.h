/* flight_fixture.h -- a worker with nothing behind it: the client, the upstream, the store and MCP
 * servers are fakes that a test moves by hand, and time passes when it says so.
 *
 * The fakes take the place of http_server, http_client, worker, store and mcp_hub in a test program that
 * includes this: the linker looks into the library only for what is missing. There is one of each. */
#ifndef ANTIPHON_TESTS_UNIT_FLIGHT_FIXTURE_H
#define ANTIPHON_TESTS_UNIT_FLIGHT_FIXTURE_H

#include "config_fixture.h"
#include "fake_loop.h"

#include "ev/log.h"
#include "flight/builtin_tools.h"
#include "flight/reach.h"
#include "json/json_read.h"
#include "store/store_events.h"
#include "turn/turn.h"
#include "turn/turn_internal.h"
#include "upstream/token_memory.h"

struct http_exchange {
    const struct http_exchange_handler *handler; /* NULL: nobody is told */
    void *arg;
    unsigned n_held;
    bool is_over, is_aborted;
    struct http_traffic traffic;
    int status;      /* of the answer; 0: it has not begun */
    struct buf said; /* its body, or the message of its error */
    enum err_code why;
    size_t n_told; /* headers that every answer has, and the value of the second */
    char told[32];
};

struct http_call {
    const struct http_call_handler *handler;
    void *arg;
    bool is_paused;
};

struct mcp_task {
    const struct mcp_listed_handler *on_listed; /* or */
    const struct mcp_done_handler *on_done;
    void *arg;
    bool is_under_way;
};

enum { STAGE_TASKS = 4 };

static struct stage {
    struct load load;
    struct builtin_tools builtin;
    struct seal_keys *compaction_keys, *request_keys;
    struct upstream_live live;
    struct upstream_entry upstream;
    struct upstream_table upstreams;
    struct worker worker;
    struct http_request request;
    struct buf body; /* of it */
    struct http_exchange x;
    struct http_call call;
    bool has_call;        /* it is under way */
    unsigned n_calls;     /* that were started */
    unsigned n_cancelled; /* of them */
    unsigned n_read;      /* how often the body of the request was asked for */
    struct buf asked;     /* the body of the last one */
    struct buf asked_at;  /* its URL */
    struct err no_call;   /* why none can be started; zeroed: it can */

    struct store_task *store_task; /* under way, or NULL */
    struct err store_away;         /* why nothing is stored now; zeroed: it is */
    struct err not_found;          /* why what is referred to cannot be loaded; zeroed: it can */
    unsigned n_saved, n_unlocked, n_released;
    uint64_t n_kept; /* events of the last response that was saved */

    struct err not_accepted; /* why work in the background is not; zeroed: it is */
    struct buf accepted;     /* the request of the last that was */
    unsigned n_accepted, n_hints, n_readers;
    enum store_wish wish; /* what the store says to whoever does it */
    bool lacks_memory;
    unsigned n_started, n_rows;
    int64_t next_row; /* a row begins where the one before has ended */
    enum store_status finished;
    unsigned n_finished, n_ended; /* ends that were stored, and turns that have reported */
    struct err why_ended;         /* zeroed: all was well */

    struct mcp_task tasks[STAGE_TASKS];
    unsigned n_tasks, n_tasks_cancelled, n_wanted, n_relayed;
    struct mcp_server_view view; /* of the one configured server, once it has a conf */
    struct mcp_server_conf server;
    struct mcp_snapshot snapshot;
    bool awaits_upstream;
} stage;

/* ---- the client */

str http_request_header(const struct http_request *r, str name)
{
    for (size_t i = 0; i < r->n_headers; i++) {
        if (str_eq(r->headers[i].name, name))
            return r->headers[i].value;
    }
    return STR_NONE;
}

void http_exchange_tell_trace(struct http_exchange *x, const char *traceparent)
{
    (void)x;
    (void)traceparent;
}

void http_exchange_tell(struct http_exchange *x, const struct http_header *headers, size_t n)
{
    x->n_told = n;
    (void)snprintf(x->told, sizeof(x->told), "%.*s", n > 1 ? (int)headers[1].value.len : 0,
                   n > 1 ? headers[1].value.p : "");
}

str http_exchange_request_id(struct http_exchange *x)
{
    (void)x;
    return STR("req_1");
}

struct http_traffic *http_exchange_traffic(struct http_exchange *x)
{
    return &x->traffic;
}

void http_exchange_watch(struct http_exchange *x, const struct http_exchange_handler *handler,
                         void *arg)
{
    x->handler = handler;
    x->arg = arg;
}

int http_exchange_body(struct http_exchange *x, str *ret, struct err *reterr)
{
    (void)x;
    (void)reterr;
    stage.n_read++;
    *ret = stage.request.body;
    return 0;
}

void http_exchange_hold(struct http_exchange *x)
{
    assert_ptr_equal(x, &stage.x);
    x->n_held++;
}

void http_exchange_release(struct http_exchange *x)
{
    assert_int_equal(x->n_held, 1);
    x->n_held--;
}

/* What another flight has left in the buffer of the worker before something is reported to this one: no
 * client may see it. */
#define LEFT_BY_ANOTHER "data: left by another\n\n"

static inline void leave_events(void)
{
    buf_reset(&stage.worker.out);
    buf_c(&stage.worker.out, LEFT_BY_ANOTHER);
}

/* What may only be said while there is somebody to hear it. */
static inline void fake_exchange_say(struct http_exchange *x, str bytes)
{
    assert_ptr_equal(x, &stage.x);
    assert_int_equal(str_find(bytes, STR(LEFT_BY_ANOTHER)), bytes.len);
    assert_false(x->is_over);
    assert_int_equal(x->n_held, 0);
    buf_append(&x->said, bytes);
}

void http_exchange_start(struct http_exchange *x, int status, const struct http_header *headers,
                         size_t n_headers)
{
    (void)headers;
    (void)n_headers;
    fake_exchange_say(x, STR(""));
    assert_int_equal(x->status, 0);
    x->status = status;
}

void http_exchange_flush(struct http_exchange *x)
{
    fake_exchange_say(x, STR(""));
}

void http_exchange_write(struct http_exchange *x, str bytes)
{
    fake_exchange_say(x, bytes);
}

void http_exchange_write_soon(struct http_exchange *x, str bytes)
{
    fake_exchange_say(x, bytes);
}

void http_exchange_write_taken(struct http_exchange *x, struct buf *bytes)
{
    fake_exchange_say(x, buf_str(bytes));
    buf_fini(bytes);
}

void http_exchange_end(struct http_exchange *x, str bytes)
{
    fake_exchange_say(x, bytes);
    x->is_over = true;
}

void http_exchange_respond(struct http_exchange *x, int status, const struct http_header *headers,
                           size_t n_headers, str body)
{
    http_exchange_start(x, status, headers, n_headers);
    http_exchange_end(x, body);
}

void http_exchange_respond_taken(struct http_exchange *x, int status,
                                 const struct http_header *headers, size_t n_headers,
                                 struct buf *body)
{
    http_exchange_respond(x, status, headers, n_headers, buf_str(body));
    buf_fini(body);
}

void http_exchange_respond_error(struct http_exchange *x, const struct err *e,
                                 const struct http_header *headers, size_t n_headers)
{
    x->why = e->code;
    http_exchange_respond(x, err_http_status(e), headers, n_headers, str_from_c(e->msg));
}

void http_exchange_abort(struct http_exchange *x)
{
    fake_exchange_say(x, STR(""));
    x->is_over = x->is_aborted = true;
}

/* The client leaves before its answer is complete. */
static inline void client_leaves(void)
{
    assert_false(stage.x.is_over);
    stage.x.is_over = true;
    leave_events();
    stage.x.handler->on_gone(stage.x.arg);
}

static inline bool client_was_told(const char *words)
{
    return strstr(buf_cstr(&stage.x.said), words) != NULL;
}

/* ---- the upstream */

struct http_call *http_client_start(struct http_client *client, const struct http_call_conf *conf,
                                    const struct http_call_handler *handler, void *arg,
                                    struct err *reterr)
{
    (void)client;
    if (stage.no_call.code != ERR_NONE) {
        *reterr = stage.no_call;
        return NULL;
    }
    assert_false(stage.has_call);
    stage.call = (struct http_call){.handler = handler, .arg = arg};
    stage.has_call = true;
    stage.n_calls++;
    buf_reset(&stage.asked);
    buf_append(&stage.asked, conf->body);
    buf_reset(&stage.asked_at);
    buf_c(&stage.asked_at, conf->url);
    return &stage.call;
}

void http_call_cancel(struct http_call *call)
{
    assert_ptr_equal(call, &stage.call);
    if (stage.has_call)
        stage.n_cancelled++;
    stage.has_call = false;
}

void http_call_pause(struct http_call *call)
{
    call->is_paused = true;
}

void http_call_resume(struct http_call *call)
{
    call->is_paused = false;
}

const char *http_call_phase(const struct http_call *call)
{
    (void)call;
    return "connecting";
}

bool http_call_connect_time(const struct http_call *call, uint64_t *ret_ms)
{
    (void)call;
    *ret_ms = 0;
    return false;
}

/* Another client is never made: who would make one is not asked anything here. */
struct http_client *http_client_new(struct loop *loop, const struct http_client_conf *conf)
{
    (void)loop;
    (void)conf;
    fail();
    return NULL;
}

void http_client_free(struct http_client *client)
{
    assert_null(client);
}

struct loop *http_client_loop(const struct http_client *client)
{
    (void)client;
    return stage.worker.loop;
}

bool http_client_is_resolving(const struct http_client *client)
{
    (void)client;
    return false;
}

static inline void upstream_begins(int status)
{
    assert_true(stage.has_call);
    leave_events();
    stage.call.handler->on_head(stage.call.arg, status, NULL, 0);
}

static inline void upstream_says(const char *bytes)
{
    assert_true(stage.has_call);
    assert_false(stage.call.is_paused);
    leave_events();
    stage.call.handler->on_body(stage.call.arg, str_from_c(bytes));
}

/* failure: NULL, or what went wrong. */
static inline void upstream_ends(const struct err *failure)
{
    assert_true(stage.has_call);
    stage.has_call = false;
    leave_events();
    stage.call.handler->on_end(stage.call.arg, failure);
}

/* ---- the worker */

struct http_client *worker_client(struct worker *w, const struct upstream_entry *u)
{
    (void)w;
    (void)u;
    return (struct http_client *)&stage; /* which nobody looks into */
}

struct http_call_conf reach_call_conf(const struct flight *f)
{
    (void)f;
    return (struct http_call_conf){.prefix = ""};
}

str reach_authorization(const struct flight *f)
{
    (void)f;
    return STR_NONE;
}

void reach_hide_keys(const struct flight *f, struct err *e)
{
    (void)f;
    (void)e;
}

bool reach_passes_key(const struct flight *f)
{
    (void)f;
    return false;
}

bool reach_must_be_known(const struct flight *f)
{
    (void)f;
    return stage.awaits_upstream;
}

struct mcp_snapshot *worker_mcp_servers(const struct worker *w)
{
    (void)w;
    return stage.view.conf == NULL ? NULL : &stage.snapshot;
}

void worker_shrink_out(struct worker *w)
{
    (void)w;
}

/* ---- the store */

void store_start(struct store *store, struct store_task *task)
{
    (void)store;
    assert_null(stage.store_task);
    stage.store_task = task;
}

bool store_refuses(struct store *store, enum store_access access, struct err *reterr)
{
    (void)store;
    (void)access;
    *reterr = stage.store_away;
    return stage.store_away.code != ERR_NONE;
}

void store_release_lock(struct store *store, str lock)
{
    (void)store;
    assert_true(str_starts_with(lock, STR("lock_")) || str_starts_with(lock, STR("resp_")));
    stage.n_released++;
}

static inline int fake_store_look(struct err *reterr)
{
    *reterr = stage.not_found;
    return stage.not_found.code == ERR_NONE ? 0 : -1;
}

int store_load_history(struct store_session *s, str owner, str response_id, struct arena *a,
                       struct store_history *ret, struct err *reterr)
{
    (void)s;
    (void)owner;
    (void)response_id;
    (void)a;
    (void)ret;
    return fake_store_look(reterr);
}

int store_lock_conversation(struct store_session *s, str owner, str id, str lock, struct arena *a,
                            struct store_history *ret, struct err *reterr)
{
    (void)s;
    (void)owner;
    (void)id;
    (void)lock;
    (void)a;
    (void)ret;
    return fake_store_look(reterr);
}

int store_load_conversation(struct store_session *s, str owner, str id, struct arena *a,
                            struct store_history *ret, struct err *reterr)
{
    return store_load_history(s, owner, id, a, ret, reterr);
}

int store_find_item(struct store_session *s, str owner, str id, struct arena *a,
                    struct store_item *ret, struct err *reterr)
{
    (void)s;
    (void)owner;
    (void)id;
    (void)a;
    (void)ret;
    (void)reterr;
    fail();
    return -1;
}

int store_find_hidden(struct store_session *s, str owner, str id, struct arena *a,
                      struct store_item *ret, struct err *reterr)
{
    return store_find_item(s, owner, id, a, ret, reterr);
}

int store_save_response(struct store_session *s, str owner, const struct store_response *r,
                        struct err *reterr)
{
    struct cuts kept = {.n = 0};

    (void)s;
    (void)owner;
    (void)reterr;
    assert_true(cuts_append(&kept, str_is_none(r->cuts) ? STR("") : r->cuts));
    stage.n_kept = kept.n;
    cuts_fini(&kept);
    stage.n_saved++;
    return 0;
}

int store_unlock_conversation(struct store_session *s, str lock, struct err *reterr)
{
    (void)s;
    (void)lock;
    (void)reterr;
    stage.n_unlocked++;
    return 0;
}

/* ---- work in the background */

/* What is stored of a response is an object when its items stand between. */
static inline void assert_object(str head, str tail)
{
    struct buf object = {.limit = 0};

    buf_append(&object, head);
    buf_append(&object, tail);
    assert_true(jr_is_valid(buf_str(&object)));
    buf_fini(&object);
}

int store_accept_work(struct store_session *s, str owner, const struct store_response *r,
                      const struct store_request *request, const struct store_work_limits *limits,
                      struct err *reterr)
{
    (void)s;
    (void)owner;
    assert_int_equal(r->status, STORE_QUEUED);
    assert_object(r->head, r->tail);
    assert_true(limits->most >= limits->most_of_owner);
    *reterr = stage.not_accepted;
    if (stage.not_accepted.code != ERR_NONE)
        return -1;
    buf_reset(&stage.accepted);
    buf_append(&stage.accepted, request->body);
    stage.n_accepted++;
    return 0;
}

int store_start_work(struct store_session *s, str id, str lock, str head, str tail,
                     enum store_wish *ret, struct err *reterr)
{
    (void)s;
    (void)id;
    (void)reterr;
    assert_str_c(lock, "work_1");
    assert_true(str_find(head, STR("in_progress")) < head.len);
    assert_object(head, tail);
    *ret = stage.wish == STORE_CANCEL ? STORE_GO_ON : stage.wish;
    stage.n_started += *ret == STORE_GO_ON;
    return 0;
}

int store_append_events(struct store_session *s, str id, str lock,
                        const struct store_event_row *row, enum store_wish *ret, struct err *reterr)
{
    (void)s;
    (void)id;
    (void)lock;
    (void)reterr;
    assert_int_equal(stage.n_started, 1);
    assert_true(row->first >= stage.next_row);
    assert_true(row->cuts.len > 0);
    stage.next_row = row->first + 1;
    stage.n_rows++;
    *ret = stage.wish;
    return 0;
}

int store_finish_work(struct store_session *s, str owner, const struct store_response *r,
                      enum store_wish *ret, struct err *reterr)
{
    (void)s;
    (void)owner;
    (void)reterr;
    assert_str_c(r->lock, "work_1");
    assert_str_c(r->id, "resp_1");
    assert_object(r->head, r->tail);
    assert_true(r->cuts.len > 0 || stage.lacks_memory); /* it may do without */
    for (size_t i = 0; i < r->items.n; i++)
        assert_true(r->items.v[i].is_output);
    stage.finished = r->status;
    stage.n_finished++;
    *ret = stage.wish;
    return 0;
}

static inline void fake_hint(struct background *b)
{
    (void)b;
    stage.n_hints++;
}

static inline void on_work_end(void *arg, const struct err *failure)
{
    (void)arg;
    stage.n_ended++;
    if (failure != NULL)
        stage.why_ended = *failure;
}

/* The task is done, unless there is a failure before it begins. */
static inline void store_reports(const struct err *failure)
{
    struct store_task *task = stage.store_task;
    struct err e;

    assert_non_null(task);
    stage.store_task = NULL;
    if (failure == NULL && task->work(NULL, task->arg, &e) == -1)
        failure = &e;
    leave_events();
    task->done(task->arg, failure);
}

/* ---- MCP servers */

static inline struct mcp_task *fake_task_new(void *arg)
{
    assert_true(stage.n_tasks < STAGE_TASKS);
    stage.tasks[stage.n_tasks] = (struct mcp_task){.arg = arg, .is_under_way = true};
    return &stage.tasks[stage.n_tasks++];
}

struct mcp_task *mcp_hub_list(struct mcp_hub *hub, struct loop *loop,
                              const struct mcp_remote *remote,
                              const struct mcp_listed_handler *handler, void *arg,
                              struct err *reterr)
{
    struct mcp_task *task = fake_task_new(arg);

    (void)hub;
    (void)loop;
    (void)remote;
    (void)reterr;
    task->on_listed = handler;
    return task;
}

struct mcp_task *mcp_hub_call(struct mcp_hub *hub, struct loop *loop,
                              const struct mcp_hub_call *call,
                              const struct mcp_done_handler *handler, void *arg, struct err *reterr)
{
    struct mcp_task *task = fake_task_new(arg);

    (void)hub;
    (void)loop;
    (void)call;
    (void)reterr;
    task->on_done = handler;
    return task;
}

void mcp_task_cancel(struct mcp_task *task)
{
    assert_true(task->is_under_way);
    task->is_under_way = false;
    stage.n_tasks_cancelled++;
}

void mcp_hub_want(struct mcp_hub *hub, str label)
{
    (void)hub;
    (void)label;
    stage.n_wanted++;
}

void mcp_snapshot_unref(struct mcp_snapshot *s)
{
    (void)s;
}

const struct mcp_server_view *mcp_snapshot_find(const struct mcp_snapshot *s, str label)
{
    for (size_t i = 0; s != NULL && i < s->n; i++) {
        if (str_eq(s->servers[i].conf->label, label))
            return &s->servers[i];
    }
    return NULL;
}

bool mcp_snapshot_injects(const struct mcp_snapshot *s, bool by_default)
{
    return s != NULL && s->n > 0 && (s->servers->is_available || s->servers->is_starting) &&
           mcp_server_conf_injects(s->servers->conf, by_default);
}

/* The i-th listing has ended: with these tools, a raw array, or, if they are NULL, in vain. */
static inline void server_lists(size_t i, const char *tools)
{
    const struct mcp_failure failure = {.cause = MCP_FAILED_LIMIT, .message = STR("Nobody there.")};
    struct mcp_task *task = &stage.tasks[i];

    assert_true(task->is_under_way);
    task->is_under_way = false;
    leave_events();
    if (tools == NULL)
        task->on_listed->on_listed(task->arg, &failure, NULL);
    else
        task->on_listed->on_listed(task->arg, NULL,
                                   mcp_catalogue_from_item(STR("s"), str_from_c(tools)));
}

/* The i-th task is a call, and has ended with that output; NULL: it has failed. */
static inline void server_answers(size_t i, const char *output)
{
    const struct mcp_outcome outcome = {
        .is_failed = output == NULL,
        .output = output == NULL ? STR("") : str_from_c(output),
        .error = output == NULL ? STR("no") : STR_NONE,
        .error_object = output == NULL ? STR("{\"type\":\"http_error\"}") : STR_NONE,
    };
    struct mcp_task *task = &stage.tasks[i];

    assert_true(task->is_under_way);
    task->is_under_way = false;
    leave_events();
    task->on_done->on_done(task->arg, &outcome);
}

/* ---- all of it */

static inline void fake_fill(void *arg, void *p, size_t n)
{
    static unsigned char next;

    (void)arg;
    memset(p, ++next, n);
}

/* args: flags of the configuration, with a NULL behind the last. */
static inline void stage_open(const char *const *args)
{
    static const struct api_keys no_keys = {.list = NULL};
    const struct token_memory_conf counts = {.max_entries = 16, .lifetime_ms = 1000};
    struct err e;

    stage = (struct stage){.n_calls = 0};
    for (size_t i = 0; args[i] != NULL; i++)
        stage.load.args[i] = args[i];
    load_fine(&stage.load);
    log_setup(LOG_ERROR, LOG_TEXT);
    stage.builtin = (struct builtin_tools){.why_not[HOSTED_CODE_INTERPRETER] = "no",
                                           .why_not[HOSTED_WEB_SEARCH] = "no"};
    stage.compaction_keys = owner_seal_compaction_keys(&stage.load.config.encryption_keys, &e);
    assert_non_null(stage.compaction_keys);
    stage.request_keys = owner_seal_request_keys(&stage.load.config.encryption_keys, &e);
    assert_non_null(stage.request_keys);
    stage.snapshot = (struct mcp_snapshot){.servers = &stage.view, .n = 1};
    stage.worker = (struct worker){
        .config = &stage.load.config,
        .keys = &no_keys,
        .upstreams = &stage.upstreams,
        .ids = {fake_fill, NULL},
        .loop = loop_new(&e),
        .hub = (struct mcp_hub *)&stage, /* which nobody looks into */
        .builtin = &stage.builtin,
        .compaction_keys = stage.compaction_keys,
        .request_keys = stage.request_keys,
        .background = (struct background *)&stage, /* the same */
        .on_accepted = fake_hint,
    };
    stage.live.counts = token_memory_new(&counts, &e);
    assert_non_null(stage.live.counts);
    stage.upstream = (struct upstream_entry){.name = STR("default"),
                                             .is_traced = true,
                                             .provider = STR("openai_compatible"),
                                             .base = STR("http://upstream"),
                                             .authorization = STR_NONE,
                                             .config = &stage.load.config,
                                             .live = &stage.live};
    stage.upstreams = (struct upstream_table){.entries = &stage.upstream, .n = 1};
}

/* Clients have limits from now on, which are those of the configuration. */
static inline void stage_limits(unsigned rpm, unsigned tpm, unsigned concurrency)
{
    struct err e;

    stage.load.config.limit_rpm = rpm;
    stage.load.config.limit_tpm = tpm;
    stage.load.config.limit_concurrency = concurrency;
    if (stage.worker.rates == NULL)
        stage.worker.rates = rate_table_new(8, &e);
    assert_non_null(stage.worker.rates);
}

/* What the client of stage_begin_at() has left of them; it takes one more request if it may. */
static inline struct rate_answer stage_take(void)
{
    const struct config *c = &stage.load.config;
    const struct rate_limits limits = {c->limit_rpm, c->limit_tpm, c->limit_concurrency};

    return rate_table_take(stage.worker.rates, STR("address unix"), &limits, 0,
                           loop_now_ms(stage.worker.loop));
}

/* Of /v1/responses. */
static inline struct turn *stage_turn(void)
{
    return (struct turn *)stage.worker.flights;
}

/* The stage that the turn of any front is in. */
static inline const char *stage_name(void)
{
    const struct flight *f = stage.worker.flights;

    return f == NULL ? "over" : f->ops->front->stages[f->stage].name;
}

/* A turn of that front begins with these members behind its model. */
static inline void stage_begin_at(void (*start)(struct worker *w, struct http_exchange *x,
                                                const struct http_request *r,
                                                const struct caller *caller),
                                  const char *members)
{
    const struct caller nobody = {.owner = STR(""), .name = STR_NONE};

    buf_c(&stage.body, "{\"model\":\"m\",");
    buf_c(&stage.body, members);
    buf_c(&stage.body, "}");
    stage.request = (struct http_request){.method = STR("POST"),
                                          .path = STR("/v1/responses"),
                                          .body = buf_str(&stage.body),
                                          .peer = STR("unix")};
    start(&stage.worker, &stage.x, &stage.request, &nobody);
}

/* Work with such a request was claimed, and begins. */
static inline void stage_begin_work(const char *members, bool is_cancelled)
{
    struct buf request = {.limit = 0};
    struct turn_work work = {.id = STR("resp_1"),
                             .owner = STR(""),
                             .lock = STR("work_1"),
                             .created_at = 1700000000,
                             .is_cancelled = is_cancelled,
                             .on_end = on_work_end};

    buf_c(&request, "{\"request_id\":\"req_1\",\"client\":\"unix\"}\n{\"model\":\"m\",");
    buf_c(&request, members);
    buf_c(&request, "}");
    work.request = buf_str(&request);
    turn_begin_work(&stage.worker, &work);
    buf_fini(&request); /* what is needed was copied */
}

/* Begins a turn of /v1/responses; NULL when it is over at once. */
static inline struct turn *stage_begin(const char *members)
{
    stage_begin_at(turn_start, members);
    return stage_turn();
}

/* Lets all happen that is on its way by itself: work on the pool, and of the store. */
static inline void stage_settle(void)
{
    fake_loop_pass(stage.worker.loop, 0);
    while (stage.store_task != NULL) {
        store_reports(NULL);
        fake_loop_pass(stage.worker.loop, 0);
    }
}

/* What is there must be over, and nothing left that it has begun. */
static inline void stage_close(void)
{
    assert_null(stage.worker.flights);
    assert_false(stage.has_call);
    assert_null(stage.store_task);
    assert_int_equal(stage.x.n_held, 0);
    for (size_t i = 0; i < stage.n_tasks; i++)
        assert_false(stage.tasks[i].is_under_way);
    mcp_catalogue_unref(stage.view.tools);
    reach_free_all(&stage.worker);
    upstream_route_memo_clear(&stage.worker.last_route);
    loop_free(stage.worker.loop);
    seal_keys_free(stage.compaction_keys);
    seal_keys_free(stage.request_keys);
    buf_fini(&stage.accepted);
    buf_fini(&stage.worker.out);
    buf_fini(&stage.x.said);
    buf_fini(&stage.asked);
    buf_fini(&stage.asked_at);
    token_memory_free(stage.live.counts);
    rate_table_free(stage.worker.rates);
    buf_fini(&stage.body);
    load_end(&stage.load);
}

#endif
