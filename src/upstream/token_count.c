/* token_count.c -- one way after the other, until one has counted. */
#include "upstream/token_count.h"

#include <stdlib.h>

#include "ev/log.h"
#include "ev/loop.h"
#include "json/json_read.h"
#include "upstream/upstream_answer.h"
#include "wire/chunk/token_answer.h"
#include "wire/dialect/upstream_error.h"
#include "wire/dialect/upstream_sign.h"

/* A larger answer is read on the pool. */
enum { LARGE_BYTES = 256 * 1024 };

struct token_count {
    struct http_client *client;
    struct token_count_conf conf;
    token_count_done *done;
    void *arg;
    struct http_call *call; /* or NULL */
    enum token_way way;     /* that is gone now; TOKEN_WAYS: there is none left */
    bool wants_prompt;      /* its first step is, of two */
    struct buf question, answer;
    struct buf first_answer; /* of the first step: the prompt is a part of it */
    str prompt;              /* STR_NONE: there is none yet */
    struct upstream_answer head;
    struct token_answer read;
    bool is_read;     /* the answer was one */
    bool is_failure;  /* it tells why there is none */
    unsigned refused; /* a bit for each way that was refused, whoever's fault that is */
    struct err why;   /* what the last one said that failed; ERR_NONE: none has */
    struct loop_job job;
    bool is_on_pool, is_cancelled;
};

static void free_count(struct token_count *c)
{
    upstream_answer_fini(&c->head);
    buf_fini(&c->question);
    buf_fini(&c->answer);
    buf_fini(&c->first_answer);
    free(c);
}

void token_count_cancel(struct token_count *c)
{
    if (c == NULL)
        return;
    if (c->call != NULL)
        http_call_cancel(c->call);
    c->call = NULL;
    c->is_cancelled = true;
    if (!c->is_on_pool)
        free_count(c);
}

static uint64_t now_ms(const struct token_count *c)
{
    return loop_now_ms(http_client_loop(c->client));
}

/* ---- the ways */

static bool may_go(const struct token_count *c, enum token_way way)
{
    const bool asks_model = token_way_has(way, TOKEN_WAY_ASKS_MODEL);

    return (asks_model ? c->conf.asks_model : c->conf.asks_server) &&
           token_way_is_of(way, c->conf.kind) && token_way_takes(way, c->conf.request) &&
           token_memory_may_try(c->conf.memory, way, now_ms(c));
}

/* From a way on, the first that may be gone. */
static bool find_way(struct token_count *c, enum token_way from)
{
    c->way = from;
    while (c->way < TOKEN_WAYS && !may_go(c, c->way))
        c->way++;
    if (c->way == TOKEN_WAYS)
        return false;
    c->prompt = STR_NONE;
    c->wants_prompt = token_way_asks_prompt(c->way, c->conf.request);
    return true;
}

static void rule_out(struct token_count *c, enum token_way way)
{
    if (token_memory_rule_out(c->conf.memory, way, now_ms(c)))
        log_line(LOG_INFO, "tokens are not counted this way",
                 (struct log_field[]){LOG_STR("way", token_way_word(way)),
                                      LOG_INT("status", (uint64_t)c->head.status), LOG_END});
}

/* What was refused here, and never worked, is another server's way: the request was none to refuse. */
static void rule_out_refused(struct token_count *c)
{
    for (enum token_way way = 0; way < c->way; way++) {
        if ((c->refused & 1U << way) != 0 && !token_memory_has_worked(c->conf.memory, way))
            rule_out(c, way);
    }
}

/* ---- the end */

static void report_outcome(struct token_count *c, const struct token_count_result *result,
                           const struct err *failure)
{
    token_count_done *const done = c->done;
    void *const arg = c->arg;
    struct err e = {.code = ERR_NONE};

    if (failure != NULL)
        e = *failure;
    free_count(c);
    done(arg, result, failure == NULL ? NULL : &e);
}

