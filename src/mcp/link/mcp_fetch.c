/* mcp_fetch.c -- from one call of the HTTP client to the next, until an answer is for
 * whoever asked. */
#include "mcp/link/mcp_fetch.h"

#include <stdlib.h>

#include "config/config.h"
#include "ev/log.h"
#include "http/http_client.h"
#include "mcp/proto/mcp_challenge.h"
#include "mcp/proto/mcp_reference.h"

enum { MAX_REDIRECTS = 3, OWN_FIELDS = 2 };

struct mcp_fetch {
    struct mcp_site *site;
    const struct mcp_fetch_handler *handler;
    void *arg;
    struct http_call *call; /* NULL only between two of them */

    const char *method;
    struct buf url, body;
    struct mcp_fields fields;
    uint64_t total_timeout_ms;
    bool is_unique;

    unsigned n_redirects;
    unsigned n_tokens; /* of the site, when the request was sent */
    bool has_new_token;
    struct buf challenge;
};

/* ---- the site */

/* True when there is a token that differs from the one before. */
static bool read_token(struct mcp_site *site)
{
    const char *path = site->conf.server->bearer_token_file;
    struct buf token = {.limit = 0};

    if (path == NULL)
        return false;
    if (!config_read_token(path, &token)) {
        log_msg(LOG_WARN, "MCP server %.*s: no bearer token can be read from %s",
                STR_ARG(site->conf.server->label), path);
        secret_buf_fini(&token);
        return false;
    }
    if (str_eq(buf_str(&token), buf_str(&site->token))) {
        secret_buf_fini(&token);
        return false;
    }
    secret_buf_fini(&site->token);
    site->token = token;
    site->n_tokens++;
    secrets_add(site->conf.secrets, buf_str(&token));
    return true;
}

void mcp_site_init(struct mcp_site *site, struct loop *loop, const struct mcp_link_conf *conf)
{
    *site = (struct mcp_site){.loop = loop, .conf = *conf};
    (void)read_token(site);
}

void mcp_site_set_session(struct mcp_site *site, str id)
{
    struct secrets *s = site->conf.secrets;

    secrets_fini(s);
    *s = (struct secrets){.first = NULL};
    mcp_link_secrets(site->conf.server, s);
    secrets_add(s, buf_str(&site->token));
    secrets_add(s, id);
}

void mcp_site_fini(struct mcp_site *site)
{
    secret_buf_fini(&site->token);
}

/* ---- header fields */

void mcp_fields_add(struct mcp_fields *f, str name, str value)
{
    buf_append(&f->text, name);
    buf_char(&f->text, '\0');
    buf_append(&f->text, value);
    buf_char(&f->text, '\0');
    f->n++;
}

void mcp_fields_add_context(struct mcp_fields *f, const struct mcp_link_message *m)
{
    if (!str_is_none(m->traceparent))
        mcp_fields_add(f, STR("traceparent"), m->traceparent);
    if (!str_is_none(m->tracestate))
        mcp_fields_add(f, STR("tracestate"), m->tracestate);
}

/* Session ids are among the fields. */
static void fields_fini(struct mcp_fields *f)
{
    secret_buf_fini(&f->text);
    f->n = 0;
}

static size_t list_fields(const struct mcp_fields *f, struct http_header *out)
{
    const char *p = f->text.p;

    for (size_t i = 0; i < f->n; i++) {
        out[i].name = str_from_c(p);
        p += out[i].name.len + 1;
        out[i].value = str_from_c(p);
        p += out[i].value.len + 1;
    }
    return f->n;
}

static void write_bearer(const struct mcp_site *site, struct buf *out)
{
    str token = site->conf.server->bearer_token.hidden;

    if (str_is_none(token) && site->token.len > 0)
        token = buf_str(&site->token);
    if (str_is_none(token))
        return;
    buf_append(out, STR("Bearer "));
    buf_append(out, token);
}

/* Lists all header fields of the request; out has room for them. */
static size_t all_fields(const struct mcp_fetch *f, str bearer, struct http_header *out)
{
    const struct mcp_pairs *configured = &f->site->conf.server->headers;
    size_t n = list_fields(&f->fields, out);

    out[n++] = (struct http_header){STR("Accept-Encoding"), STR("identity")};
    if (bearer.len > 0)
        out[n++] = (struct http_header){STR("Authorization"), bearer};
    for (size_t i = 0; i < configured->n; i++) {
        const struct mcp_pair *pair = &configured->items[i];

        if (bearer.len == 0 || !str_eq_nocase(pair->name, STR("Authorization")))
            out[n++] = (struct http_header){pair->name, pair->value.hidden};
    }
    return n;
}

