/* turn_tools.c -- the tools of a request's MCP servers are found out (MCP 11.6 to 11.8).
 *
 * Those of configured servers are known, unless a server is just being started; a server that the
 * request brought is asked. The client sees an item with the tools of each that it has declared, as
 * `mcp_list_items` says, unless the context has one already. */
#include "call/tool_offer.h"
#include "json/json_text.h"
#include "mcp/proto/mcp_failure.h"
#include "turn/turn_stages.h"

/* The tools of a server that the request declares cannot be had. */
static void set_list_failed(const struct turn_server *s, str why, struct err *reterr)
{
    err_set_param(reterr, ERR_MCP_LIST_FAILED, "tools",
                  "Error retrieving tool list from MCP server: '%.*s'. %.*s",
                  STR_ARG(s->declaration->label), STR_ARG(why));
}

/* ---- configured servers */

static bool can_be_hurried(const struct turn_server *s)
{
    return s->view != NULL && tool_offer_can_hurry(s->turn->flight.worker, s->view);
}

/* How long it is waited for while it starts. */
static uint64_t server_patience_ms(const struct turn_server *s)
{
    const struct worker *w = s->turn->flight.worker;

    if (s->view == NULL)
        return 0;
    if (s->declaration == NULL)
        return tool_offer_patience_ms(w, s->view);
    return s->view->is_pending || can_be_hurried(s) ? w->config->mcp_remote_timeout_ms : 0;
}

static void want_servers(const struct turn *t)
{
    for (const struct turn_server *s = t->first_server; s != NULL; s = s->next) {
        if (can_be_hurried(s))
            mcp_hub_want(t->flight.worker->hub, s->view->conf->label);
    }
}

/* A server that is wanted is being started: that may take a moment. */
static bool must_wait(const struct turn *t)
{
    const uint64_t waited_ms = loop_now_ms(t->flight.worker->loop) - t->tools_since_ms;
    const struct turn_server *s = t->first_server;

    while (s != NULL && server_patience_ms(s) <= waited_ms)
        s = s->next;
    return s != NULL;
}

static int check_server(const struct turn_server *s, struct err *reterr)
{
    str why =
        s->view == NULL || s->view->error.len == 0 ? STR("It is not connected.") : s->view->error;

    if (s->view == NULL || s->declaration == NULL || s->view->is_available)
        return 0;
    set_list_failed(s, why, reterr);
    return -1;
}

enum turn_next turn_look_for_tools(void *arg, struct err *reterr)
{
    struct turn *t = arg;

    if (t->tools_since_ms == 0)
        t->tools_since_ms = loop_now_ms(t->flight.worker->loop);
    turn_free_tools(t);
    if (turn_choose_servers(t, reterr) == -1)
        return TURN_FAIL;
    if (t->request.has_trigger)
        return TURN_GO; /* with the tools that are known: none is called */
    want_servers(t);
    if (must_wait(t)) {
        loop_timer_start(t->flight.timer, TOOL_OFFER_LOOK_AGAIN_MS);
        return TURN_WAIT;
    }
    for (const struct turn_server *s = t->first_server; s != NULL; s = s->next) {
        if (check_server(s, reterr) == -1)
            return TURN_FAIL;
    }
    return TURN_GO;
}

/* ---- listings, as items */

static enum turn_next fail_listing(struct turn_server *s, struct buf *out, struct err *reterr)
{
    struct buf escaped = {.limit = 0};

    json_text_escape(s->why_not, &escaped);
    if (s->item != NULL)
        (void)response_fail_listing(&s->turn->response, s->item, buf_str(&escaped), out);
    buf_fini(&escaped);
    set_list_failed(s, s->why_not, reterr);
    return TURN_FAIL;
}

static void show_tools(struct turn_server *s, struct buf *out)
{
    struct buf tools = {.limit = 0};

    mcp_catalogue_write(s->tools, s->is_filtered ? &s->allowed : NULL, &tools);
    if (buf_failed(&tools))
        s->turn->response.broken = ERR_INTERNAL;
    (void)response_end_listing(&s->turn->response, s->item, buf_str(&tools), out);
    s->item = NULL;
    buf_fini(&tools);
}

static int announce_listing(struct turn_server *s, struct buf *out, struct err *reterr)
{
    struct turn *t = s->turn;
    struct buf label = {.limit = 0};

    json_text_escape(s->declaration->label, &label);
    s->item =
        response_begin_listing(&t->response, arena_dup(&t->flight.arena, buf_str(&label)), out);
    buf_fini(&label);
    if (s->item != NULL)
        return 0;
    response_failure(&t->response, reterr);
    return -1;
}

/* Known tools are not waited for, so a stream need not begin: what the upstream says first can still be
 * an error of HTTP. The events are kept with the first ones. */