static int set_no_way(struct err *reterr)
{
    err_set(reterr, ERR_NOT_IMPLEMENTED,
            "The upstream cannot count tokens. It has no endpoint for that and tells no usage, or "
            "count_by does not allow the gateway to ask.");
    return -1;
}

static void report_counted(struct token_count *c)
{
    const struct token_count_result result = {c->read.tokens, c->read.window};

    token_memory_note_worked(c->conf.memory, c->way);
    rule_out_refused(c);
    if (c->conf.key != NULL)
        token_memory_keep(c->conf.memory, c->conf.key, c->way, result.tokens, now_ms(c));
    report_outcome(c, &result, NULL);
}

/* ---- asking */

static const struct http_call_handler handler;

static void write_url(const struct token_count *c, struct buf *url)
{
    const struct token_path path = token_way_path(c->way, c->conf.request, !str_is_none(c->prompt));

    buf_append(url, path.is_below_root ? upstream_root(c->conf.base) : c->conf.base);
    buf_append(url, path.path);
}

static int ask_way(struct token_count *c, struct err *reterr)
{
    struct http_call_conf call = c->conf.call;
    struct buf url = {.limit = 0};

    buf_reset(&c->question);
    buf_reset(&c->answer);
    upstream_answer_reset(&c->head);
    token_way_write(c->way, c->conf.request, c->prompt, &c->question);
    write_url(c, &url);
    call.url = buf_cstr(&url);
    call.method = "POST";
    call.headers = c->conf.headers;
    call.n_headers = c->conf.n_headers;
    call.body = buf_str(&c->question);
    if (!token_way_has(c->way, TOKEN_WAY_ASKS_MODEL))
        call.total_timeout_ms = c->conf.timeout_ms;
    if (buf_failed(&url) || buf_failed(&c->question))
        err_set_no_memory(reterr);
    else
        c->call = http_client_start(c->client, &call, &handler, c, reterr);
    buf_fini(&url);
    return c->call == NULL ? -1 : 0;
}

static void ask_or_report(struct token_count *c)
{
    struct err e;

    if (ask_way(c, &e) == -1)
        report_outcome(c, NULL, &e);
}

static void ask_next(struct token_count *c)
{
    struct err e;

    if (find_way(c, c->way + 1)) {
        ask_or_report(c);
        return;
    }
    (void)set_no_way(&e);
    report_outcome(c, NULL, c->why.code != ERR_NONE ? &c->why : &e);
}

/* ---- answers */

static void take_answer(struct token_count *c)
{
    const struct buf empty = {.limit = c->answer.limit};

    if (c->is_failure) {
        report_outcome(c, NULL, &c->why);
    } else if (!c->is_read) {
        rule_out(c, c->way);
        ask_next(c);
    } else if (c->wants_prompt) {
        c->wants_prompt = false;
        c->prompt = c->read.prompt;
        buf_fini(&c->first_answer);
        c->first_answer = c->answer;
        c->answer = empty;
        ask_or_report(c);
    } else {
        report_counted(c);
    }
}

/* Gateways to many models tell of a failure with status 200: that says nothing of the way. */
static bool read_failure(struct token_count *c)
{
    const str body = str_trim(buf_str(&c->answer));
    str error;

    if (!token_way_has(c->way, TOKEN_WAY_ASKS_MODEL) || !jr_is_valid(body))
        return false;
    error = jr_member(body, STR("error"));
    if (jr_type_of(error) != JR_OBJECT)
        return false;
    upstream_error_from_value(error, &c->why);
    return true;
}

static void read_answer(void *arg)
{
    struct token_count *c = arg;

    c->is_read = token_answer_read(c->way, c->wants_prompt, buf_str(&c->answer), &c->read);
    c->is_failure = !c->is_read && read_failure(c);
}

static void on_read(void *arg)
{
    struct token_count *c = arg;

    c->is_on_pool = false;
    if (c->is_cancelled)
        free_count(c);
    else
        take_answer(c);
}

