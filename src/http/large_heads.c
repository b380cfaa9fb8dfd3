/* large_heads.c -- what unfinished heads may hold together.
 *
 * The head of a request is read before anybody knows whose it is, and may be as
 * large as max_head: on every connection at once that is a lot of memory for
 * strangers. Small heads cost less than their connection; of large ones that
 * have not come to their end the server keeps a queue, in the order in which
 * they became large, and a sum. Over the limit the oldest are refused: a client
 * that sends its head in one go is done before that is its turn. */
#include "http/http_conn.h"

enum { SMALL_HEAD_BYTES = 4096 };

void large_head_note(struct http_conn *c)
{
    struct http_server *server = c->server;
    size_t bytes = c->h1.bytes.cap;
    struct err e;

    if (bytes <= SMALL_HEAD_BYTES || bytes == c->large_head_bytes)
        return;
    if (c->large_head_bytes == 0)
        TAILQ_INSERT_TAIL(&server->large_heads, c, by_large_head);
    server->large_heads_bytes += bytes - c->large_head_bytes;
    c->large_head_bytes = bytes;
    err_set(&e, ERR_OVERLOADED, "Too many requests with large heads are unfinished.");
    while (server->large_heads_bytes > server->conf.max_large_heads_bytes &&
           TAILQ_FIRST(&server->large_heads) != c)
        conn_refuse(TAILQ_FIRST(&server->large_heads), &e);
}

void large_head_forget(struct http_conn *c)
{
    if (c->large_head_bytes == 0)
        return;
    TAILQ_REMOVE(&c->server->large_heads, c, by_large_head);
    c->server->large_heads_bytes -= c->large_head_bytes;
    c->large_head_bytes = 0;
}
