/* upstream_probe.c -- one request after the other, until enough is known or time is up.
 *
 *     start -> GET -> look at the answer -> GET ... -> done
 *
 * The next request is begun when the loop has returned from the end of the one before. */
#include "upstream/upstream_probe.h"

#include <stdlib.h>

#include "base/version.h"
#include "ev/loop.h"
#include "json/json_text.h"
#include "json/json_write.h"
#include "wire/dialect/model_template.h"
#include "wire/dialect/upstream_models.h"

/* Of a list of models: a gateway to many providers has hundreds, with a description each. Of what a
 * server has on a path of its own (CONTRACT 15.1). */
enum {
    MAX_LIST_BYTES = 4 * 1024 * 1024,
    MAX_NATIVE_BYTES = 256 * 1024,
    MAX_SERVER_BYTES = 128,
};

struct upstream_probe {
    struct http_client *client;
    struct upstream_probe_conf conf;
    upstream_probe_done *done;
    void *arg;
    struct http_call *call; /* or NULL */
    struct upstream_facts *facts;
    struct buf body;
    struct buf question;      /* of a POST */
    str model;                /* that it is about, or STR_NONE */
    enum upstream_path path;  /* of the call */
    int status;               /* of its answer; 0: none yet */
    unsigned asked, answered; /* bits of the paths; of those that had an answer */
    uint64_t deadline_ms;
    bool has_answered; /* to any */
    bool was_silent;
};

static void free_probe(struct upstream_probe *p)
{
    upstream_facts_unref(p->facts);
    buf_fini(&p->body);
    buf_fini(&p->question);
    free(p);
}

void upstream_probe_cancel(struct upstream_probe *p)
{
    if (p == NULL)
        return;
    if (p->call != NULL)
        http_call_cancel(p->call);
    free_probe(p);
}

/* ---- answers */

static void on_head(void *arg, int status, const struct http_header *headers, size_t n_headers)
{
    struct upstream_probe *p = arg;
    struct upstream_facts *f = p->facts;

    p->status = status;
    p->has_answered = true;
    for (size_t i = 0; i < n_headers; i++) {
        upstream_sign_header(headers[i].name, headers[i].value, &f->finding);
        if (str_is_none(f->server) && str_eq_nocase(headers[i].name, STR("server")) &&
            headers[i].value.len <= MAX_SERVER_BYTES)
            f->server = arena_dup(&f->memory, headers[i].value);
    }
}

/* Texts in facts are plain, and nobody's but theirs. */
static void take_props(struct upstream_facts *f, str body)
{
    struct upstream_props props;
    str template;

    if (!upstream_props_read(body, &props))
        return;
    template = json_text_copy(&f->memory, props.chat_template);
    f->model_path = json_text_copy(&f->memory, props.model_path);
    f->model_alias = json_text_copy(&f->memory, props.model_alias);
    f->knows_template_words =
        !str_is_none(template) && model_template_words(template, &f->template_words);
}

static void take_body(struct upstream_probe *p)
{
    str body = buf_str(&p->body);

    if (buf_failed(&p->body))
        return;
    upstream_sign_body(p->path, p->status, body, &p->facts->finding);
    if (p->status != 200)
        return;
    p->answered |= 1U << p->path;
    if (p->path != UPSTREAM_PATH_MODELS)
        upstream_models_add(p->path, body, p->model, &p->facts->models, &p->facts->only);
    else if (!upstream_models_read(body, &p->facts->memory, &p->facts->models))
        p->facts->models.n = 0;
    if (p->path == UPSTREAM_PATH_MODELS && p->conf.keeps_list && p->facts->list == NULL)
        p->facts->list = upstream_list_new(body);
    if (p->path == UPSTREAM_PATH_PROPS)
        take_props(p->facts, body);
    if (p->path == UPSTREAM_PATH_RUNNING_MODELS)
        p->model = upstream_models_choose(&p->facts->models, p->conf.model, str_trim(body));
}

/* ---- requests */

static void end_probe(struct upstream_probe *p)
{
    struct upstream_facts *facts = p->has_answered ? p->facts : NULL;

    if (facts != NULL)
        p->facts = NULL; /* given away */
    p->done(p->arg, facts, p->was_silent);
    free_probe(p);
}

static const struct http_call_handler handler;

/* {"model":"NAME"} */
static void write_question(struct upstream_probe *p)
{
    struct jw w = jw_to(&p->question);

    buf_reset(&p->question);
    jw_object(&w);
    jw_key_string(&w, "model", p->model);
    jw_object_end(&w);
}

