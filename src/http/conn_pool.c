/* conn_pool.c -- one list of idle connections, the newest first.
 *
 * It is searched for an origin from its newest end. A gateway has few upstreams,
 * so the first or second one nearly always fits. */
#include "http/conn_pool.h"

#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "http/http_call_conf.h"

struct conn_pool {
    struct loop *loop;
    struct origin *origins;
    struct pool_conn *newest, *oldest;
    size_t n_idle, max_idle;
    uint64_t max_idle_ms;
};

/* --- origins ------------------------------------------------------------------ */

static struct origin *origin_find(const struct conn_pool *pool, const struct http_url *url,
                                  str name)
{
    struct origin *o = pool->origins;

    while (o != NULL && !(o->port == url->port && o->is_unix == str_is_none(url->host) &&
                          str_eq(str_from_c(o->name), name)))
        o = o->next;
    return o;
}

static struct origin *origin_new(struct conn_pool *pool, const struct http_url *url, str name)
{
    struct origin *o = calloc(1, sizeof(*o) + name.len + 1);

    if (o == NULL)
        return NULL;
    memcpy(o->name, name.p, name.len);
    o->port = url->port;
    o->is_unix = str_is_none(url->host);
    o->next = pool->origins;
    o->link = &pool->origins;
    if (o->next != NULL)
        o->next->link = &o->next;
    pool->origins = o;
    return o;
}

struct origin *conn_pool_origin(struct conn_pool *pool, const struct http_url *url)
{
    str name = str_is_none(url->host) ? url->socket_path : url->host;
    struct origin *o = origin_find(pool, url, name);

    if (o == NULL)
        o = origin_new(pool, url, name);
    if (o != NULL)
        o->refs++;
    return o;
}

void origin_unref(struct origin *o)
{
    if (--o->refs > 0)
        return;
    *o->link = o->next;
    if (o->next != NULL)
        o->next->link = o->link;
    free(o);
}

/* --- counting ------------------------------------------------------------------- */

static void move_count(const struct pool_conn *c, bool is_idle, int n)
{
    if (c->count != NULL)
        c->count->move(c->count->arg, is_idle, n);
}

void conn_pool_count(struct pool_conn *c, const struct http_connection_count *count)
{
    c->count = count;
    move_count(c, false, 1);
}

/* --- the idle ones -------------------------------------------------------------- */

static void idle_remove(struct pool_conn *c)
{
    struct conn_pool *pool = c->pool;

    *(c->newer == NULL ? &pool->newest : &c->newer->older) = c->older;
    *(c->older == NULL ? &pool->oldest : &c->older->newer) = c->newer;
    c->newer = c->older = NULL;
    pool->n_idle--;
    move_count(c, true, -1);
}

static void idle_add(struct pool_conn *c)
{
    struct conn_pool *pool = c->pool;

    c->older = pool->newest;
    *(c->older == NULL ? &pool->oldest : &c->older->newer) = c;
    pool->newest = c;
    pool->n_idle++;
    move_count(c, true, 1);
}

static void close_old(struct conn_pool *pool)
{
    uint64_t now = loop_now_ms(pool->loop);

    while (pool->oldest != NULL && pool->oldest->idle_since_ms + pool->max_idle_ms <= now)
        conn_pool_close(pool->oldest);
}

/* True when nothing has come in that the loop may not have reported yet: bytes would be read as the
 * answer to a request that is only about to be sent, perhaps another client's. */
static bool is_quiet(const struct pool_conn *c)
{
    char byte;

    return recv(c->socket.fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == -1 && errno == EAGAIN;
}

struct pool_conn *conn_pool_take(struct conn_pool *pool, const struct origin *origin,
                                 const struct pool_user *user, void *arg)
{
    struct pool_conn *c, *older;

    close_old(pool);
    for (c = pool->newest; c != NULL; c = older) {
        older = c->older;
        if (c->origin != origin)
            continue;
        if (is_quiet(c))
            break;
        conn_pool_close(c);
    }
    if (c == NULL)
        return NULL;
    idle_remove(c);
    move_count(c, false, 1);
    c->user = user;
    c->arg = arg;
    c->is_reused = true;
    return c;
}

void conn_pool_release(struct pool_conn *c)
{
    struct conn_pool *pool = c->pool;

    c->user = NULL;
    move_count(c, false, -1);
    c->idle_since_ms = loop_now_ms(pool->loop);
    socket_read(&c->socket, true);
    idle_add(c);
    close_old(pool);
    if (pool->n_idle > pool->max_idle)
        conn_pool_close(pool->oldest);
}

/* --- one connection --------------------------------------------------------------- */

void conn_pool_close(struct pool_conn *c)
{
    if (c->user == NULL)
        idle_remove(c);
    else
        move_count(c, false, -1);
    c->user = NULL;
    origin_unref(c->origin);
    socket_close(&c->socket);
}

static void on_bytes(void *arg, str bytes)
{
    struct pool_conn *c = arg;

    (void)bytes; /* they stand in the scratch buffer, where they may be changed */
    if (c->user == NULL)
        conn_pool_close(c); /* an answer that nobody asked for */
    else
        c->user->on_bytes(c->arg, loop_scratch(c->socket.loop), bytes.len);
}

static void on_gone(void *arg)
{
    struct pool_conn *c = arg;

    if (c->user == NULL)
        conn_pool_close(c);
    else
        c->user->on_gone(c->arg, c->socket.error);
}

static void on_progress(void *arg)
{
    (void)arg;
}

static void on_socket_closed(void *arg)
{
    free(arg);
}

/* A machine that vanishes while a model thinks is noticed in a few minutes. Fails
 * on a unix socket, rightly. */
static void set_keep_alive(int fd)
{
    int on = 1, idle_s = 60, interval_s = 60;

    (void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof(idle_s));
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval_s, sizeof(interval_s));
}

struct pool_conn *conn_pool_open(struct conn_pool *pool, struct origin *origin, int fd,
                                 const struct pool_user *user, void *arg, struct err *reterr)
{
    static const struct socket_handler handler = {on_bytes, on_gone, on_progress, on_socket_closed};
    struct pool_conn *c = calloc(1, sizeof(*c));

    if (c == NULL) {
        err_set_no_memory(reterr);
        (void)close(fd);
        return NULL;
    }
    if (socket_open(&c->socket, pool->loop, fd, &handler, c, reterr) == -1) {
        free(c);
        return NULL;
    }
    socket_keep_end(&c->socket);
    set_keep_alive(fd);
    c->pool = pool;
    c->origin = origin;
    origin->refs++;
    c->user = user;
    c->arg = arg;
    return c;
}

/* --- the pool ------------------------------------------------------------------------ */

struct conn_pool *conn_pool_new(struct loop *loop, size_t max_idle, uint64_t max_idle_ms)
{
    struct conn_pool *pool = calloc(1, sizeof(*pool));

    if (pool == NULL)
        return NULL;
    pool->loop = loop;
    pool->max_idle = max_idle;
    pool->max_idle_ms = max_idle_ms;
    return pool;
}

void conn_pool_free(struct conn_pool *pool)
{
    if (pool == NULL)
        return;
    while (pool->newest != NULL)
        conn_pool_close(pool->newest);
    assert(pool->origins == NULL);
    free(pool);
}
