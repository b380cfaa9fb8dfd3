/* conn_pool.h -- connections to upstreams, and those that wait to be used again.
 *
 *     conn_pool_open -> in use -> conn_pool_release -> idle -> conn_pool_take -> in use ...
 *                       \-> conn_pool_close           \-> the upstream closes, or it gets too old
 *
 * The one that was used last is taken first, so the others grow old and go. An
 * idle connection is watched: whatever its upstream does to it, it is closed at
 * once. One pool per loop; everything runs on that loop's thread. */
#ifndef ANTIPHON_HTTP_CONN_POOL_H
#define ANTIPHON_HTTP_CONN_POOL_H

#include "http/http_url.h"
#include "net/socket.h"

/* A place that connections go to: counted, since calls and connections share it. */
struct origin {
    unsigned refs;
    struct origin *next, **link; /* all of the pool */
    uint16_t port;
    bool is_unix;
    char name[]; /* host, or the path of a socket */
};

struct conn_pool;
struct http_connection_count;

/* Reports to the user of a connection, from the loop only. */
struct pool_user {
    /* Reports bytes in the loop's scratch buffer, where they may be changed until it returns. */
    void (*on_bytes)(void *arg, char *p, size_t n);
    /* Reports that the connection is to be closed. error: 0 when the upstream's stream has ended in
     * order. */
    void (*on_gone)(void *arg, int error);
};

struct pool_conn {
    struct socket socket; /* the user may lend to it, and switch reading off and on */
    bool is_reused;       /* it has served another call before */

    /* conn_pool.c's own */
    struct conn_pool *pool;
    struct origin *origin;
    const struct pool_user *user; /* NULL: idle */
    void *arg;
    struct pool_conn *newer, *older; /* of those that are idle */
    uint64_t idle_since_ms;
    const struct http_connection_count *count; /* NULL: it is not counted */
};

/* Keeps at most max_idle connections that are idle, each for max_idle_ms at most:
 * older ones are closed when the pool is used. NULL when out of memory. */
struct conn_pool *conn_pool_new(struct loop *loop, size_t max_idle, uint64_t max_idle_ms);

/* Closes what is idle. No connection may be in use, and no origin be held. NULL
 * is fine. */
void conn_pool_free(struct conn_pool *pool);

/* Finds or makes an origin; NULL when out of memory. To be given back with origin_unref(). */
struct origin *conn_pool_origin(struct conn_pool *pool, const struct http_url *url);
void origin_unref(struct origin *origin);

/* Takes an idle connection; NULL when there is none. One on which the upstream has said something
 * or has closed is not taken, but closed. */
struct pool_conn *conn_pool_take(struct conn_pool *pool, const struct origin *origin,
                                 const struct pool_user *user, void *arg);

/* Opens a connection over a connected descriptor, which is taken, also if it fails. NULL with
 * *reterr filled. */
struct pool_conn *conn_pool_open(struct conn_pool *pool, struct origin *origin, int fd,
                                 const struct pool_user *user, void *arg, struct err *reterr);

/* Counts the connection, which is in use, from now on; NULL is fine. */
void conn_pool_count(struct pool_conn *conn, const struct http_connection_count *count);

/* Ends the use of a connection: the pool keeps it, or closes it when that is too much. */
void conn_pool_release(struct pool_conn *conn);
void conn_pool_close(struct pool_conn *conn);

#endif
