/* egress_tunnel.c -- a head is read and judged, then bytes go both ways.
 *
 *     HEAD -> RESOLVE -> DIAL -> OPEN -> LAST
 *       \________\________\_______________^     refused: what is left is the answer
 *
 * LAST: one side has gone, or never was. The other gets what is still for it; what it
 * sends is dropped. A client is then given time to close: closing a socket with unread
 * bytes breaks the connection, and the answer can be lost with it.
 *
 * In OPEN a side is not read while the other has bytes pending, so that no more than one
 * read is ever kept for a side that does not read. */
#include "sandbox/egress_tunnel.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "net/dial.h"
#include "net/socket.h"
#include "sandbox/egress_head.h"

enum {
    HEAD_MS = 30 * 1000,
    CONNECT_MS = 30 * 1000, /* the lookup and the connection */
    LINGER_MS = 5000,
};

enum tunnel_state {
    TUNNEL_HEAD,
    TUNNEL_RESOLVE,
    TUNNEL_DIAL,
    TUNNEL_OPEN,
    TUNNEL_LAST,
    TUNNEL_CLOSED,
};

struct side {
    struct tunnel *tunnel;
    struct socket socket;
    bool is_open;   /* may be used */
    bool is_closed; /* or was never opened: the loop knows nothing of it */
};

struct tunnel {
    struct egress_proxy *proxy;
    const struct egress_door *door; /* until it is closed */
    struct tunnel *next, **link;
    enum tunnel_state state;
    struct side client, server;
    struct loop_timer *timer;
    struct buf in; /* the head, and what the client has sent behind it */
    size_t head_bytes;
    struct egress_head head; /* views into in */
    char host[256];
    struct resolve_wait wait;
    struct dial *dial;
    uint64_t left_bytes; /* that the client may still send to the server */
};

static struct side *other_side(struct side *s)
{
    return s == &s->tunnel->client ? &s->tunnel->server : &s->tunnel->client;
}

/* --- the end ------------------------------------------------------------------------ */

static void free_if_closed(struct tunnel *t)
{
    struct egress_proxy *proxy = t->proxy;

    if (t->state != TUNNEL_CLOSED || !t->client.is_closed || !t->server.is_closed)
        return;
    buf_fini(&t->in);
    free(t);
    egress_proxy_release(proxy);
}

static void on_closed(void *arg)
{
    struct side *s = arg;

    s->is_closed = true;
    free_if_closed(s->tunnel);
}

static void side_close(struct side *s)
{
    if (s->is_open)
        socket_close(&s->socket);
    s->is_open = false;
}

void tunnel_close(struct tunnel *t)
{
    if (t->state == TUNNEL_CLOSED)
        return;
    t->state = TUNNEL_CLOSED;
    *t->link = t->next;
    if (t->next != NULL)
        t->next->link = t->link;
    resolve_cancel(&t->wait);
    dial_cancel(t->dial);
    t->dial = NULL;
    loop_timer_free(t->timer);
    t->timer = NULL;
    side_close(&t->client);
    side_close(&t->server);
}

/* Ends a tunnel whose last side has got all that was for it. */
static void end_last(struct tunnel *t)
{
    if (!t->client.is_open) {
        tunnel_close(t);
        return;
    }
    socket_shutdown(&t->client.socket);
    loop_timer_start(t->timer, LINGER_MS);
}

static void keep_last(struct side *s)
{
    struct tunnel *t = s->tunnel;

    t->state = TUNNEL_LAST;
    socket_read(&s->socket, true);
    loop_timer_start(t->timer, t->proxy->conf.idle_ms);
    if (socket_pending(&s->socket) == 0)
        end_last(t);
}

/* --- answers of our own --------------------------------------------------------------- */

static void answer_refusal(struct tunnel *t, const char *status, const char *reason)
{
    char answer[1024];
    int n = snprintf(answer, sizeof(answer),
                     "HTTP/1.1 %s: %s\r\nContent-Type: text/plain\r\nContent-Length: %zu\r\n"
                     "Connection: close\r\n\r\n%s\n",
                     status, reason, strlen(reason) + 1, reason);
    struct iovec piece = {answer, (size_t)n};

    resolve_cancel(&t->wait);
    dial_cancel(t->dial);
    t->dial = NULL;
    socket_send(&t->client.socket, &piece, 1);
    keep_last(&t->client);
}

/* Refuses a host by name: it is printable, since egress_head_read() has let it pass. */
static void refuse_host(struct tunnel *t, const char *status, const char *reason)
{
    char text[400];

    (void)snprintf(text, sizeof(text), "Code may not connect to %s port %u, since %s.", t->host,
                   t->head.port, reason);
    answer_refusal(t, status, text);
}

static void fail_host(struct tunnel *t, const char *status, const char *what)
{
    char text[400];

    (void)snprintf(text, sizeof(text), "%s port %u %s.", t->host, t->head.port, what);
    answer_refusal(t, status, text);
}

