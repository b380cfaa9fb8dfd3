/* mcp_session_list.c -- the tools of the server, and when to ask for them again (MCP 9).
 *
 * A listing begins when the connection is new, and later by one timer that everything
 * moves forward which suggests that tools have changed: the server's word (after a short
 * wait, since it often comes in bursts), a call of an unknown tool, time.
 *
 * A change that is told of while a listing runs makes another one follow. Where messages
 * come in order, what is told of before the first page is in it already: servers like to
 * announce their tools when they start. */
#include "mcp/session/mcp_session_internal.h"

#include "json/json_text.h"

static const struct id_source randomness = {.fill = random_fill};

enum { DROPS_BYTES = 64 * 1024 };

/* ---- when */

static void on_due(void *arg)
{
    struct mcp_session *s = arg;

    s->list.due_ms = 0;
    mcp_list_begin(s);
}

/* Plans a listing, unless one is due before that anyway. */
void mcp_list_soon(struct mcp_session *s, uint64_t after_ms)
{
    uint64_t due_ms = loop_now_ms(s->loop) + after_ms;

    if (!s->is_connected || (s->list.due_ms != 0 && s->list.due_ms <= due_ms))
        return;
    s->list.due_ms = due_ms;
    loop_timer_start(s->list.timer, after_ms);
}

void mcp_list_changed(struct mcp_session *s)
{
    bool is_in_order = s->transport != MCP_TRANSPORT_HTTP;

    if (!s->list.is_running)
        mcp_list_soon(s, MCP_LIST_DEBOUNCE_MS);
    else if (!is_in_order || s->list.has_page)
        s->list.is_stale = true;
}

void mcp_session_refresh(struct mcp_session *s)
{
    const struct mcp_session_listing *l = &s->list;
    uint64_t since_ms = loop_now_ms(s->loop) - l->began_ms;

    if (!l->has_begun_ever || since_ms >= MCP_LIST_PAUSE_MS)
        mcp_list_soon(s, 0);
    else
        mcp_list_soon(s, MCP_LIST_PAUSE_MS - since_ms);
}

/* MCP 9.4. A list that is good for no time at all says nothing about how often it changes. */
static uint64_t interval_ms(const struct mcp_session *s, const struct mcp_cache *cache)
{
    if (s->conf.server->refresh_interval_ms != 0)
        return s->conf.server->refresh_interval_ms;
    if (s->conf.refresh_interval_ms != 0)
        return s->conf.refresh_interval_ms;
    if (mcp_session_is_modern(s) && cache->ttl_ms >= MCP_LIST_MAX_MS)
        return MCP_LIST_MAX_MS;
    if (mcp_session_is_modern(s) && cache->ttl_ms > 0)
        return cache->ttl_ms > MCP_LIST_PAUSE_MS ? (uint64_t)cache->ttl_ms : MCP_LIST_PAUSE_MS;
    return s->has_tools_changed ? MCP_LIST_TOLD_MS : MCP_LIST_POLL_MS;
}

/* The interval is up to a tenth shorter or longer, so that many gateways do not ask in step. */
static void plan_next(struct mcp_session *s, const struct mcp_cache *cache)
{
    uint64_t ms = interval_ms(s, cache);

    mcp_list_soon(s, ms - ms / 10 + mcp_session_chance() % (2 * (ms / 10) + 1));
    if (s->list.is_stale)
        mcp_list_soon(s, MCP_LIST_DEBOUNCE_MS);
}

/* ---- the end of a listing */

static void end_listing(struct mcp_session *s)
{
    s->list.is_running = false;
    s->list.deadline_ms = 0;
}

/* The tools known before stay good (MCP 9.5). */
static void fail_listing(struct mcp_session *s, str text)
{
    end_listing(s);
    s->list.n_lost = 0;
    mcp_listing_fini(&s->list.pages);
    mcp_list_soon(
        s, mcp_backoff_next_ms(&s->list.backoff, loop_now_ms(s->loop), mcp_session_chance()));
    mcp_calls_listing_ended(s, NULL);
    if (!s->is_connected)
        return;
    mcp_session_move(s, MCP_DEGRADED, text);
    mcp_report_degraded(s);
}

static uint64_t print_of(uint64_t seed, const struct mcp_listing *pages)
{
    for (const struct mcp_listed_tool *t = pages->first; t != NULL; t = t->next) {
        const str parts[] = {t->tool.name, t->tool.title, t->tool.description, t->tool.schema,
                             t->tool.annotations};

        for (size_t i = 0; i < COUNT_OF(parts); i++)
            seed = str_map_hash(seed + parts[i].len, parts[i]);
    }
    return seed;
}

static void finish_listing(struct mcp_session *s)
{
    struct mcp_session_listing *l = &s->list;
    uint64_t print = print_of(l->print_seed, &l->pages);
    bool is_new = !s->is_available || print != l->print;

    end_listing(s);
    l->n_lost = 0;
    l->print = print;
    l->backoff = (struct mcp_backoff){.failures = 0};
    plan_next(s, &l->pages.cache);
    if (!s->is_available)
        mcp_backoff_ready(&s->backoff, loop_now_ms(s->loop));
    s->is_available = true;
    mcp_report_drops(s);
    if (s->state != MCP_READY)
        mcp_report_ready(s, l->pages.n);
    mcp_calls_listing_ended(s, &l->pages);
    if (is_new && s->is_available)
        s->handler->on_tools(s->arg, &l->pages);
    mcp_listing_fini(&l->pages);
    if (s->is_connected)
        mcp_session_move(s, MCP_READY, STR(""));
}

/* ---- pages */

static void on_page(void *arg, const struct mcp_reply *reply);

