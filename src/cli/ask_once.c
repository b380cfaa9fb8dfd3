/* ask_once.c -- a loop that runs for as long as one call takes. */
#include "cli/ask_once.h"

#include <signal.h>
#include <stdlib.h>

#include "base/version.h"
#include "ev/log.h"
#include "ev/loop.h"
#include "http/http_client.h"

enum { MAX_ANSWER_BYTES = 4 * 1024 * 1024 };

struct asker {
    struct loop *loop;
    struct http_client *client;
};

/* A question under way. */
struct ask {
    struct asker *asker;
    struct asked *answer;
    struct http_call *call;
    uint64_t begun_ms;
};

struct asker *asker_open(const struct http_client_conf *conf, struct err *reterr)
{
    struct asker *a = calloc(1, sizeof(*a));

    if (a == NULL) {
        err_set_no_memory(reterr);
        return NULL;
    }
    (void)signal(SIGPIPE, SIG_IGN);
    log_setup(LOG_ERROR, LOG_TEXT); /* a loop that stands between two calls is not held */
    a->loop = loop_new(reterr);
    if (a->loop == NULL) {
        asker_close(a);
        return NULL;
    }
    a->client = http_client_new(a->loop, conf);
    if (a->client == NULL) {
        err_set_no_memory(reterr);
        asker_close(a);
        return NULL;
    }
    return a;
}

void asker_close(struct asker *a)
{
    if (a == NULL)
        return;
    http_client_free(a->client);
    loop_free(a->loop);
    free(a);
}

bool asker_is_resolving(const struct asker *a)
{
    return http_client_is_resolving(a->client);
}

/* ---- what the call reports */

static uint64_t ms_since(const struct ask *k)
{
    return loop_now_ms(k->asker->loop) - k->begun_ms;
}

static void end_ask(struct ask *k)
{
    k->answer->total_ms = ms_since(k);
    loop_stop(k->asker->loop);
}

static void on_head(void *arg, int status, const struct http_header *headers, size_t n_headers)
{
    struct ask *k = arg;

    (void)headers;
    (void)n_headers;
    k->answer->status = status;
}

/* What is beyond the limit may have no end. */
static void on_body(void *arg, str bytes)
{
    struct ask *k = arg;

    if (k->answer->body.len == 0)
        k->answer->first_ms = ms_since(k);
    buf_append(&k->answer->body, bytes);
    if (!buf_failed(&k->answer->body))
        return;
    http_call_cancel(k->call);
    k->answer->has_failed = true;
    err_set(&k->answer->failure, ERR_UPSTREAM_ERROR, "The answer is larger than 4 MiB.");
    end_ask(k);
}

static void on_end(void *arg, const struct err *failure)
{
    struct ask *k = arg;

    if (failure != NULL) {
        k->answer->has_failed = true;
        k->answer->failure = *failure;
    }
    end_ask(k);
}

static const struct http_call_handler handler = {on_head, on_body, on_end};

/* ---- asking */

static int start_call(struct ask *k, const struct question *q)
{
    struct http_header headers[4] = {
        {STR("accept"), STR("application/json")},
        {STR("user-agent"), STR("antiphon/" ANTIPHON_VERSION)}, /* who asks, in their log */
    };
    struct http_call_conf call = {
        .method = q->method,
        .url = q->url,
        .headers = headers,
        .n_headers = 2,
        .body = str_is_none(q->body) ? STR("") : q->body,
        .peer = "server",
        .connect_timeout_ms = q->timeout_ms,
        .first_byte_timeout_ms = q->timeout_ms,
        .idle_timeout_ms = q->timeout_ms,
        .total_timeout_ms = q->timeout_ms,
    };

    if (!str_is_none(q->authorization))
        headers[call.n_headers++] = (struct http_header){STR("authorization"), q->authorization};
    if (!str_is_none(q->body))
        headers[call.n_headers++] =
            (struct http_header){STR("content-type"), STR("application/json")};
    k->call = http_client_start(k->asker->client, &call, &handler, k, &k->answer->failure);
    return k->call == NULL ? -1 : 0;
}

void ask_once(struct asker *a, const struct question *q, struct asked *ret)
{
    struct ask k = {.asker = a, .answer = ret};

    *ret = (struct asked){.status = 0};
    buf_init(&ret->body, MAX_ANSWER_BYTES);
    uv_update_time(loop_uv(a->loop)); /* it stood still since the call before */
    k.begun_ms = loop_now_ms(a->loop);
    if (start_call(&k, q) == -1)
        ret->has_failed = true;
    else
        loop_run(a->loop);
}

void asked_fini(struct asked *a)
{
    buf_fini(&a->body);
}