static struct buf *known_out(struct turn *t)
{
    if (!t->request.stream || t->is_begun)
        return turn_out(t);
    if (t->opening.len == 0)
        response_start(&t->response, &t->opening);
    return &t->opening;
}

static int show_known(struct turn_server *s, struct err *reterr)
{
    struct turn *t = s->turn;
    struct buf *out = known_out(t);

    if (announce_listing(s, out, reterr) == -1)
        return -1;
    show_tools(s, out);
    if (t->response.broken != ERR_NONE) {
        response_failure(&t->response, reterr);
        return -1;
    }
    return out != NULL && buf_failed(out) ? err_set_no_memory(reterr) : 0;
}

/* ---- servers that are asked */

/* The failure of a server is kept as text, which may not be missing. */
static str keep_reason(struct turn *t, const struct mcp_failure *failure)
{
    struct buf text = {.limit = 0};
    str why;

    mcp_failure_text(failure, &text);
    why = arena_dup(&t->flight.arena, buf_str(&text));
    buf_fini(&text);
    return str_is_none(why) ? STR("") : why;
}

static void on_listed(void *arg, const struct mcp_failure *failure, struct mcp_catalogue *tools)
{
    struct turn_server *s = arg;

    s->task = NULL;
    s->tools = tools;
    s->why_not = failure == NULL ? STR_NONE : keep_reason(s->turn, failure);
    s->turn->n_listings--;
    turn_wake(&s->turn->flight);
}

static int start_listing(struct turn_server *s, struct buf *out, struct err *reterr)
{
    static const struct mcp_listed_handler handler = {on_listed};
    struct turn *t = s->turn;

    if (s->is_shown && announce_listing(s, out, reterr) == -1)
        return -1;
    s->task =
        mcp_hub_list(t->flight.worker->hub, t->flight.worker->loop, s->remote, &handler, s, reterr);
    if (s->task == NULL)
        return -1;
    t->n_listings++;
    return 0;
}

static bool must_be_asked(const struct turn_server *s)
{
    return s->remote != NULL && s->tools == NULL;
}

/* What the client sees of the tools before the model is asked: nothing; items that are complete; or that
 * something is being done, with which its stream begins. */
static int begin_listings(struct turn *t, struct err *reterr)
{
    bool is_any_shown = false, is_any_awaited = false;

    for (const struct turn_server *s = t->first_server; s != NULL; s = s->next) {
        is_any_shown = is_any_shown || s->is_shown;
        is_any_awaited = is_any_awaited || (s->is_shown && must_be_asked(s));
    }
    if (is_any_shown && !t->has_response && turn_open_response(t, reterr) == -1)
        return -1;
    if (is_any_awaited && t->request.stream)
        turn_begin_stream(t);
    return 0;
}

/* For a summary no server is listed anew, and none is shown (CONTRACT 13.2). */
int turn_start_listings(void *arg, struct err *reterr)
{
    struct turn *t = arg;
    int rc = t->request.has_trigger ? 0 : begin_listings(t, reterr);

    for (struct turn_server *s = t->first_server; rc == 0 && s != NULL; s = s->next) {
        if (!flight_has_client(&t->flight) || t->request.has_trigger)
            return 0;
        if (must_be_asked(s))
            rc = start_listing(s, turn_out(t), reterr);
        else if (s->is_shown)
            rc = show_known(s, reterr);
    }
    return rc;
}

enum turn_next turn_await_listings(void *arg, struct err *reterr)
{
    struct turn *t = arg;
    struct buf *out = turn_out(t);

    for (struct turn_server *s = t->first_server; s != NULL; s = s->next) {
        if (s->task != NULL)
            continue;
        if (!str_is_none(s->why_not))
            return fail_listing(s, out, reterr);
        if (s->item != NULL)
            show_tools(s, out);
    }
    if (t->has_response && t->response.broken != ERR_NONE) {
        response_failure(&t->response, reterr);
        return TURN_FAIL;
    }
    return t->n_listings > 0 ? TURN_WAIT : TURN_GO;
}

/* ---- all of them */

int turn_offer_tools(void *arg, struct err *reterr)
{
    struct turn *t = arg;

    if (turn_add_tools(t, reterr) == -1)
        return -1;
    return t->has_response ? 0 : turn_open_response(t, reterr);
}

/* ---- the end */

void turn_cancel_tools(struct turn *t)
{
    for (struct turn_server *s = t->first_server; s != NULL; s = s->next) {
        if (s->task != NULL)
            mcp_task_cancel(s->task);
        s->task = NULL;
    }
    t->n_listings = 0;
}

void turn_free_tools(struct turn *t)
{
    for (struct turn_server *s = t->first_server; s != NULL; s = s->next)
        mcp_catalogue_unref(s->tools);
    t->first_server = t->last_server = NULL;
    mcp_snapshot_unref(t->servers);
    t->servers = NULL;
}