static void begin_reading(struct token_count *c)
{
    if (c->answer.len < LARGE_BYTES) {
        read_answer(c);
        take_answer(c);
        return;
    }
    c->is_on_pool = true;
    c->job = (struct loop_job){.work = read_answer, .done = on_read, .arg = c};
    loop_offload(http_client_loop(c->client), &c->job);
}

static bool is_no_such_path(int status)
{
    return status == 404 || status == 405 || status == 501;
}

/* What any other way would be refused with as well. */
static bool is_final(const struct token_count *c, const struct err *e)
{
    return token_way_has(c->way, TOKEN_WAY_ASKS_MODEL) || c->head.status == 401 ||
           c->head.status == 429 || e->code == ERR_MODEL_NOT_FOUND || e->code == ERR_CONTEXT_LENGTH;
}

static void take_refusal(struct token_count *c)
{
    struct err e;

    upstream_answer_error(&c->head, c->conf.passes_key, &e);
    if (is_final(c, &e)) {
        report_outcome(c, NULL, &e);
        return;
    }
    if (is_no_such_path(c->head.status)) {
        rule_out(c, c->way);
    } else {
        c->why = e;
        if (c->head.status < 500)
            c->refused |= 1U << c->way;
    }
    ask_next(c);
}

/* ---- reports of the call */

static void on_head(void *arg, int status, const struct http_header *headers, size_t n_headers)
{
    struct token_count *c = arg;

    upstream_answer_head(&c->head, status, headers, n_headers);
}

/* An answer that is too large may have no end, nor may why it refuses. What else was asked may have a
 * shorter one, so the way is not ruled out. */
static void give_up_answer(struct token_count *c)
{
    http_call_cancel(c->call);
    c->call = NULL;
    if (!upstream_answer_is_good(&c->head)) {
        take_refusal(c);
    } else if (c->answer.is_full) {
        err_set(&c->why, ERR_UPSTREAM_ERROR,
                "The upstream's count is longer than %zu bytes (max_line).", c->answer.limit);
        ask_next(c);
    } else {
        err_set_no_memory(&c->why);
        report_outcome(c, NULL, &c->why);
    }
}

static void on_body(void *arg, str bytes)
{
    struct token_count *c = arg;
    const bool is_good = upstream_answer_is_good(&c->head);

    if (is_good)
        buf_append(&c->answer, bytes);
    if (is_good ? buf_failed(&c->answer) : !upstream_answer_keep(&c->head, bytes))
        give_up_answer(c);
}

/* Who cannot be reached is not asked in another way; who is slow or breaks off may be quicker there. */
static void on_end(void *arg, const struct err *failure)
{
    struct token_count *c = arg;

    c->call = NULL;
    if (failure != NULL && (failure->code == ERR_UPSTREAM_UNAVAILABLE ||
                            token_way_has(c->way, TOKEN_WAY_ASKS_MODEL))) {
        report_outcome(c, NULL, failure);
    } else if (failure != NULL) {
        c->why = *failure;
        ask_next(c);
    } else if (upstream_answer_is_good(&c->head)) {
        begin_reading(c);
    } else {
        take_refusal(c);
    }
}

static const struct http_call_handler handler = {on_head, on_body, on_end};

/* ---- the beginning */

struct token_count *token_count_start(struct http_client *client,
                                      const struct token_count_conf *conf, token_count_done *done,
                                      void *arg, struct err *reterr)
{
    struct token_count *c = calloc(1, sizeof(*c));

    if (c == NULL) {
        err_set_no_memory(reterr);
        return NULL;
    }
    *c = (struct token_count){.client = client, .conf = *conf, .done = done, .arg = arg};
    buf_init(&c->answer, conf->max_answer_bytes);
    upstream_answer_init(&c->head);
    c->why.code = ERR_NONE;
    if (find_way(c, 0)) {
        if (ask_way(c, reterr) == 0)
            return c;
    } else {
        (void)set_no_way(reterr);
    }
    free_count(c);
    return NULL;
}
