/* upstream_check_up.c -- looks every ten seconds whether an upstream is well (OPERATIONS 4.6).
 *
 *     pause -> GET /health, or the path that is given -> GET /v1/models, where there is no such path
 *       ^          |                                         |
 *       +----------+-------- GET /props, for its slots <-----+
 *
 * On the main thread's loop, with a connection of its own, so that requests neither wait for it nor hide
 * that no new connection can be had. */
#include "ev/loop.h"
#include "http/http_client.h"
#include "metrics/metrics.h"
#include "upstream/upstream_pool_internal.h"
#include "upstream/upstream_watch_internal.h"
#include "wire/dialect/upstream_error.h"
#include "wire/dialect/upstream_models.h"

#include <stdlib.h>

enum {
    CHECK_EVERY_MS = 10 * 1000,
    CHECK_JITTER_MS = 2 * 1000, /* more or less */
    CHECK_TIMEOUT_MS = 2 * 1000,
    FIRST_CHECK_MS = 500,
    MAX_CHECK_BYTES = 1024 * 1024,
    MOST_SLOTS = 100000, /* as max_concurrency */
};

enum question { ASK_HEALTH, ASK_MODELS, ASK_SLOTS };

struct upstream_check_up {
    struct upstream_live *live;
    struct arena memory; /* of the texts */
    str base, root, path, authorization;
    bool is_auto, wants_slots;
    struct http_client *client;
    struct loop_timer *timer;
    struct http_call *call; /* or NULL */
    enum question question;
    int status; /* of the answer; 0: none yet */
    struct buf body;
};

/* ---- what came of it */

static uint64_t draw_pause(void)
{
    uint16_t chance;

    random_fill(NULL, &chance, sizeof(chance));
    return CHECK_EVERY_MS - CHECK_JITTER_MS + (uint64_t)chance * (2 * CHECK_JITTER_MS) / UINT16_MAX;
}

static void count_check(const struct upstream_live *l, enum upstream_check check)
{
    const unsigned result = check == UPSTREAM_CHECK_OK        ? METRIC_CHECK_OK
                            : check == UPSTREAM_CHECK_LOADING ? METRIC_CHECK_LOADING
                                                              : METRIC_CHECK_FAIL;
    const struct metric_labels labels = {
        {metric_word(METRIC_DOMAIN_UPSTREAM, l->name), (uint16_t)result}};

    if (metrics_are_on)
        metrics_add(metrics_of(METRIC_HEALTH_CHECKS, &labels), 1);
}

static void note_check(struct upstream_live *l, enum upstream_check check)
{
    struct upstream_pool *p = l->pool;
    struct upstream_health_moment moment;
    struct upstream_health_news news;
    struct upstream_health_conf conf;

    count_check(l, check);
    random_fill(NULL, &moment.chance, sizeof(moment.chance));
    moment.is_last = false;
    uv_mutex_lock(&p->lock);
    moment.now_ms = upstream_pool_now_ms();
    conf = upstream_pool_health_conf(p, l);
    if (upstream_health_check(&l->health, &conf, check, &moment, &news))
        upstream_pool_news(p, l, &news);
    upstream_pool_pump(p, moment.now_ms);
    upstream_pool_look_at(p, upstream_health_next_ms(&l->health, &conf, moment.now_ms));
    uv_mutex_unlock(&p->lock);
}

static enum upstream_check judge_answer(const struct upstream_check_up *c)
{
    const bool is_good = c->status >= 200 && c->status < 300;
    const bool is_closed = c->question == ASK_MODELS && (c->status == 401 || c->status == 403);

    if (is_good || is_closed)
        return UPSTREAM_CHECK_OK;
    if (c->status == 503 && upstream_error_is_loading(buf_str(&c->body)))
        return UPSTREAM_CHECK_LOADING;
    return UPSTREAM_CHECK_FAIL;
}

static enum upstream_check judge_failure(const struct upstream_check_up *c,
                                         const struct err *failure)
{
    return c->status == 0 && failure->code == ERR_UPSTREAM_UNAVAILABLE ? UPSTREAM_CHECK_REFUSED
                                                                       : UPSTREAM_CHECK_FAIL;
}

static void take_slots(struct upstream_check_up *c)
{
    struct upstream_pool *p = c->live->pool;
    struct upstream_props props;

    if (c->status != 200 || !upstream_props_read(buf_str(&c->body), &props) || props.n_slots <= 0)
        return;
    uv_mutex_lock(&p->lock);
    c->live->n_slots = props.n_slots < MOST_SLOTS ? (unsigned)props.n_slots : MOST_SLOTS;
    upstream_pool_pump(p, upstream_pool_now_ms());
    uv_mutex_unlock(&p->lock);
}

/* ---- questions */

static void ask_question(struct upstream_check_up *c, enum question question);

static bool has_no_path(const struct upstream_check_up *c)
{
    return c->question == ASK_HEALTH && c->is_auto && (c->status == 404 || c->status == 405);
}

static void rest(struct upstream_check_up *c)
{
    loop_timer_start(c->timer, draw_pause());
}

static void end_question(struct upstream_check_up *c, const struct err *failure)
{
    c->call = NULL;
    if (c->question == ASK_SLOTS) {
        if (failure == NULL)
            take_slots(c);
        rest(c);
    } else if (failure == NULL && has_no_path(c)) {
        ask_question(c, ASK_MODELS);
    } else {
        note_check(c->live, failure == NULL ? judge_answer(c) : judge_failure(c, failure));
        if (c->wants_slots && failure == NULL)
            ask_question(c, ASK_SLOTS);
        else
            rest(c);
    }
}