static int ask_path(struct upstream_probe *p, uint64_t left_ms, struct err *reterr)
{
    struct http_header headers[4] = {
        {STR("accept"), STR("application/json")},
        {STR("user-agent"), STR("antiphon/" ANTIPHON_VERSION)}, /* who asks, in their log */
    };
    struct buf url = {.limit = 0};
    struct http_call_conf call = {
        .method = upstream_path_method(p->path),
        .headers = headers,
        .n_headers = 2,
        .connect_timeout_ms = left_ms,
        .first_byte_timeout_ms = left_ms,
        .idle_timeout_ms = left_ms,
        .total_timeout_ms = left_ms,
    };

    buf_append(&url, upstream_path_base(p->path, p->conf.base));
    buf_append(&url, upstream_path_text(p->path));
    buf_reset(&p->body);
    p->body.limit = p->path == UPSTREAM_PATH_MODELS ? MAX_LIST_BYTES : MAX_NATIVE_BYTES;
    if (!str_is_none(p->conf.authorization))
        headers[call.n_headers++] =
            (struct http_header){STR("authorization"), p->conf.authorization};
    if (upstream_path_is_post(p->path)) {
        headers[call.n_headers++] =
            (struct http_header){STR("content-type"), STR("application/json")};
        write_question(p);
        call.body = buf_str(&p->question);
    }
    p->status = 0;
    p->asked |= 1U << p->path;
    call.url = buf_cstr(&url);
    p->call = http_client_start(p->client, &call, &handler, p, reterr);
    buf_fini(&url);
    return p->call == NULL ? -1 : 0;
}

/* A question about a model without one, and one that was answered under its other name. */
static bool is_needless(const struct upstream_probe *p)
{
    return (upstream_path_is_post(p->path) && str_is_none(p->model)) ||
           (p->path == UPSTREAM_PATH_NEW_MODEL_INFO &&
            (p->answered >> UPSTREAM_PATH_MODEL_INFO & 1) != 0);
}

/* A server that cannot be reached, or has not answered, is asked nothing more. */
static bool ask_next(struct upstream_probe *p)
{
    const uint64_t now_ms = loop_now_ms(http_client_loop(p->client));
    struct err e;

    if (p->status == 0 || now_ms >= p->deadline_ms)
        return false;
    while (upstream_sign_next(&p->facts->finding, p->asked, &p->path)) {
        if (!is_needless(p))
            return ask_path(p, p->deadline_ms - now_ms, &e) == 0;
        p->asked |= 1U << p->path;
    }
    return false;
}

static void end_answer(struct upstream_probe *p, const struct err *failure)
{
    p->call = NULL;
    if (failure == NULL)
        take_body(p);
    if (failure != NULL || p->status == 503)
        p->facts->is_partial = true;
    if (failure != NULL && failure->code == ERR_UPSTREAM_TIMEOUT)
        p->was_silent = true;
    if (!ask_next(p))
        end_probe(p);
}

/* A body that is too large is no answer to what was asked, and may have no end. */
static void on_body(void *arg, str bytes)
{
    struct upstream_probe *p = arg;

    buf_append(&p->body, bytes);
    if (!buf_failed(&p->body))
        return;
    http_call_cancel(p->call);
    end_answer(p, NULL);
}

static void on_end(void *arg, const struct err *failure)
{
    end_answer(arg, failure);
}

static const struct http_call_handler handler = {on_head, on_body, on_end};

struct upstream_probe *upstream_probe_start(struct http_client *client,
                                            const struct upstream_probe_conf *conf,
                                            upstream_probe_done *done, void *arg,
                                            struct err *reterr)
{
    struct upstream_probe *p = calloc(1, sizeof(*p));

    if (p == NULL) {
        err_set_no_memory(reterr);
        return NULL;
    }
    *p = (struct upstream_probe){.client = client, .conf = *conf, .done = done, .arg = arg};
    p->model = STR_NONE;
    p->deadline_ms = loop_now_ms(http_client_loop(client)) + conf->timeout_ms;
    p->facts = upstream_facts_new();
    if (p->facts != NULL)
        p->conf.model = arena_dup(&p->facts->memory, conf->model);
    if (p->facts == NULL) {
        err_set_no_memory(reterr);
        free_probe(p);
        return NULL;
    }
    p->facts->finding = conf->known;
    p->path = UPSTREAM_PATH_MODELS;
    if (ask_path(p, conf->timeout_ms, reterr) == 0)
        return p;
    free_probe(p);
    return NULL;
}
