/* sandbox_fixture.h -- a hub with real sandboxes, and a worker that asks it.
 *
 * The test's own thread is the worker. When a test ends, nothing may be left: no process, no
 * zombie, no descriptor. */
#ifndef ANTIPHON_TESTS_UNIT_SANDBOX_FIXTURE_H
#define ANTIPHON_TESTS_UNIT_SANDBOX_FIXTURE_H

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "lib/child_fixture.h"
#include "sandbox/sandbox.h"

struct sandbox_fixture {
    struct sandbox_conf conf;
    struct sandbox_hub *hub;
    struct loop *loop;
    size_t n_descriptors;
};

static struct sandbox_fixture bfx;

enum { HANG_S = 240, LONG_MS = 60000 };

#define MIB ((size_t)1024 * 1024)

static inline int sandbox_setup(void **state)
{
    static const char *const env[] = {"PATH=/usr/local/bin:/usr/bin:/bin", NULL};

    (void)state;
    (void)signal(SIGPIPE, SIG_IGN);
    (void)alarm(HANG_S);
    bfx = (struct sandbox_fixture){.conf = {.jail = {.python = "python3",
                                                     .env = env,
                                                     .user = "nobody",
                                                     .cgroup = JAIL_CGROUP_AUTO,
                                                     .disk_bytes = 16 * MIB,
                                                     .max_processes = 64,
                                                     .cpu_percent = 100},
                                            .run_timeout_ms = LONG_MS,
                                            .idle_ms = LONG_MS,
                                            .memory_bytes = 512 * MIB,
                                            .output_bytes = 4096,
                                            .image_bytes = MIB,
                                            .file_bytes = MIB,
                                            .max_containers = 4,
                                            .max_per_owner = 3}};
    bfx.loop = loop_new(NULL);
    bfx.n_descriptors = count_descriptors();
    return bfx.loop == NULL ? -1 : 0;
}

static inline void hub_close(void)
{
    assert_int_equal(loop_n_expected(bfx.loop), 0);
    assert_true(sandbox_hub_free(bfx.hub));
    bfx.hub = NULL;
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
    assert_int_equal(count_descriptors(), bfx.n_descriptors);
}

static inline int sandbox_teardown(void **state)
{
    (void)state;
    hub_close();
    loop_free(bfx.loop);
    (void)alarm(0);
    return 0;
}

#define SANDBOX_TEST(test) cmocka_unit_test_setup_teardown(test, sandbox_setup, sandbox_teardown)

#define SANDBOX_UNTIL(condition)                                                                   \
    while (!(condition))                                                                           \
    (void)uv_run(loop_uv(bfx.loop), UV_RUN_ONCE)

static inline void hub_open(void)
{
    struct err e = {.msg = ""};

    bfx.hub = sandbox_hub_new(&bfx.conf, &e);
    if (bfx.hub == NULL)
        fail_msg("%s", e.msg);
}

/* ---- tasks and what they report */

struct told {
    unsigned n;
    enum sandbox_failure failure;
    bool is_alive, is_raised, has_value;
    size_t n_images, n_files, n_containers;
    struct buf message, logs, value, content;
    struct buf paths, file_ids, ids;    /* each with a | behind it */
    struct sandbox_container container; /* the first; without texts */
};

static inline void told_fini(struct told *t)
{
    struct buf *const texts[] = {&t->message, &t->logs,     &t->value, &t->content,
                                 &t->paths,   &t->file_ids, &t->ids};

    for (size_t i = 0; i < COUNT_OF(texts); i++)
        buf_fini(texts[i]);
    *t = (struct told){.n = 0};
}

static inline void note(struct buf *to, str text)
{
    buf_append(to, text);
    buf_char(to, '|');
}

static inline void on_told(void *arg, const struct sandbox_outcome *o)
{
    struct told *t = arg;

    t->n++;
    t->failure = o->failure;
    t->is_alive = o->is_alive;
    t->is_raised = o->is_raised;
    t->has_value = !str_is_none(o->value);
    t->n_images = o->n_images;
    t->n_files = o->n_files;
    t->n_containers = o->n_containers;
    assert_true(o->failure == SANDBOX_OK || o->message.len > 0);
    buf_append(&t->message, o->message);
    buf_append(&t->logs, o->logs);
    buf_append(&t->value, o->value);
    buf_append(&t->content, o->content);
    for (size_t i = 0; i < o->n_files; i++) {
        note(&t->paths, o->files[i].path);
        note(&t->file_ids, o->files[i].id);
    }
    for (size_t i = 0; i < o->n_containers; i++)
        note(&t->ids, o->containers[i].id);
    if (o->n_containers > 0)
        t->container = o->containers[0];
}

static inline struct sandbox_task *ask(const struct sandbox_request *request, struct told *t)
{
    static const struct sandbox_handler handler = {on_told};
    struct err e = {.msg = ""};
    struct sandbox_task *task = sandbox_start(bfx.hub, bfx.loop, request, &handler, t, &e);

    if (task == NULL)
        fail_msg("%s", e.msg);
    return task;
}

/* Asks and waits. What was told before is forgotten. */
static inline enum sandbox_failure answer(const struct sandbox_request *request, struct told *t)
{
    told_fini(t);
    (void)ask(request, t);
    SANDBOX_UNTIL(t->n > 0);
    return t->failure;
}

/* A request of owner "me" that runs code, and makes its container if need be. */
static inline struct sandbox_request code_in(const char *container_id, const char *code)
{
    return (struct sandbox_request){.op = SANDBOX_RUN,
                                    .owner = STR("me"),
                                    .container_id = str_from_c(container_id),
                                    .may_create = true,
                                    .code = str_from_c(code)};
}

static inline enum sandbox_failure run(const char *container_id, const char *code, struct told *t)
{
    const struct sandbox_request request = code_in(container_id, code);

    return answer(&request, t);
}

static inline enum sandbox_failure do_to(enum sandbox_op op, const char *container_id,
                                         struct told *t)
{
    const struct sandbox_request request = {
        .op = op, .owner = STR("me"), .container_id = str_from_c(container_id)};

    return answer(&request, t);
}

#define assert_failure(got, expected, t)                                                           \
    do {                                                                                           \
        if ((got) != (expected))                                                                   \
            fail_msg("failure %d: %.*s %.*s", (int)(t)->failure, STR_ARG(buf_str(&(t)->message)),  \
                     STR_ARG(buf_str(&(t)->logs)));                                                \
    } while (0)

/* It runs to its end, and prints and gives this. */
static inline void assert_run(const char *container_id, const char *code, const char *logs,
                              const char *value)
{
    struct told t = {.n = 0};

    assert_failure(run(container_id, code, &t), SANDBOX_OK, &t);
    assert_str_c(buf_str(&t.logs), logs);
    assert_int_equal(t.has_value, value != NULL);
    if (value != NULL)
        assert_str_c(buf_str(&t.value), value);
    told_fini(&t);
}

#endif
