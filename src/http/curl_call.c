/* curl_call.c -- one call as libcurl sees it: URL, options, callbacks, errors.
 *
 * The request body is handed over through a read callback and not as a pointer:
 * a cancelled call may have to wait for libcurl to return before it can be
 * removed, and by then the caller's bytes may be gone. */
#include "http/curl_call.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "http/curl_guard.h"
#include "http/http_url.h"

enum {
    UPLOAD_BUFFER_BYTES = 16 * 1024,           /* libcurl keeps one for the whole of each call */
    NO_CONNECT_LIMIT_MS = 24 * 60 * 60 * 1000, /* 0 would be libcurl's own five minutes */
};

/* --- the answer comes in -------------------------------------------------------- */

/* Fills out with the fields of the head, and returns how many there are: lines
 * without a name (also continued ones) are left out. */
static size_t head_fields(struct curl_call *call, struct http_header *out)
{
    char *p = call->head.p;
    size_t n = 0;

    for (size_t i = 0; i < call->n_lines; i++) {
        str line = str_from_c(p);
        size_t colon = str_find_char(line, ':');

        if (colon > 0 && colon < line.len && line.p[0] != ' ' && line.p[0] != '\t') {
            str_lower(p, colon);
            out[n++] = (struct http_header){str_trim(str_from(p, colon)),
                                            str_trim(str_skip(line, colon + 1))};
        }
        p += line.len + 1;
    }
    return n;
}

/* Reports the head, unless it is one of 1xx. False when the call cannot go on. */
static bool end_head(struct curl_call *call)
{
    struct http_header *fields;
    long status = 0;

    (void)curl_easy_getinfo(call->easy, CURLINFO_RESPONSE_CODE, &status);
    if (status >= 100 && status < 200)
        return true; /* the final one follows */
    if (buf_failed(&call->head))
        return false;
    fields = calloc(call->n_lines + 1, sizeof(*fields));
    if (fields == NULL)
        return false;
    call_on_head(&call->call, (int)status, fields, head_fields(call, fields));
    free(fields);
    buf_fini(&call->head);
    return !call->cancelled;
}

/* libcurl gives whole lines: of each 1xx answer, the final one, and trailers. */
static size_t on_header_line(char *p, size_t size, size_t n, void *arg)
{
    struct curl_call *call = arg;
    str line = str_trim(str_from(p, size * n));

    call->head_bytes += size * n;
    if (call->cancelled || call->head_bytes > CALL_MAX_HEAD_BYTES)
        return 0;
    if (call->call.head_done) /* nothing of ours uses a trailer, but libcurl keeps all of them */
        return size * n;
    if (line.len == 0)
        return end_head(call) ? size * n : 0;
    if (str_starts_with(line, STR("HTTP/"))) {
        buf_reset(&call->head);
        call->n_lines = 0;
        return size * n;
    }
    buf_append(&call->head, line);
    buf_char(&call->head, '\0');
    call->n_lines++;
    return buf_failed(&call->head) ? 0 : size * n;
}

/* While the caller has paused, libcurl is asked to pause as well and to keep
 * these bytes. So at most one read of the socket is ever kept back. */
static size_t on_body_bytes(char *p, size_t size, size_t n, void *arg)
{
    struct curl_call *call = arg;

    if (call->cancelled)
        return 0;
    if (call->call.paused) {
        call->held = true;
        return CURL_WRITEFUNC_PAUSE;
    }
    call_on_body(&call->call, str_from(p, size * n));
    return call->cancelled ? 0 : size * n;
}

/* --- the request goes out --------------------------------------------------------- */

static size_t on_body_wanted(char *p, size_t size, size_t n, void *arg)
{
    struct curl_call *call = arg;
    str rest;

    if (call->cancelled)
        return CURL_READFUNC_ABORT;
    rest = str_skip(call->body, call->body_sent);
    if (rest.len > size * n)
        rest.len = size * n;
    if (rest.len > 0)
        memcpy(p, rest.p, rest.len);
    call->body_sent += rest.len;
    return rest.len;
}

