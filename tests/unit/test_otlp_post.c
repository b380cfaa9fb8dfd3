/* test_otlp_post.c -- how long a receiver that says nothing is waited for, and its name.
 * tests/system/traces.test.mjs has receivers that answer. */
#include "trace/export/otlp_post.h"

#include <netdb.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

#include "lib/test.h"

enum { LOOKS = 20, TIMEOUT_MS = 10000 };

/* ---- a name server that is silent until it is told otherwise */

static uv_sem_t answer, answered;
static atomic_bool is_asked, has_answered;

/* In place of libc's, for libcurl. */
int getaddrinfo(const char *restrict name, const char *restrict service,
                const struct addrinfo *restrict hints, struct addrinfo **restrict ret)
{
    (void)name;
    (void)service;
    (void)hints;
    (void)ret;
    atomic_store(&is_asked, true);
    uv_sem_wait(&answer);
    atomic_store(&has_answered, true);
    uv_sem_post(&answered);
    return EAI_AGAIN;
}

/* ---- */

/* A millisecond is left, for as many looks as are wanted. */
static uint64_t count_look(void *arg)
{
    unsigned *n_looks = arg;

    return ++*n_looks < LOOKS ? 1 : 0;
}

/* Nothing is left once the name server was asked. */
static uint64_t look_for_question(void *arg)
{
    (void)arg;
    return atomic_load(&is_asked) ? 0 : 1;
}

static struct otlp_post *open_post(const struct trace_conf *conf)
{
    struct otlp_post *p = otlp_post_new(conf);

    assert_non_null(p);
    return p;
}

static void a_receiver_is_waited_for_no_longer_than_there_is_time(void **state)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof(at);
    int silent = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct otlp_answer got;
    struct trace_conf conf;
    struct otlp_post *p;
    unsigned n_looks = 0;
    char url[64];

    (void)state;
    assert_int_equal(bind(silent, (const struct sockaddr *)&at, size), 0);
    assert_int_equal(listen(silent, 1), 0);
    assert_int_equal(getsockname(silent, (struct sockaddr *)&at, &size), 0);
    (void)snprintf(url, sizeof(url), "http://127.0.0.1:%d/", ntohs(at.sin_port));
    conf = (struct trace_conf){.endpoint = url};
    p = open_post(&conf);
    otlp_post_send(p, STR("spans"), TIMEOUT_MS, count_look, &n_looks, &got);
    assert_int_equal(n_looks, LOOKS); /* its own timeout was not reached before */
    assert_int_equal(got.status, 0);
    buf_fini(&got.body);
    otlp_post_free(p);
    (void)close(silent);
}

static void a_silent_name_server_is_not_waited_for(void **state)
{
    const struct trace_conf conf = {.endpoint = "http://receiver.invalid/"};
    struct otlp_post *p = open_post(&conf);
    struct otlp_answer got;

    (void)state;
    otlp_post_send(p, STR("spans"), TIMEOUT_MS, look_for_question, NULL, &got);
    assert_int_equal(got.status, 0);
    assert_false(atomic_load(&has_answered));
    buf_fini(&got.body);
    otlp_post_free(p);
    assert_false(atomic_load(&has_answered));
    uv_sem_post(&answer);
    uv_sem_wait(&answered);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_receiver_is_waited_for_no_longer_than_there_is_time),
        cmocka_unit_test(a_silent_name_server_is_not_waited_for),
    };

    (void)uv_sem_init(&answer, 0);
    (void)uv_sem_init(&answered, 0);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