static void on_late(void *arg)
{
    struct tunnel *t = arg;

    if (t->state == TUNNEL_HEAD)
        answer_refusal(t, "408 Request Timeout", "The request did not arrive in time.");
    else if (t->state == TUNNEL_RESOLVE || t->state == TUNNEL_DIAL)
        fail_host(t, "504 Gateway Timeout", "does not answer");
    else
        tunnel_close(t);
}

/* --- both ways ---------------------------------------------------------------------- */

static void pass_bytes(struct side *from, str bytes)
{
    struct tunnel *t = from->tunnel;
    struct side *to = other_side(from);
    struct iovec piece;

    if (from == &t->client) {
        bytes.len = bytes.len < t->left_bytes ? bytes.len : (size_t)t->left_bytes;
        t->left_bytes -= t->head.is_connect ? 0 : bytes.len;
    }
    if (bytes.len == 0)
        return;
    piece = socket_piece(bytes);
    socket_send(&to->socket, &piece, 1);
    socket_read(&from->socket, socket_pending(&to->socket) == 0);
    loop_timer_start(t->timer, t->proxy->conf.idle_ms);
}

static void on_progress(void *arg)
{
    struct side *s = arg;
    struct tunnel *t = s->tunnel;

    if (t->state == TUNNEL_OPEN)
        loop_timer_start(t->timer, t->proxy->conf.idle_ms);
    if (socket_pending(&s->socket) > 0)
        return;
    if (t->state == TUNNEL_OPEN)
        socket_read(&other_side(s)->socket, true);
    else if (t->state == TUNNEL_LAST)
        end_last(t);
}

static void on_gone(void *arg)
{
    struct side *s = arg;

    if (s->tunnel->state != TUNNEL_OPEN) {
        tunnel_close(s->tunnel);
        return;
    }
    side_close(s);
    keep_last(other_side(s));
}

static void on_bytes(void *arg, str bytes);

static const struct socket_handler handler = {on_bytes, on_gone, on_progress, on_closed};

/* --- towards the server ------------------------------------------------------------- */

static void start_passing(struct tunnel *t)
{
    struct buf head = {0};
    struct iovec piece;

    if (t->head.is_connect)
        buf_c(&head, "HTTP/1.1 200 Connection established\r\n\r\n");
    else
        egress_head_write(&t->head, &head);
    if (buf_failed(&head)) {
        tunnel_close(t);
        return;
    }
    piece = socket_piece(buf_str(&head));
    socket_send(t->head.is_connect ? &t->client.socket : &t->server.socket, &piece, 1);
    buf_fini(&head);
    t->state = TUNNEL_OPEN;
    t->left_bytes = t->head.body_bytes;
    socket_keep_end(&t->client.socket);
    socket_keep_end(&t->server.socket);
    socket_read(&t->client.socket, true);
    pass_bytes(&t->client, str_skip(buf_str(&t->in), t->head_bytes));
    buf_fini(&t->in);
    loop_timer_start(t->timer, t->proxy->conf.idle_ms);
}

static void fail_to_dial(struct tunnel *t, int error)
{
    char text[100];

    (void)snprintf(text, sizeof(text), "cannot be reached: %s", strerror(error));
    fail_host(t, "502 Bad Gateway", text);
}

static void on_dialed(void *arg, int fd, int error)
{
    struct tunnel *t = arg;
    struct side *s = &t->server;

    t->dial = NULL;
    if (fd == -1) {
        fail_to_dial(t, error);
        return;
    }
    if (socket_open(&s->socket, t->proxy->loop, fd, &handler, s, NULL) == -1) {
        tunnel_close(t);
        return;
    }
    s->is_open = true;
    s->is_closed = false;
    start_passing(t);
}

/* Only addresses that have passed are dialled; the last reason is told if none has. */
static void dial_passed(struct tunnel *t, const struct address_list *found)
{
    const struct egress_policy *policy = &t->proxy->conf.policy;
    struct address_list passed = {.n = 0};
    const char *reason = NULL;

    for (size_t i = 0; i < found->n; i++) {
        const struct sockaddr *to = &found->at[i].to.any;
        const char *why_not = egress_check_address(policy, str_from_c(t->host), to);

        if (why_not == NULL)
            address_add(&passed, to);
        else
            reason = why_not;
    }
    if (passed.n == 0) {
        refuse_host(t, "403 Forbidden", reason);
        return;
    }
    address_set_port(&passed, t->head.port);
    t->state = TUNNEL_DIAL;
    t->dial = dial_start(t->proxy->loop, &passed, on_dialed, t);
    if (t->dial == NULL)
        tunnel_close(t);
}

static void on_resolved(void *arg, const struct address_list *list)
{
    struct tunnel *t = arg;

    if (list == NULL)
        fail_host(t, "502 Bad Gateway", "cannot be found: its name has no address");
    else
        dial_passed(t, list);
}