/* A kept connection turned out dead: libcurl sends again on a new one. */
static int on_rewind(void *arg, curl_off_t offset, int origin)
{
    struct curl_call *call = arg;

    if (call->cancelled || origin != SEEK_SET || offset < 0)
        return CURL_SEEKFUNC_FAIL;
    call->body_sent = (size_t)offset;
    return CURL_SEEKFUNC_OK;
}

/* --- setting up ------------------------------------------------------------------- */

static bool is_http_url(CURLU *url)
{
    char *scheme = NULL;
    bool is = curl_url_get(url, CURLUPART_SCHEME, &scheme, 0) == CURLUE_OK &&
              (strcmp(scheme, "http") == 0 || strcmp(scheme, "https") == 0);

    curl_free(scheme);
    return is;
}

static int url_setup(struct curl_call *call, const char *url, struct err *reterr)
{
    struct buf full = {0};
    const char *target;
    str path;
    bool is_unix = http_url_is_unix(url, &path, &target);
    int rc = 0;

    if (is_unix) {
        call->socket_path = strndup(path.p, path.len);
        buf_c(&full, "http://localhost");
        buf_c(&full, target);
    } else {
        buf_c(&full, url);
    }
    call->url = curl_url();
    if (call->url == NULL || (is_unix && call->socket_path == NULL) ||
        curl_url_set(call->url, CURLUPART_URL, buf_cstr(&full), CURLU_PATH_AS_IS) != CURLUE_OK ||
        !is_http_url(call->url)) {
        err_set(reterr, ERR_INTERNAL,
                "The upstream URL is not of the form http://, https:// or unix:/path.");
        rc = -1;
    }
    buf_fini(&full);
    return rc;
}

static bool header_add(struct curl_call *call, const char *line)
{
    struct curl_slist *longer = curl_slist_append(call->headers, line);

    if (longer == NULL)
        return false;
    call->headers = longer;
    return true;
}

/* For libcurl "Name;" is an empty field, and "Name:" one that is not sent. */
static bool header_copy(struct curl_call *call, const struct http_header *h)
{
    struct buf line = {0};
    bool ok;

    (void)buf_reserve(&line, h->name.len + h->value.len + 3); /* never moves: no copy stays */
    buf_append(&line, h->name);
    buf_c(&line, h->value.len == 0 ? ";" : ": ");
    buf_append(&line, h->value);
    ok = header_add(call, buf_cstr(&line)) && !buf_failed(&line);
    if (line.p != NULL)
        explicit_bzero(line.p, line.len);
    buf_fini(&line);
    return ok;
}

static bool headers_setup(struct curl_call *call, const struct http_call_conf *conf)
{
    bool has_type = false;

    for (size_t i = 0; i < conf->n_headers; i++) {
        const struct http_header *h = &conf->headers[i];

        has_type = has_type || str_eq_nocase(h->name, STR("content-type"));
        if (!header_copy(call, h))
            return false;
    }
    /* Without "Expect:" libcurl waits a second for a server that ignores it. */
    return header_add(call, "Expect:") && (has_type || header_add(call, "Content-Type:"));
}

static const struct {
    CURLoption option;
    long value;
} fixed_options[] = {
    {CURLOPT_NOSIGNAL, 1},
    {CURLOPT_QUICK_EXIT, 1}, /* a cancelled call does not wait for its name lookup */
    {CURLOPT_FOLLOWLOCATION, 0},
    {CURLOPT_TCP_NODELAY, 1},
    {CURLOPT_TCP_KEEPALIVE, 1},
    {CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1},
    {CURLOPT_UPLOAD_BUFFERSIZE, UPLOAD_BUFFER_BYTES},
    {CURLOPT_SUPPRESS_CONNECT_HEADERS, 1},
    {CURLOPT_HTTP09_ALLOWED, 0},
    {CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2}, /* or later */
};

