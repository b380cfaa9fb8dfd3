/* mcp_exchange.c -- between a fetch and its kind. */
#include "mcp/link/mcp_exchange.h"

#include <stdlib.h>

enum { MAX_ANSWERS = 64 }; /* to a server, under way; the stream of the link counts as one */

static void enter_exchange(struct mcp_exchange *x)
{
    x->depth++;
}

static void exchange_free(struct mcp_exchange *x)
{
    loop_timer_free(x->timer);
    mcp_answer_fini(&x->answer);
    free(x);
}

static void leave_exchange(struct mcp_exchange *x)
{
    x->depth--;
    if (x->is_dropped && x->depth == 0)
        exchange_free(x);
}

/* ---- what the answer holds */

static void on_message(void *arg, const struct jsonrpc_message *m)
{
    struct mcp_exchange *x = arg;

    x->kind->on_message(x, m);
}

static void on_event(void *arg, str name, str data)
{
    struct mcp_exchange *x = arg;

    if (x->kind->on_event != NULL)
        x->kind->on_event(x, name, data);
}

static const struct mcp_answer_handler answer_handler = {on_message, on_event};

/* ---- what the fetch reports */

static void on_head(void *arg, const struct mcp_fetch_head *head)
{
    struct mcp_exchange *x = arg;

    enter_exchange(x);
    x->status = head->status;
    x->kind->on_head(x, head);
    leave_exchange(x);
}

static void end_exchange(struct mcp_exchange *x, const struct mcp_link_failure *failure)
{
    if (!x->is_dropped)
        x->kind->on_end(x, failure);
}

static void end_too_large(struct mcp_exchange *x)
{
    struct mcp_link_failure failure = {
        .cause = MCP_FAILED_LIMIT,
        .http_status = x->status,
        .was_sent = true,
        .message = STR("The MCP server sent a message that is larger than it may be.")};

    end_exchange(x, &failure);
}

static void on_body(void *arg, str bytes)
{
    struct mcp_exchange *x = arg;

    enter_exchange(x);
    if (mcp_answer_feed(&x->answer, bytes) == -1) {
        mcp_fetch_cancel(x->fetch);
        x->fetch = NULL;
        end_too_large(x);
    }
    leave_exchange(x);
}

/* An event that broke off in its middle is none. */
static void on_end(void *arg, const struct mcp_link_failure *failure)
{
    struct mcp_exchange *x = arg;

    enter_exchange(x);
    x->fetch = NULL;
    if (failure == NULL && mcp_answer_end(&x->answer) == -1)
        end_too_large(x);
    else
        end_exchange(x, failure);
    leave_exchange(x);
}

static const struct mcp_fetch_handler fetch_handler = {on_head, on_body, on_end};

static void on_timer(void *arg)
{
    struct mcp_exchange *x = arg;

    enter_exchange(x);
    if (x->kind->on_timer != NULL)
        x->kind->on_timer(x);
    leave_exchange(x);
}

/* ---- for the kinds */

struct mcp_exchange *mcp_exchange_new(struct mcp_exchange **list, struct mcp_link *link,
                                      struct mcp_site *site, const struct mcp_exchange_kind *kind)
{
    struct mcp_exchange *x = calloc(1, sizeof(*x));

    if (x == NULL)
        return NULL;
    x->kind = kind;
    x->link = link;
    x->site = site;
    mcp_answer_init(&x->answer, site->conf.server->max_message_bytes, &answer_handler, x);
    x->timer = loop_timer_new(site->loop, on_timer, x);
    if (x->timer == NULL) {
        exchange_free(x);
        return NULL;
    }
    x->next = *list;
    x->at = list;
    if (x->next != NULL)
        x->next->at = &x->next;
    *list = x;
    return x;
}

int mcp_exchange_fetch(struct mcp_exchange *x, const struct mcp_fetch_conf *conf,
                       struct err *reterr)
{
    x->status = 0;
    mcp_answer_begin(&x->answer, MCP_BODY_NONE);
    x->fetch = mcp_fetch_start(x->site, conf, &fetch_handler, x, reterr);
    return x->fetch == NULL ? -1 : 0;
}

void mcp_exchange_drop(struct mcp_exchange *x)
{
    if (x->is_dropped)
        return;
    x->is_dropped = true;
    *x->at = x->next;
    if (x->next != NULL)
        x->next->at = x->at;
    mcp_fetch_cancel(x->fetch);
    x->fetch = NULL;
    loop_timer_stop(x->timer);
    mcp_answer_stop(&x->answer);
    if (x->depth == 0)
        exchange_free(x);
}

void mcp_exchange_fail(struct mcp_exchange *x, const struct mcp_link_failure *why)
{
    struct mcp_link *link = x->link;
    struct buf challenge = {.limit = 0};
    struct mcp_link_failure failure = *why;
    int64_t id = x->id;

    buf_append(&challenge, why->challenge); /* the fetch has it, and goes */
    if (!str_is_none(why->challenge))
        failure.challenge = buf_str(&challenge);
    mcp_exchange_drop(x);
    link->handler->on_failed(link->arg, id, &failure);
    buf_fini(&challenge);
}

struct mcp_link_failure mcp_status_failure(const struct mcp_exchange *x)
{
    return (struct mcp_link_failure){.cause = MCP_FAILED_HTTP,
                                     .http_status = x->status,
                                     .was_sent = true,
                                     .has_lost_session = x->is_lost,
                                     .challenge = x->fetch == NULL ? STR_NONE
                                                                   : mcp_fetch_challenge(x->fetch)};
}

bool mcp_exchange_may_notify(const struct mcp_exchange *list, const struct mcp_site *site,
                             enum mcp_method method)
{
    bool is_answer = method == MCP_METHOD_COUNT;
    size_t n = 0, most = MAX_ANSWERS + (is_answer ? 0 : site->conf.server->max_concurrency);

    for (; list != NULL; list = list->next)
        n += list->id == 0;
    return n < most;
}

struct mcp_exchange *mcp_exchange_find(struct mcp_exchange *list, int64_t id)
{
    while (list != NULL && (list->id != id || list->is_answered))
        list = list->next;
    return id == 0 ? NULL : list;
}