/* ---- calls */

static const struct http_call_handler call_handler;

static int start_call(struct mcp_fetch *f, struct err *reterr)
{
    size_t most = f->fields.n + OWN_FIELDS + f->site->conf.server->headers.n;
    struct http_header *fields = calloc(most, sizeof(*fields));
    struct buf bearer = {.limit = 0};
    struct http_call_conf conf = {.method = f->method,
                                  .url = buf_cstr(&f->url),
                                  .headers = fields,
                                  .body = buf_str(&f->body),
                                  .peer = "MCP server",
                                  .is_unique = f->is_unique,
                                  .connect_timeout_ms = MCP_CONNECT_TIMEOUT_MS,
                                  .total_timeout_ms = f->total_timeout_ms};

    write_bearer(f->site, &bearer);
    f->n_tokens = f->site->n_tokens;
    if (fields == NULL || buf_failed(&f->url) || buf_failed(&f->body) ||
        buf_failed(&f->fields.text) || buf_failed(&bearer)) {
        err_set_no_memory(reterr);
    } else {
        conf.n_headers = all_fields(f, buf_str(&bearer), fields);
        f->call = http_client_start(f->site->conf.client, &conf, &call_handler, f, reterr);
    }
    free(fields);
    secret_buf_fini(&bearer);
    return f->call == NULL ? -1 : 0;
}

static void fetch_free(struct mcp_fetch *f)
{
    buf_fini(&f->url);
    buf_fini(&f->body);
    buf_fini(&f->challenge);
    fields_fini(&f->fields);
    free(f);
}

void mcp_fetch_cancel(struct mcp_fetch *f)
{
    if (f == NULL)
        return;
    http_call_cancel(f->call);
    fetch_free(f);
}

static void end_fetch(struct mcp_fetch *f, const struct mcp_link_failure *failure)
{
    f->handler->on_end(f->arg, failure);
    fetch_free(f);
}

static void send_again(struct mcp_fetch *f)
{
    struct mcp_link_failure failure = {.cause = MCP_FAILED_UNREACHABLE, .was_sent = true};
    struct err e;

    http_call_cancel(f->call);
    f->call = NULL;
    if (start_call(f, &e) == 0)
        return;
    failure.message = str_from_c(e.msg);
    end_fetch(f, &failure);
}

/* ---- the head of an answer */

static str find_header(const struct http_header *headers, size_t n, str name)
{
    for (size_t i = 0; i < n; i++) {
        if (str_eq(headers[i].name, name))
            return headers[i].value;
    }
    return STR_NONE;
}

/* Other redirects may change the method; other statuses are none. */
static bool is_redirect(const struct mcp_fetch *f, int status)
{
    if (status == 307 || status == 308)
        return true;
    return (status == 301 || status == 302) && strcmp(f->method, "POST") != 0;
}

static void refuse_redirect(struct mcp_fetch *f, int status, bool is_hopeless, const char *why)
{
    struct mcp_link_failure failure = {.cause = MCP_FAILED_HTTP,
                                       .http_status = status,
                                       .was_sent = true,
                                       .is_hopeless = is_hopeless,
                                       .message = str_from_c(why)};

    http_call_cancel(f->call); /* its answer is not to be handed on */
    f->call = NULL;
    end_fetch(f, &failure);
}

static void follow_redirect(struct mcp_fetch *f, int status, str location)
{
    struct buf url = {.limit = 0};
    enum mcp_reference to = mcp_reference_resolve(buf_str(&f->url), location, &url);

    if (to == MCP_REFERENCE_OK && f->n_redirects < MAX_REDIRECTS) {
        buf_fini(&f->url);
        f->url = url;
        f->n_redirects++;
        send_again(f);
        return;
    }
    buf_fini(&url);
    if (to == MCP_REFERENCE_FOREIGN)
        refuse_redirect(f, status, true, "It redirects to another origin, which is not followed.");
    else if (to == MCP_REFERENCE_BAD)
        refuse_redirect(f, status, false, "It redirects to what is no URL.");
    else
        refuse_redirect(f, status, false, "It redirects too often.");
}

/* True when the token differs from the one that was sent; another request may have found it. */
static bool has_other_token(struct mcp_fetch *f)
{
    if (f->has_new_token)
        return false;
    if (f->n_tokens == f->site->n_tokens && !read_token(f->site))
        return false;
    f->has_new_token = true;
    return true;
}