static CURLcode set_fixed_options(CURL *easy)
{
    CURLcode rc = curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");

    for (size_t i = 0; i < COUNT_OF(fixed_options) && rc == CURLE_OK; i++)
        rc = curl_easy_setopt(easy, fixed_options[i].option, fixed_options[i].value);
    return rc;
}

static CURLcode set_callbacks(struct curl_call *call)
{
    CURL *easy = call->easy;

    /* Of these only a misspelt option can fail. */
    (void)curl_easy_setopt(easy, CURLOPT_PRIVATE, call);
    (void)curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, call->error_text);
    (void)curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header_line);
    (void)curl_easy_setopt(easy, CURLOPT_HEADERDATA, call);
    (void)curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body_bytes);
    (void)curl_easy_setopt(easy, CURLOPT_WRITEDATA, call);
    (void)curl_easy_setopt(easy, CURLOPT_READFUNCTION, on_body_wanted);
    (void)curl_easy_setopt(easy, CURLOPT_READDATA, call);
    (void)curl_easy_setopt(easy, CURLOPT_SEEKFUNCTION, on_rewind);
    return curl_easy_setopt(easy, CURLOPT_SEEKDATA, call);
}

/* POST is libcurl's word for "has a body". */
static CURLcode set_method(struct curl_call *call, const struct http_call_conf *conf)
{
    CURL *easy = call->easy;
    const char *method = conf->method;
    CURLcode rc = CURLE_OK;

    if (call_sends_body(conf)) {
        (void)curl_easy_setopt(easy, CURLOPT_POST, 1L);
        rc = curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)call->body.len);
    } else if (strcmp(method, "HEAD") == 0) {
        (void)curl_easy_setopt(easy, CURLOPT_NOBODY, 1L);
    } else {
        (void)curl_easy_setopt(easy, CURLOPT_HTTPGET, 1L);
    }
    if (rc == CURLE_OK && conf->is_unique)
        rc = curl_easy_setopt(easy, CURLOPT_FRESH_CONNECT, 1L);
    if (rc == CURLE_OK && strcmp(method, "POST") != 0)
        rc = curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, method);
    return rc;
}

static CURLcode set_target(struct curl_call *call, const struct http_client_conf *conf)
{
    CURL *easy = call->easy;
    bool is_guarded = conf->may_connect != NULL, verify = conf->verify_tls || is_guarded;
    const char *proxy = conf->proxy == NULL || is_guarded ? "" : conf->proxy;
    CURLcode rc = curl_easy_setopt(easy, CURLOPT_PROXY, proxy);

    if (rc == CURLE_OK && call->socket_path != NULL)
        rc = curl_easy_setopt(easy, CURLOPT_UNIX_SOCKET_PATH, call->socket_path);
    if (rc == CURLE_OK && conf->ca_file != NULL)
        rc = curl_easy_setopt(easy, CURLOPT_CAINFO, conf->ca_file);
    if (rc == CURLE_OK && conf->client_cert != NULL)
        rc = curl_easy_setopt(easy, CURLOPT_SSLCERT, conf->client_cert);
    if (rc == CURLE_OK && conf->client_key != NULL)
        rc = curl_easy_setopt(easy, CURLOPT_SSLKEY, conf->client_key);
    (void)curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, verify ? 1L : 0L);
    (void)curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, verify ? 2L : 0L);
    (void)curl_easy_setopt(easy, CURLOPT_CURLU, call->url);
    (void)curl_easy_setopt(easy, CURLOPT_HTTPHEADER, call->headers);
    if (rc == CURLE_OK && is_guarded)
        rc = curl_guard_setup(call, conf->may_connect);
    return rc;
}

static CURLcode set_connect_limit(CURL *easy, uint64_t limit_ms)
{
    if (limit_ms == 0)
        limit_ms = NO_CONNECT_LIMIT_MS;
    return curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)limit_ms);
}