static void on_head(void *arg, int status, const struct http_header *headers, size_t n_headers)
{
    struct upstream_check_up *c = arg;

    (void)headers;
    (void)n_headers;
    c->status = status;
}

/* A body that has no end is not waited for: the status has said all. */
static void on_body(void *arg, str bytes)
{
    struct upstream_check_up *c = arg;

    buf_append(&c->body, bytes);
    if (!buf_failed(&c->body))
        return;
    http_call_cancel(c->call);
    buf_reset(&c->body);
    end_question(c, NULL);
}

static void on_end(void *arg, const struct err *failure)
{
    end_question(arg, failure);
}

static const struct http_call_handler check_handler = {on_head, on_body, on_end};

static void write_url(const struct upstream_check_up *c, enum question question, struct buf *out)
{
    buf_append(out, question == ASK_MODELS ? c->base : c->root);
    buf_append(out, question == ASK_MODELS  ? STR("/models")
                    : question == ASK_SLOTS ? STR("/props")
                                            : c->path);
}

static void ask_question(struct upstream_check_up *c, enum question question)
{
    const struct http_header key = {STR("authorization"), c->authorization};
    struct http_call_conf conf = {
        .method = "GET",
        .headers = &key,
        .n_headers = str_is_none(c->authorization) ? 0 : 1,
        .connect_timeout_ms = CHECK_TIMEOUT_MS,
        .first_byte_timeout_ms = CHECK_TIMEOUT_MS,
        .idle_timeout_ms = CHECK_TIMEOUT_MS,
        .total_timeout_ms = CHECK_TIMEOUT_MS,
    };
    struct buf url = {.limit = 0};
    struct err e;

    c->question = question;
    c->status = 0;
    buf_reset(&c->body);
    c->body.limit = MAX_CHECK_BYTES;
    write_url(c, question, &url);
    conf.url = buf_cstr(&url);
    c->call = http_client_start(c->client, &conf, &check_handler, c, &e);
    buf_fini(&url);
    if (c->call == NULL)
        rest(c);
}

/* ---- begin and end */

static void begin_check(void *arg)
{
    struct upstream_check_up *c = arg;

    if (c->call == NULL)
        ask_question(c, ASK_HEALTH);
}

void upstream_check_up_want(struct upstream_live *l)
{
    loop_post(l->pool->loop, &l->wanted);
}

/* The check may have ended while the message was under way. */
void upstream_check_up_now(void *arg)
{
    const struct upstream_live *l = arg;

    if (l->check_up != NULL)
        begin_check(l->check_up);
}

static bool keep_texts(struct upstream_check_up *c, const struct upstream_entry *u)
{
    const bool has_path = u->health == UPSTREAM_HEALTH_PATH;

    c->base = arena_dup(&c->memory, u->base);
    c->root = upstream_root(c->base);
    c->path = arena_dup(&c->memory, has_path ? u->health_path : STR("/health"));
    c->authorization = STR_NONE;
    if (!str_is_none(u->authorization))
        c->authorization = arena_dup(&c->memory, u->authorization);
    return !str_is_none(c->base) && !str_is_none(c->path) &&
           str_is_none(c->authorization) == str_is_none(u->authorization);
}

struct upstream_check_up *upstream_check_up_new(struct upstream_live *l,
                                                const struct upstream_entry *u, struct err *reterr)
{
    const struct upstream_watch_conf reached = {
        .config = u->config, .client_cert = u->client_cert, .client_key = u->client_key};
    struct upstream_check_up *c = calloc(1, sizeof(*c));

    if (c == NULL) {
        (void)err_set_no_memory(reterr);
        return NULL;
    }
    c->live = l;
    c->is_auto = u->health == UPSTREAM_HEALTH_AUTO;
    c->wants_slots = upstream_entry_asks_slots(u);
    c->client = upstream_watch_open_client(l->pool->loop, &reached);
    c->timer = loop_timer_new(l->pool->loop, begin_check, c);
    if (!keep_texts(c, u) || c->client == NULL || c->timer == NULL) {
        (void)err_set_no_memory(reterr);
        upstream_check_up_free(c);
        return NULL;
    }
    loop_timer_start(c->timer, c->wants_slots ? 1 : FIRST_CHECK_MS);
    return c;
}

bool upstream_check_up_fits(const struct upstream_check_up *c, const struct upstream_entry *u)
{
    const bool has_path = u->health == UPSTREAM_HEALTH_PATH;

    return c->is_auto == (u->health == UPSTREAM_HEALTH_AUTO) &&
           c->wants_slots == upstream_entry_asks_slots(u) &&
           str_eq(c->path, has_path ? u->health_path : STR("/health")) &&
           str_is_none(c->authorization) == str_is_none(u->authorization) &&
           (str_is_none(c->authorization) || str_eq(c->authorization, u->authorization));
}

void upstream_check_up_free(struct upstream_check_up *c)
{
    if (c == NULL)
        return;
    if (c->call != NULL)
        http_call_cancel(c->call);
    http_client_free(c->client);
    loop_timer_free(c->timer);
    buf_fini(&c->body);
    arena_fini(&c->memory);
    free(c);
}

bool upstream_check_up_is_resolving(const struct upstream_check_up *c)
{
    return c != NULL && http_client_is_resolving(c->client);
}