static void note_refusal(struct mcp_fetch *f, int status, str header)
{
    struct mcp_challenge c;
    uint64_t n_left_out;

    if (!str_is_none(header)) {
        buf_reset(&f->challenge);
        secrets_hide(f->site->conf.secrets, header, &f->challenge);
    }
    if (!log_rate_take(&f->site->refused, loop_now_ms(f->site->loop), &n_left_out))
        return;
    c = mcp_challenge_read(buf_str(&f->challenge));
    log_line(LOG_WARN, "mcp_unauthorized",
             (struct log_field[]){LOG_STR("server", f->site->conf.server->label),
                                  LOG_STR("url", str_from_c(f->site->conf.server->shown)),
                                  LOG_INT("status", status), LOG_STR("error", c.error),
                                  LOG_STR("resource_metadata", c.resource_metadata),
                                  LOG_STR("scope", c.scope), LOG_END});
}

static void on_head(void *arg, int status, const struct http_header *headers, size_t n)
{
    struct mcp_fetch *f = arg;
    struct mcp_fetch_head head = {.status = status,
                                  .content_type = find_header(headers, n, STR("content-type")),
                                  .session_id = find_header(headers, n, STR("mcp-session-id"))};
    str location = find_header(headers, n, STR("location"));

    if (is_redirect(f, status) && !str_is_none(location) && !f->site->conf.is_remote) {
        follow_redirect(f, status, location);
        return;
    }
    if (status == 401 && has_other_token(f)) {
        send_again(f);
        return;
    }
    if (status == 401 || status == 403)
        note_refusal(f, status, find_header(headers, n, STR("www-authenticate")));
    head.body = mcp_body_of(head.content_type);
    f->handler->on_head(f->arg, &head);
}

static void on_body(void *arg, str bytes)
{
    struct mcp_fetch *f = arg;

    f->handler->on_body(f->arg, bytes);
}

/* ---- the end */

/* The client's own words would tell a stranger about our network (MCP 14.2). */
static const char *words_for_strangers(enum err_code code)
{
    if (code == ERR_UPSTREAM_TIMEOUT)
        return "The MCP server did not answer in time.";
    if (code == ERR_UPSTREAM_ERROR)
        return "The answer of the MCP server broke off.";
    return "The MCP server is not reachable.";
}

static void on_end(void *arg, const struct err *e)
{
    struct mcp_fetch *f = arg;
    struct mcp_link_failure failure = {.cause = MCP_FAILED_UNREACHABLE, .was_sent = true};
    struct buf message = {.limit = 0};

    if (e == NULL) {
        end_fetch(f, NULL);
        return;
    }
    if (e->code == ERR_UPSTREAM_ERROR)
        failure.cause = MCP_FAILED_CLOSED;
    if (f->site->conf.is_remote)
        buf_c(&message, words_for_strangers(e->code));
    else
        secrets_hide(f->site->conf.secrets, str_from_c(e->msg), &message);
    failure.message = buf_str(&message);
    end_fetch(f, &failure);
    buf_fini(&message);
}

static const struct http_call_handler call_handler = {on_head, on_body, on_end};

/* ---- start */

struct mcp_fetch *mcp_fetch_start(struct mcp_site *site, const struct mcp_fetch_conf *conf,
                                  const struct mcp_fetch_handler *handler, void *arg,
                                  struct err *reterr)
{
    struct mcp_fetch *f = calloc(1, sizeof(*f));

    if (f == NULL) {
        fields_fini(conf->fields);
        err_set_no_memory(reterr);
        return NULL;
    }
    f->site = site;
    f->handler = handler;
    f->arg = arg;
    f->method = conf->method;
    f->fields = *conf->fields;
    *conf->fields = (struct mcp_fields){.n = 0};
    f->total_timeout_ms = conf->total_timeout_ms;
    f->is_unique = conf->is_unique;
    buf_append(&f->url, conf->url);
    buf_append(&f->body, conf->body);
    if (start_call(f, reterr) == -1) {
        fetch_free(f);
        return NULL;
    }
    return f;
}

str mcp_fetch_url(const struct mcp_fetch *f)
{
    return buf_str(&f->url);
}

str mcp_fetch_challenge(const struct mcp_fetch *f)
{
    return f->challenge.len > 0 ? buf_str(&f->challenge) : STR_NONE;
}
