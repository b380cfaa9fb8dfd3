/* mcp_hub_fixture.h -- a hub, and a worker that asks it.
 *
 * The test's own thread is the worker. Messages between two threads keep their order:
 * what a test has started has arrived at the hub when play() returns. */
#ifndef ANTIPHON_TESTS_UNIT_MCP_HUB_FIXTURE_H
#define ANTIPHON_TESTS_UNIT_MCP_HUB_FIXTURE_H

#include "lib/send_once.h"
#include "lib/test.h"

#include <sched.h>
#include <unistd.h>

#include "mcp/hub/mcp_hub_internal.h"
#include "unit/mcp_config_fixture.h"

/* Only the main thread can fail a test and go on. */
#define MUST(condition) ((condition) ? (void)0 : abort())

/* ---- the hub and its worker */

struct hub_fixture {
    struct mcp_hub_conf conf;
    struct listing listing; /* the file, newest */
    struct mcp_hub *hub;
    struct loop *loop;
};

static struct hub_fixture hfx;

enum { HANG_S = 120 };

static inline int hub_setup(void **state)
{
    struct err e;

    (void)state;
    hfx = (struct hub_fixture){.conf = {.verify_tls = true,
                                        .remote_timeout_ms = 60000,
                                        .remote_idle_ms = 60000,
                                        .call_timeout_ms = 5000,
                                        .remote_message_bytes = 1 << 20,
                                        .remote_result_bytes = 1 << 10,
                                        .max_remote = 4}};
    hfx.loop = loop_new(&e);
    (void)alarm(HANG_S);
    return hfx.loop == NULL ? -1 : 0;
}

static inline int hub_teardown(void **state)
{
    (void)state;
    assert_int_equal(loop_n_expected(hfx.loop), 0);
    assert_true(mcp_hub_free(hfx.hub));
    listing_end(&hfx.listing);
    loop_free(hfx.loop);
    (void)alarm(0);
    return 0;
}

#define HUB_UNTIL(condition)                                                                       \
    while (!(condition))                                                                           \
    (void)uv_run(loop_uv(hfx.loop), UV_RUN_ONCE)

static inline struct mcp_config *hub_file(const char *servers)
{
    struct buf text = {0};

    listing_end(&hfx.listing);
    buf_c(&text, "{\"mcpServers\":{");
    buf_c(&text, servers);
    buf_c(&text, "}}");
    hfx.listing = (struct listing){.file = buf_cstr(&text)};
    listing_parse(&hfx.listing);
    assert_non_null(hfx.listing.table);
    hfx.listing.file = NULL;
    buf_fini(&text);
    return hfx.listing.table;
}

/* NULL: without a file. */
static inline void hub_open(const char *servers)
{
    struct err e;

    hfx.conf.servers = servers == NULL ? NULL : hub_file(servers);
    hfx.hub = mcp_hub_new(&hfx.conf, &e);
    if (hfx.hub == NULL)
        fail_msg("%s", e.msg);
}

static inline void hub_reload(const char *servers)
{
    mcp_hub_reload(hfx.hub, hub_file(servers));
}

/* ---- on the hub's thread */

struct play {
    void (*fn)(void *arg);
    void *arg;
    uv_sem_t done;
};

static inline void play_run(void *arg)
{
    struct play *p = arg;

    p->fn(p->arg);
    uv_sem_post(&p->done);
}

/* Runs it there and waits. */
static inline void play(void (*fn)(void *arg), void *arg)
{
    struct play p = {.fn = fn, .arg = arg};

    assert_int_equal(uv_sem_init(&p.done, 0), 0);
    assert_int_equal(hub_wake(hfx.hub, NULL), 0);
    post_once(hfx.hub->loop, play_run, &p);
    uv_sem_wait(&p.done);
    uv_sem_destroy(&p.done);
}

static inline void play_nothing(void *arg)
{
    (void)arg;
}

/* Between two visits the loop runs what was deferred; some of that defers again. */
static inline void play_settle(void)
{
    enum { VISITS = 4 };

    for (unsigned i = 0; i < VISITS; i++)
        play(play_nothing, NULL);
}

/* ---- tasks and what they report */

struct told {
    unsigned n;
    struct mcp_catalogue *tools;
    bool is_failed;
    struct buf output, error, error_object;
};

static inline void told_fini(struct told *t)
{
    mcp_catalogue_unref(t->tools);
    buf_fini(&t->output);
    buf_fini(&t->error);
    buf_fini(&t->error_object);
}

static inline void on_told(void *arg, const struct mcp_outcome *outcome)
{
    struct told *t = arg;

    t->n++;
    t->is_failed = outcome->is_failed;
    assert_int_equal(outcome->is_failed, !str_is_none(outcome->error));
    assert_int_equal(outcome->is_failed, !str_is_none(outcome->error_object));
    buf_append(&t->output, outcome->output);
    buf_append(&t->error, outcome->error);
    buf_append(&t->error_object, outcome->error_object);
}

static inline void on_tools_told(void *arg, const struct mcp_failure *failure,
                                 struct mcp_catalogue *tools)
{
    struct told *t = arg;

    t->n++;
    t->tools = tools;
    t->is_failed = failure != NULL;
    assert_int_equal(failure == NULL, tools != NULL);
    if (failure != NULL)
        mcp_failure_text(failure, &t->error);
}

/* Calls tool "a" of some catalogue that the task alone keeps. */
static inline struct mcp_task *call_tool(const struct mcp_hub_call *with, const char *arguments,
                                         struct told *t)
{
    static const struct mcp_done_handler handler = {on_told};
    struct mcp_hub_call call = *with;
    struct mcp_task *task;
    struct err e;

    call.catalogue =
        mcp_catalogue_from_item(STR("any"), STR("[{\"name\":\"a\",\"input_schema\":{}}]"));
    call.tool = &call.catalogue->tools[0];
    call.arguments = str_from_c(arguments);
    task = mcp_hub_call(hfx.hub, hfx.loop, &call, &handler, t, &e);
    mcp_catalogue_unref(call.catalogue);
    assert_non_null(task);
    return task;
}

static inline struct mcp_task *call_server(const char *label, const char *arguments, struct told *t)
{
    return call_tool(&(struct mcp_hub_call){.label = str_from_c(label)}, arguments, t);
}

static inline void assert_failed(const struct told *t, const char *error)
{
    assert_int_equal(t->n, 1);
    assert_true(t->is_failed);
    assert_str_c(buf_str(&t->error), error);
    assert_int_equal(t->output.len, 0);
}

static inline void assert_output(const struct told *t, const char *output)
{
    assert_int_equal(t->n, 1);
    assert_false(t->is_failed);
    assert_str_c(buf_str(&t->output), output);
}

/* Waits for the report. */
static inline void until_failed(struct told *t, const char *error)
{
    HUB_UNTIL(t->n > 0);
    assert_failed(t, error);
}

static inline void until_output(struct told *t, const char *output)
{
    HUB_UNTIL(t->n > 0);
    assert_output(t, output);
}

#endif