static void ask_page(struct mcp_session *s, str cursor)
{
    struct mcp_request r = {.method = MCP_LIST_TOOLS, .version = s->version, .cursor = cursor};
    struct err e;

    s->list.pending.on_answer = on_page;
    s->list.pending.arg = s;
    if (!mcp_session_ask(s, &s->list.pending, &r, NULL, &e))
        fail_listing(s, str_from_c(e.msg));
}

static void take_page(struct mcp_session *s, str result)
{
    str cursor;
    struct err e;

    s->list.has_page = true;
    if (mcp_listing_add(&s->list.pages, result, &cursor, &e) == -1)
        fail_listing(s, str_from_c(e.msg));
    else if (str_is_none(cursor))
        finish_listing(s);
    else
        ask_page(s, cursor);
}

static void take_error(struct mcp_session *s, const struct jsonrpc_message *m)
{
    struct buf text = {.limit = 0};

    if (mcp_listing_restart(&s->list.pages, m->code)) {
        ask_page(s, STR_NONE);
        return;
    }
    buf_c(&text, "The server does not list its tools: ");
    json_text_decode(m->message, &text);
    buf_c(&text, " (");
    buf_int(&text, m->code);
    buf_c(&text, ").");
    fail_listing(s, buf_str(&text));
    buf_fini(&text);
}

/* Over HTTP a server that is gone is noticed here. With calls under way it may still be
 * there for them. */
static void take_failure(struct mcp_session *s, const struct mcp_link_failure *why)
{
    struct mcp_end end = {.cause = why->cause,
                          .http_status = why->http_status,
                          .text = s->conf.is_remote ? STR("") : why->message};
    struct buf text = {.limit = 0};

    if (why->cause == MCP_FAILED_UNREACHABLE && why->http_status == 0 && s->n_active == 0) {
        mcp_session_leave(s, &end);
        return;
    }
    mcp_end_words(s, &end, &text);
    fail_listing(s, buf_str(&text));
    buf_fini(&text);
}

/* A lost session is agreed on anew, and its tools listed from the start. Once only: this very
 * request may be what loses it. */
static bool list_in_new_session(struct mcp_session *s, const struct mcp_reply *reply)
{
    bool has_lost_version = mcp_reply_lost_version(reply);

    if (!has_lost_version && !mcp_reply_lost_session(reply))
        return false;
    if (s->list.n_lost++ > 0)
        return false;
    mcp_handshake_again(s, s->list.pending.epoch, has_lost_version);
    return true;
}

static void on_page(void *arg, const struct mcp_reply *reply)
{
    struct mcp_session *s = arg;

    if (list_in_new_session(s, reply))
        return;
    if (reply->failure != NULL)
        take_failure(s, reply->failure);
    else if (reply->m->kind == JSONRPC_RESULT)
        take_page(s, reply->m->result);
    else
        take_error(s, reply->m);
}

/* ---- the beginning */

/* Tools left out are logged when the listing is done, unless the last one left out the same. */
static void on_drop(void *arg, str name, const char *why)
{
    struct mcp_session *s = arg;
    struct buf *drops = &s->list.drops;

    if (drops->len + name.len + strlen(why) + 2 > DROPS_BYTES)
        return;
    buf_append(drops, name);
    buf_char(drops, '\0');
    buf_c(drops, why);
    buf_char(drops, '\0');
}

/* The first listing has what is left of the time to start. */
static uint64_t deadline_ms(const struct mcp_session *s)
{
    if (s->state == MCP_STARTING)
        return s->start_until_ms;
    return loop_now_ms(s->loop) + s->conf.server->startup_timeout_ms;
}

void mcp_list_begin(struct mcp_session *s)
{
    struct mcp_session_listing *l = &s->list;
    bool wants_mirrors = s->transport == MCP_TRANSPORT_HTTP && mcp_session_is_modern(s);

    if (l->is_running) {
        l->is_stale = true;
        return;
    }
    loop_timer_stop(l->timer);
    l->due_ms = 0;
    l->has_page = l->is_stale = false;
    l->is_running = l->has_begun_ever = true;
    l->began_ms = loop_now_ms(s->loop);
    l->deadline_ms = deadline_ms(s);
    buf_reset(&l->drops);
    mcp_listing_init(&l->pages, &randomness, wants_mirrors, on_drop, s);
    mcp_calls_listing_begins(s);
    mcp_watch_arm(s);
    if (s->has_tools)
        ask_page(s, STR_NONE);
    else
        finish_listing(s); /* MCP 9.1: nothing to list */
}

void mcp_list_abandon(struct mcp_session *s)
{
    struct mcp_session_listing *l = &s->list;

    loop_timer_stop(l->timer);
    l->due_ms = 0;
    if (!l->is_running)
        return;
    mcp_session_give_up(s, &l->pending, NULL);
    end_listing(s);
    mcp_listing_fini(&l->pages);
}

void mcp_list_timed_out(struct mcp_session *s)
{
    mcp_count_request(s, &s->list.pending, mcp_failure_word(MCP_FAILED_TIMEOUT));
    mcp_session_give_up(s, &s->list.pending, "timeout");
    fail_listing(s, STR("The server did not list its tools in time."));
}

bool mcp_list_init(struct mcp_session *s)
{
    s->list.timer = loop_timer_new(s->loop, on_due, s);
    random_fill(NULL, &s->list.print_seed, sizeof(s->list.print_seed));
    return s->list.timer != NULL;
}

void mcp_list_fini(struct mcp_session *s)
{
    if (s->list.timer != NULL) /* else nothing has begun: there was no memory for it */
        mcp_list_abandon(s);
    loop_timer_free(s->list.timer);
    buf_fini(&s->list.drops);
    buf_fini(&s->list.drops_logged);
}
