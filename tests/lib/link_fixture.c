/* link_fixture.c -- the scripted server, and the reports of a link as text. */
#include "lib/link_fixture.h"
#include "lib/send_once.h"

#include <strings.h>

#include "net/listen_address.h"

struct link_fixture lfx;

static const char *const causes[MCP_CAUSE_COUNT] = {
    [MCP_FAILED_HTTP] = "http",       [MCP_FAILED_UNREACHABLE] = "unreachable",
    [MCP_FAILED_CLOSED] = "closed",   [MCP_FAILED_LIMIT] = "limit",
    [MCP_FAILED_TIMEOUT] = "timeout",
};

/* --- what the link reports ----------------------------------------------------------- */

static void nothing(void *arg)
{
    (void)arg;
}

/* UNTIL() looks again when a turn of the loop ends, so what a timer told must not be
 * followed by waiting for something else. */
static void note(const char *word)
{
    buf_c(&lfx.told, word);
    defer_once(fx.loop, nothing, NULL);
}

static void note_failure(const struct mcp_link_failure *why)
{
    note(" ");
    note(causes[why->cause]);
    note(" ");
    buf_int(&lfx.told, why->http_status);
    note(why->has_lost_session ? " lost" : "");
    note(why->is_hopeless ? " hopeless" : "");
    note(why->message.len > 0 ? " " : "");
    buf_append(&lfx.told, why->message);
    note(str_is_none(why->challenge) ? "" : " ");
    buf_append(&lfx.told, why->challenge);
    note("\n");
}

static void on_up(void *arg)
{
    (void)arg;
    note("up\n");
}

static void on_message(void *arg, const struct jsonrpc_message *m, int64_t carrier, int http_status)
{
    int64_t id = m->id.kind == JSONRPC_ID_INT ? m->id.number : -1;

    (void)arg;
    note("message ");
    buf_int(&lfx.told, carrier);
    note(" ");
    buf_int(&lfx.told, http_status);
    note(" id=");
    buf_int(&lfx.told, id);
    note(" ");
    buf_append(&lfx.told, m->result);
    buf_append(&lfx.told, m->method);
    buf_append(&lfx.told, m->message);
    note("\n");
    if (lfx.on_message != NULL)
        lfx.on_message(id);
}

static void on_failed(void *arg, int64_t id, const struct mcp_link_failure *why)
{
    (void)arg;
    note("failed ");
    buf_int(&lfx.told, id);
    note_failure(why);
}

static void on_down(void *arg, const struct mcp_link_failure *why)
{
    (void)arg;
    assert_false(link_told("down"));
    note("down");
    note_failure(why);
}

static void on_closed(void *arg)
{
    (void)arg;
    assert_true(link_told("down"));
    note("closed\n");
    lfx.link = NULL;
}

bool link_told(const char *line)
{
    const char *at = buf_cstr(&lfx.told);

    for (; at != NULL; at = strchr(at, '\n')) {
        at += *at == '\n';
        if (strncmp(at, line, strlen(line)) == 0)
            return true;
    }
    return false;
}

/* --- the server ------------------------------------------------------------------------ */

static void say(struct peer *p, struct buf *text)
{
    peer_say(p, buf_cstr(text));
    buf_fini(text);
}

static void write_head(const struct link_step *step, struct buf *out)
{
    buf_c(out, "HTTP/1.1 ");
    buf_c(out, step->status == NULL ? "200 OK" : step->status);
    buf_c(out, "\r\n");
    buf_c(out, step->headers == NULL ? "" : step->headers);
}

static void write_json(const char *json, struct buf *out)
{
    buf_c(out, json[0] == '\0' ? "" : "Content-Type: application/json; charset=utf-8\r\n");
    buf_c(out, "Content-Length: ");
    buf_uint(out, strlen(json));
    buf_c(out, "\r\n\r\n");
    buf_c(out, json);
}

static void write_chunk(const char *text, struct buf *out)
{
    char size[20];

    (void)snprintf(size, sizeof(size), "%zx\r\n", strlen(text));
    buf_c(out, size);
    buf_c(out, text);
    buf_c(out, "\r\n");
}

static void write_events(const struct link_step *step, struct buf *out)
{
    buf_c(out, "Content-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n");
    if (step->events[0] != '\0')
        write_chunk(step->events, out);
    if (!step->stays_open)
        write_chunk("", out);
}

static void answer(struct peer *p, const struct link_step *step)
{
    struct buf out = {.limit = 0};

    if (step->raw != NULL) {
        buf_c(&out, step->raw);
    } else if (step->events != NULL || step->json != NULL || step->status != NULL) {
        write_head(step, &out);
        if (step->events != NULL)
            write_events(step, &out);
        else
            write_json(step->json == NULL ? "" : step->json, &out);
    }
    say(p, &out);
    if (step->closes)
        peer_close(p);
}