int curl_call_setup(struct curl_call *call, const struct http_client_conf *client_conf,
                    const struct http_call_conf *conf, struct err *reterr)
{
    buf_init(&call->head, CALL_MAX_HEAD_BYTES);
    call->body = conf->body;
    if (url_setup(call, conf->url, reterr) == -1)
        return -1;
    if (!headers_setup(call, conf))
        return err_set_no_memory(reterr);
    call->easy = curl_easy_init();
    if (call->easy == NULL || set_fixed_options(call->easy) != CURLE_OK ||
        set_callbacks(call) != CURLE_OK || set_method(call, conf) != CURLE_OK ||
        set_target(call, client_conf) != CURLE_OK ||
        set_connect_limit(call->easy, conf->connect_timeout_ms) != CURLE_OK) {
        err_set(reterr, ERR_INTERNAL, "The call to the upstream server cannot be set up.");
        return -1;
    }
    return 0;
}

void curl_call_fini(struct curl_call *call)
{
    curl_easy_cleanup(call->easy);
    curl_url_cleanup(call->url);
    for (struct curl_slist *h = call->headers; h != NULL; h = h->next)
        explicit_bzero(h->data, strlen(h->data)); /* credentials are among them */
    curl_slist_free_all(call->headers);
    curl_slist_free_all(call->pins);
    curl_free(call->host);
    free(call->socket_path);
    buf_fini(&call->head);
}

/* --- what went wrong ---------------------------------------------------------------- */

void curl_call_where(const struct curl_call *call, char out[CALL_WHERE_BYTES])
{
    char *host = NULL, *port = NULL;

    if (call->socket_path != NULL) {
        (void)snprintf(out, CALL_WHERE_BYTES, "%s", call->socket_path);
        return;
    }
    (void)curl_url_get(call->url, CURLUPART_HOST, &host, 0);
    (void)curl_url_get(call->url, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT);
    (void)snprintf(out, CALL_WHERE_BYTES, "%s:%s", host == NULL ? "?" : host,
                   port == NULL ? "?" : port);
    curl_free(host);
    curl_free(port);
}

static const struct {
    CURLcode result;
    const char *cause;
} causes[] = {
    {CURLE_COULDNT_RESOLVE_HOST, CAUSE_NO_NAME},
    {CURLE_COULDNT_RESOLVE_PROXY, "the name of the proxy cannot be resolved"},
    {CURLE_GOT_NOTHING, CAUSE_NO_ANSWER},
    {CURLE_SEND_ERROR, CAUSE_CLOSED},
    {CURLE_RECV_ERROR, CAUSE_CLOSED},
    {CURLE_PARTIAL_FILE, CAUSE_CUT},
    {CURLE_UNSUPPORTED_PROTOCOL, CAUSE_NOT_HTTP},
    {CURLE_WEIRD_SERVER_REPLY, CAUSE_NOT_HTTP},
    {CURLE_WRITE_ERROR, "its answer is too large to be read"},
    {CURLE_OUT_OF_MEMORY, CAUSE_LARGE_HEAD},
};

/* libcurl's own words serve for the rest, such as those about certificates. */
static const char *cause_of(const struct curl_call *call, CURLcode result)
{
    for (size_t i = 0; i < COUNT_OF(causes); i++) {
        if (causes[i].result == result)
            return causes[i].cause;
    }
    return call->error_text[0] != '\0' ? call->error_text : curl_easy_strerror(result);
}

void curl_call_describe(const struct curl_call *call, CURLcode result, struct err *ret)
{
    char text[CALL_CAUSE_BYTES];
    long os_error = 0;

    (void)curl_easy_getinfo(call->easy, CURLINFO_OS_ERRNO, &os_error);
    if (result == CURLE_OPERATION_TIMEDOUT) /* libcurl watches over connecting only */
        call_describe_timeout(&call->call, CALL_NOT_CONNECTED, call->call.connect_timeout_ms, ret);
    else if (result == CURLE_COULDNT_CONNECT && os_error != 0)
        call_describe(&call->call, call_cause_of_errno((int)os_error, text), ret);
    else
        call_describe(&call->call, cause_of(call, result), ret);
}