static void resolve_host(struct tunnel *t)
{
    struct address_list list;

    t->state = TUNNEL_RESOLVE;
    socket_read(&t->client.socket, false);
    loop_timer_start(t->timer, CONNECT_MS);
    t->wait = (struct resolve_wait){.on_resolved = on_resolved, .arg = t};
    if (resolver_get(t->proxy->resolver, t->host, &t->wait, &list))
        dial_passed(t, &list);
    else if (t->wait.link == NULL)
        tunnel_close(t);
}

static void judge_request(struct tunnel *t)
{
    const struct egress_policy *policy = &t->proxy->conf.policy;
    const char *wrong = egress_head_read(str_from(t->in.p, t->head_bytes), &t->head);
    const char *reason;

    if (wrong != NULL) {
        answer_refusal(t, "400 Bad Request", wrong);
        return;
    }
    reason = egress_check_host(policy, t->head.host);
    (void)snprintf(t->host, sizeof(t->host), "%.*s", STR_ARG(t->head.host));
    if (reason == NULL)
        reason = egress_check_port(policy, t->head.port);
    if (reason != NULL)
        refuse_host(t, "403 Forbidden", reason);
    else
        resolve_host(t);
}

static void read_head(struct tunnel *t, str bytes)
{
    buf_append(&t->in, bytes);
    if (buf_failed(&t->in)) {
        tunnel_close(t);
        return;
    }
    t->head_bytes = egress_head_length(buf_str(&t->in));
    if (t->head_bytes > EGRESS_HEAD_BYTES || (t->head_bytes == 0 && t->in.len > EGRESS_HEAD_BYTES))
        answer_refusal(t, "431 Request Header Fields Too Large",
                       "The head of the request is too large.");
    else if (t->head_bytes > 0)
        judge_request(t);
}

static void on_bytes(void *arg, str bytes)
{
    struct side *s = arg;
    struct tunnel *t = s->tunnel;

    if (t->state == TUNNEL_HEAD)
        read_head(t, bytes);
    else if (t->state == TUNNEL_OPEN)
        pass_bytes(s, bytes);
}

/* --- the beginning ------------------------------------------------------------------ */

static void link_tunnel(struct tunnel *t)
{
    t->next = t->proxy->tunnels;
    t->link = &t->proxy->tunnels;
    if (t->next != NULL)
        t->next->link = &t->next;
    t->proxy->tunnels = t;
    t->proxy->n_tunnels++;
}

static bool is_of_owner(const struct tunnel *t, const struct egress_door *door)
{
    return str_eq(str_from(t->door->owner, t->door->owner_len),
                  str_from(door->owner, door->owner_len));
}

/* True when there are no more tunnels than so many times the limits. */
static bool has_room(const struct egress_door *door, size_t times)
{
    const struct egress_proxy *proxy = door->proxy;
    size_t n = 0;

    if (proxy->n_tunnels > times * proxy->conf.max_connections)
        return false;
    for (const struct tunnel *t = proxy->tunnels; t != NULL; t = t->next)
        n += is_of_owner(t, door);
    return door->owner_len == 0 || n <= times * proxy->conf.max_per_owner;
}

/* Connections above the limit are told so, and stay for as long as their clients take to close;
 * above TOLD times the limit they are closed at once. Code can open connections by the thousand,
 * and descriptors are the whole gateway's. */
enum { TOLD = 2 };

static bool open_client(struct tunnel *t, int fd)
{
    if (socket_open(&t->client.socket, t->proxy->loop, fd, &handler, &t->client, NULL) == -1)
        return false;
    t->client.is_open = true;
    link_tunnel(t);
    loop_timer_start(t->timer, HEAD_MS);
    return true;
}

void tunnel_open(struct egress_door *door, int fd)
{
    struct egress_proxy *proxy = door->proxy;
    struct tunnel *t = calloc(1, sizeof(*t));
    struct loop_timer *timer = t == NULL ? NULL : loop_timer_new(proxy->loop, on_late, t);

    if (timer == NULL) {
        free(t);
        (void)close(fd);
        return;
    }
    t->proxy = proxy;
    t->door = door;
    t->timer = timer;
    t->client.tunnel = t->server.tunnel = t;
    t->server.is_closed = true;
    if (!open_client(t, fd)) {
        loop_timer_free(timer);
        free(t);
        return;
    }
    if (!has_room(door, TOLD))
        tunnel_close(t);
    else if (!has_room(door, 1))
        answer_refusal(t, "503 Service Unavailable",
                       "There are too many connections; try again later.");
}

void tunnel_close_all(const struct egress_door *door)
{
    for (struct tunnel *t = door->proxy->tunnels, *next; t != NULL; t = next) {
        next = t->next;
        if (t->door == door)
            tunnel_close(t);
    }
}