/* How long the request at the start of the text is, or 0 when it is not there yet. */
static size_t request_length(const char *text)
{
    const char *body = strstr(text, "\r\n\r\n");
    const char *length = strcasestr(text, "\r\nContent-Length: ");
    size_t n_body = 0;

    if (body == NULL)
        return 0;
    body += 4;
    if (length != NULL && length < body)
        n_body = strtoul(length + strlen("\r\nContent-Length: "), NULL, 10);
    return strlen(body) < n_body ? 0 : (size_t)(body - text) + n_body;
}

static void on_bytes(void *arg, str bytes)
{
    static const struct link_step fine = {.status = "200 OK"};
    struct peer *p = arg;
    size_t n;

    buf_append(&p->in, bytes);
    while (p->open && (n = request_length(buf_cstr(&p->in))) > 0) {
        size_t i = lfx.n_requests++;

        assert_true(i < LINK_MAX_REQUESTS);
        buf_append(&lfx.requests[i], str_from(p->in.p, n));
        buf_consume(&p->in, n);
        lfx.askers[i] = p;
        assert_true(i < lfx.n_steps || link_asked(i, "DELETE "));
        answer(p, i < lfx.n_steps ? &lfx.steps[i] : &fine);
    }
}

static void on_gone(void *arg)
{
    struct peer *p = arg;

    p->gone = true;
    peer_close(p);
}

static void on_accept(void *arg, int fd, const char *from)
{
    static const struct socket_handler handler = {on_bytes, on_gone, nothing, nothing};
    struct peer *p = &fx.accepted[fx.n_accepted++];

    (void)arg;
    (void)from;
    assert_true(fx.n_accepted <= MAX_ACCEPTED);
    assert_int_equal(socket_open(&p->socket, fx.loop, fd, &handler, p, NULL), 0);
    p->open = true;
}

void link_serve_steps(const struct link_step *steps, size_t n)
{
    lfx.steps = steps;
    lfx.n_steps = n;
    fx.listener = listener_open(fx.loop, listen_tcp("127.0.0.1:0", NULL), on_accept, NULL, NULL);
    assert_non_null(fx.listener);
    lfx.port = (unsigned)listener_port(fx.listener);
    (void)snprintf(lfx.url, sizeof(lfx.url), "http://127.0.0.1:%u/mcp", lfx.port);
    lfx.server.url.hidden = str_from_c(lfx.url);
}

bool link_asked(size_t i, const char *text)
{
    return i < lfx.n_requests && strcasestr(buf_cstr(&lfx.requests[i]), text) != NULL;
}

void link_say(size_t i, const char *text)
{
    struct buf chunk = {.limit = 0};

    write_chunk(text, &chunk);
    say(lfx.askers[i], &chunk);
}

/* --- the link --------------------------------------------------------------------------- */

void link_start(link_new *constructor)
{
    static const struct mcp_link_handler handler = {on_up, on_message, on_failed, on_down,
                                                    on_closed};
    struct err e;

    mcp_link_secrets(&lfx.server, &lfx.secrets);
    lfx.link = constructor(fx.loop, &lfx.conf, &handler, NULL, &e);
    if (lfx.link == NULL)
        fail_msg("%s", e.msg);
    assert_int_equal(lfx.told.len, 0);
}

void link_up(link_new *constructor)
{
    link_start(constructor);
    UNTIL(link_told("up"));
}

bool link_send(int64_t id, enum mcp_method method, enum mcp_version version)
{
    char json[40];
    struct mcp_link_message m = {
        .id = id, .method = method, .version = version, .tool = STR("add"), .arguments = STR("{}")};

    (void)snprintf(json, sizeof(json), "{\"id\":%d}", (int)id);
    m.json = str_from_c(json);
    return mcp_link_send(lfx.link, &m, NULL);
}

void link_stop(void)
{
    mcp_link_stop(lfx.link);
    UNTIL(lfx.link == NULL);
}

void link_begin_session(void)
{
    link_up(mcp_link_http_new);
    assert_true(link_send(1, MCP_INITIALIZE, MCP_VERSION_NONE));
    UNTIL(link_told("message 1 200 id=1 {}"));
}

int link_fixture_setup(void **state)
{
    (void)http_fixture_setup(state);
    memset(&lfx, 0, sizeof(lfx));
    lfx.server = (struct mcp_server_conf){.label = STR("docs"),
                                          .shown = "http://docs",
                                          .startup_timeout_ms = 10000,
                                          .max_message_bytes = 64 * 1024};
    lfx.conf =
        (struct mcp_link_conf){.server = &lfx.server, .client = fx.client, .secrets = &lfx.secrets};
    return 0;
}

int link_fixture_teardown(void **state)
{
    if (lfx.link != NULL)
        link_stop();
    (void)http_fixture_teardown(state);
    secrets_fini(&lfx.secrets);
    buf_fini(&lfx.told);
    for (size_t i = 0; i < LINK_MAX_REQUESTS; i++)
        buf_fini(&lfx.requests[i]);
    return 0;
}
