/* otlp_post.c -- libcurl with one handle, whose connection is kept.
 *
 * The multi interface is used for one thing: waiting for it can be ended by another thread. */
#include "trace/export/otlp_post.h"

#include <curl/curl.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "base/version.h"

enum { MAX_ANSWER_BYTES = 64 * 1024, LOOK_MS = 1000 };

struct otlp_post {
    CURLM *multi;
    CURL *easy;
    struct curl_slist *headers;
    struct buf *body; /* of the answer at hand */
    char error[CURL_ERROR_SIZE];
};

static size_t keep_body(char *bytes, size_t size, size_t n, void *arg)
{
    struct otlp_post *p = arg;

    if (p->body->len + size * n <= MAX_ANSWER_BYTES)
        buf_append(p->body, str_from(bytes, size * n));
    return size * n;
}

/* Children inherit nothing. */
static curl_socket_t open_socket(void *arg, curlsocktype purpose, struct curl_sockaddr *to)
{
    (void)arg;
    (void)purpose;
    return socket(to->family, to->socktype | SOCK_CLOEXEC, to->protocol);
}

static bool add_header(struct otlp_post *p, str name, str value)
{
    struct buf line = {.limit = 0};
    struct curl_slist *headers = NULL;

    buf_append(&line, name);
    buf_c(&line, value.len == 0 ? ";" : ": "); /* how libcurl is told of an empty one */
    buf_append(&line, value);
    if (!buf_failed(&line))
        headers = curl_slist_append(p->headers, buf_cstr(&line));
    if (headers != NULL)
        p->headers = headers;
    buf_fini(&line);
    return headers != NULL;
}

static bool add_headers(struct otlp_post *p, const struct trace_conf *conf)
{
    bool ok = add_header(p, STR("Content-Type"),
                         conf->is_json ? STR("application/json") : STR("application/x-protobuf")) &&
              add_header(p, STR("User-Agent"), STR("antiphon/" ANTIPHON_VERSION));

    if (conf->is_gzip)
        ok = ok && add_header(p, STR("Content-Encoding"), STR("gzip"));
    for (size_t i = 0; i < conf->headers.n; i++)
        ok = ok && add_header(p, conf->headers.list[i].key, conf->headers.list[i].value);
    return ok;
}

static bool set_options(struct otlp_post *p, const struct trace_conf *conf)
{
    CURL *easy = p->easy;
    CURLcode rc = curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");

    (void)curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    /* Who gives a transfer up waits for no name server. */
    (void)curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L);
    (void)curl_easy_setopt(easy, CURLOPT_PROXY, ""); /* also not from the environment */
    (void)curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, p->error);
    (void)curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, keep_body);
    (void)curl_easy_setopt(easy, CURLOPT_WRITEDATA, p);
    (void)curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, open_socket);
    (void)curl_easy_setopt(easy, CURLOPT_POST, 1L);
    (void)curl_easy_setopt(easy, CURLOPT_HTTPHEADER, p->headers);
    if (rc == CURLE_OK)
        rc = curl_easy_setopt(easy, CURLOPT_URL, conf->endpoint);
    if (rc == CURLE_OK && conf->ca_file != NULL)
        rc = curl_easy_setopt(easy, CURLOPT_CAINFO, conf->ca_file);
    if (rc == CURLE_OK && conf->client_cert != NULL)
        rc = curl_easy_setopt(easy, CURLOPT_SSLCERT, conf->client_cert);
    if (rc == CURLE_OK && conf->client_key != NULL)
        rc = curl_easy_setopt(easy, CURLOPT_SSLKEY, conf->client_key);
    return rc == CURLE_OK;
}

struct otlp_post *otlp_post_new(const struct trace_conf *conf)
{
    struct otlp_post *p;

    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
        return NULL;
    p = calloc(1, sizeof(*p));
    if (p == NULL) {
        curl_global_cleanup();
        return NULL;
    }
    p->multi = curl_multi_init();
    p->easy = curl_easy_init();
    if (p->multi == NULL || p->easy == NULL || !add_headers(p, conf) || !set_options(p, conf)) {
        otlp_post_free(p);
        return NULL;
    }
    return p;
}

void otlp_post_free(struct otlp_post *p)
{
    if (p == NULL)
        return;
    curl_easy_cleanup(p->easy);
    if (p->multi != NULL)
        (void)curl_multi_cleanup(p->multi);
    curl_slist_free_all(p->headers);
    free(p);
    curl_global_cleanup();
}

/* ---- sending */

/* Runs the transfer; false when it was given up. */
static bool run_transfer(struct otlp_post *p, uint64_t (*left_ms)(void *arg), void *arg,
                         CURLcode *ret)
{
    int n_running = 1, n_left;

    while (n_running > 0) {
        uint64_t ms;

        if (curl_multi_perform(p->multi, &n_running) != CURLM_OK)
            return false;
        if (n_running == 0)
            break;
        ms = left_ms(arg);
        if (ms == 0)
            return false;
        (void)curl_multi_poll(p->multi, NULL, 0, ms < LOOK_MS ? (int)ms : LOOK_MS, NULL);
    }
    for (CURLMsg *m = curl_multi_info_read(p->multi, &n_left); m != NULL;
         m = curl_multi_info_read(p->multi, &n_left)) {
        if (m->msg == CURLMSG_DONE)
            *ret = m->data.result;
    }
    return true;
}

static void describe_failure(const struct otlp_post *p, CURLcode rc, struct otlp_answer *ret)
{
    (void)snprintf(ret->why, sizeof(ret->why), "%s",
                   p->error[0] != '\0' ? p->error : curl_easy_strerror(rc));
}

void otlp_post_send(struct otlp_post *p, str body, uint64_t timeout_ms,
                    uint64_t (*left_ms)(void *arg), void *arg, struct otlp_answer *ret)
{
    CURLcode rc = CURLE_OPERATION_TIMEDOUT;
    curl_off_t retry_after_s = 0;
    long status = 0;

    *ret = (struct otlp_answer){.status = 0};
    p->body = &ret->body;
    p->error[0] = '\0';
    (void)curl_easy_setopt(p->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)body.len);
    (void)curl_easy_setopt(p->easy, CURLOPT_POSTFIELDS, body.p);
    (void)curl_easy_setopt(p->easy, CURLOPT_TIMEOUT_MS, (long)timeout_ms);
    if (curl_multi_add_handle(p->multi, p->easy) != CURLM_OK) {
        describe_failure(p, CURLE_OUT_OF_MEMORY, ret);
        return;
    }
    if (!run_transfer(p, left_ms, arg, &rc))
        rc = CURLE_OPERATION_TIMEDOUT;
    if (rc == CURLE_OK) {
        (void)curl_easy_getinfo(p->easy, CURLINFO_RESPONSE_CODE, &status);
        (void)curl_easy_getinfo(p->easy, CURLINFO_RETRY_AFTER, &retry_after_s);
    } else {
        describe_failure(p, rc, ret);
    }
    (void)curl_multi_remove_handle(p->multi, p->easy);
    p->body = NULL;
    ret->status = (int)status;
    ret->retry_after_s = retry_after_s > 0 ? (uint64_t)retry_after_s : 0;
}

void otlp_post_wait(struct otlp_post *p, uint64_t ms)
{
    (void)curl_multi_poll(p->multi, NULL, 0, ms > INT32_MAX ? INT32_MAX : (int)ms, NULL);
}

void otlp_post_wake(struct otlp_post *p)
{
    (void)curl_multi_wakeup(p->multi);
}
