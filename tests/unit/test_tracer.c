/* test_tracer.c -- the queue of spans and its thread, in front of a receiver that is not there: whatever is
 * given to it is counted in one place. tests/system/traces.test.mjs has one that is. */
#include "trace/export/tracer.h"

#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

#include "lib/failing_malloc.h"
#include "lib/test.h"

enum { N_THREADS = 4, N_SPANS = 2000 };

static struct trace_conf dead(void)
{
    return (struct trace_conf){
        .is_on = true,
        .endpoint = "http://127.0.0.1:1/v1/traces",
        .limits = {.attributes = 8, .value_bytes = 100},
        .timeout_ms = 1000,
        .max_queue = 64,
        .max_batch = 16,
        .schedule_delay_ms = 5,
        .export_timeout_ms = 1,
    };
}

static struct span *new_span(void)
{
    const struct span_limits limits = {.value_bytes = 100};
    struct span *s = span_new(&limits, SPAN_SERVER, STR("n"), STR_NONE);

    span_text(s, "key", STR("value"));
    return s;
}

/* What has come to all spans since then. */
static struct trace_counts since(const struct trace_counts *then)
{
    struct trace_counts now = trace_counts();

    now.exported -= then->exported;
    now.dropped_queue -= then->dropped_queue;
    now.dropped_export -= then->dropped_export;
    now.dropped_shutdown -= then->dropped_shutdown;
    return now;
}

static void what_is_left_at_the_end_is_counted(void **state)
{
    struct trace_conf conf = dead();
    const struct trace_counts then = trace_counts();
    struct trace_counts got;
    struct tracer *t;
    struct err e;

    (void)state;
    conf.schedule_delay_ms = 100000;
    t = tracer_open(&conf, &e);
    assert_non_null(t);
    for (int i = 0; i < 10; i++)
        tracer_take(t, new_span());
    tracer_take(t, NULL);
    assert_int_equal(trace_counts().queue_length, 10);
    assert_true(trace_counts().queue_bytes > 10 * sizeof(struct span));
    tracer_close(t, 1000);
    got = since(&then);
    assert_int_equal(got.dropped_shutdown, 10);
    assert_int_equal(got.dropped_queue + got.dropped_export + got.exported, 0);
    assert_int_equal(got.queue_length, 0);
    assert_int_equal(got.queue_bytes, 0);
}

static void a_full_queue_takes_no_more(void **state)
{
    struct trace_conf conf = dead();
    const struct trace_counts then = trace_counts();
    struct tracer *t;
    struct err e;

    (void)state;
    conf.schedule_delay_ms = 100000;
    conf.max_batch = 1000;
    t = tracer_open(&conf, &e);
    for (unsigned i = 0; i < conf.max_queue + 7; i++)
        tracer_take(t, new_span());
    assert_int_equal(since(&then).dropped_queue, 7);
    tracer_close(t, 0);
    assert_int_equal(since(&then).dropped_shutdown, conf.max_queue);
}

static void a_queue_is_full_by_its_bytes_too(void **state)
{
    const struct span_limits none = {.value_bytes = 0};
    struct trace_conf conf = dead();
    const struct trace_counts then = trace_counts();
    struct buf large = {.limit = 0};
    struct tracer *t;
    struct err e;

    (void)state;
    conf.schedule_delay_ms = 100000;
    while (large.len < 3 * 1024 * 1024)
        buf_c(&large, "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef");
    t = tracer_open(&conf, &e);
    for (unsigned i = 0; i < 8; i++) {
        struct span *s = span_new(&none, SPAN_SERVER, STR("n"), STR_NONE);

        span_text(s, "large", buf_str(&large));
        tracer_take(t, s);
    }
    assert_true(since(&then).dropped_queue >= 3);
    assert_true(trace_counts().queue_bytes <= TRACER_QUEUE_BYTES);
    tracer_close(t, 0);
    buf_fini(&large);
}

/* ---- many threads */

static void give_spans(void *arg)
{
    for (int i = 0; i < N_SPANS; i++)
        tracer_take(arg, new_span());
}

static void every_span_of_every_thread_is_counted_once(void **state)
{
    const struct trace_conf conf = dead();
    const struct trace_counts then = trace_counts();
    uv_thread_t threads[N_THREADS];
    struct trace_counts got;
    struct tracer *t;
    struct err e;

    (void)state;
    t = tracer_open(&conf, &e);
    for (int i = 0; i < N_THREADS; i++)
        assert_int_equal(uv_thread_create(&threads[i], give_spans, t), 0);
    for (int i = 0; i < N_THREADS; i++)
        (void)uv_thread_join(&threads[i]);
    tracer_close(t, 100);
    got = since(&then);
    assert_int_equal(got.exported, 0);
    assert_int_equal(got.dropped_queue + got.dropped_export + got.dropped_shutdown,
                     N_THREADS * N_SPANS);
    assert_int_equal(got.queue_length, 0);
    assert_int_equal(got.queue_bytes, 0);
}

/* A receiver that takes connections and never answers; writes its address. */
static int open_mute_receiver(char *endpoint, size_t size)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t len = sizeof(at);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_int_equal(bind(fd, (struct sockaddr *)&at, len), 0);
    assert_int_equal(listen(fd, 8), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &len), 0);
    (void)snprintf(endpoint, size, "http://127.0.0.1:%d/v1/traces", ntohs(at.sin_port));
    return fd;
}

static void await_empty_queue(void)
{
    const uint64_t until_ns = uv_hrtime() + UINT64_C(20) * 1000000000;

    while (trace_counts().queue_length > 0 && uv_hrtime() < until_ns)
        uv_sleep(1);
    assert_int_equal(trace_counts().queue_length, 0);
}

static void what_comes_during_an_export_is_exported_next(void **state)
{
    struct trace_conf conf = dead();
    char endpoint[64];
    int fd = open_mute_receiver(endpoint, sizeof(endpoint));
    struct tracer *t;
    struct err e;

    (void)state;
    conf.endpoint = endpoint;
    conf.export_timeout_ms = 300;
    t = tracer_open(&conf, &e);
    for (unsigned i = 0; i < conf.max_batch; i++)
        tracer_take(t, new_span());
    await_empty_queue(); /* they are on their way, and nobody answers */
    for (unsigned i = 0; i < 2 * conf.max_batch; i++)
        tracer_take(t, new_span());
    await_empty_queue();
    tracer_close(t, 0);
    (void)close(fd);
}

static void without_memory_it_does_not_start(void **state)
{
    const struct trace_conf conf = dead();

    (void)state;
    for (long n = 0;; n++) {
        struct tracer *t;
        struct err e;
        bool has_failed;

        failing_malloc_begin(n, FAILS_ONCE);
        t = tracer_open(&conf, &e);
        has_failed = failing_malloc_end();
        tracer_close(t, 0);
        if (!has_failed)
            break;
    }
}

static void without_a_tracer_a_span_is_freed(void **state)
{
    (void)state;
    tracer_take(NULL, new_span());
    tracer_close(NULL, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_left_at_the_end_is_counted),
        cmocka_unit_test(a_full_queue_takes_no_more),
        cmocka_unit_test(a_queue_is_full_by_its_bytes_too),
        cmocka_unit_test(every_span_of_every_thread_is_counted_once),
        cmocka_unit_test(what_comes_during_an_export_is_exported_next),
        cmocka_unit_test(without_memory_it_does_not_start),
        cmocka_unit_test(without_a_tracer_a_span_is_freed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
