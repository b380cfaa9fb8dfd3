/* dial.c -- connect(), and what comes of it.
 *
 *     try_next -> connect() at once --------------------------> on_done
 *         ^          \-> in progress -> on_writable -----------> on_done
 *         |                                 \-> refused
 *         +------------ handle closed <----------+
 *
 * One poll handle serves the attempts in turn: it has to be closed before it can
 * watch the next descriptor. Whatever the moment, exactly one thing is under way
 * that comes back to the dial, the deferred first attempt, the handle or a timer,
 * and a dial that is cancelled or done is freed when that has come back. Only the
 * timer is not waited for, since a loop that ends drops it.
 *
 * A Unix socket whose queue is full refuses with EAGAIN, and cannot be polled for
 * room in it. Some servers have a queue of five, so the dial rests and tries the
 * same address again. */
#include "net/dial.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

enum { REST_MS = 5 };

struct dial {
    uv_poll_t poll;
    struct loop *loop;
    struct loop_message first; /* the first attempt */
    struct loop_timer *rest;   /* NULL when not resting */
    dial_on_done *on_done;
    void *arg;
    int fd; /* being connected, or -1 */
    int error;
    bool polling; /* the handle is open */
    bool over;    /* cancelled or reported */
    size_t next;
    struct address_list list;
};

static void try_next(void *arg);

static void on_poll_closed(uv_handle_t *handle)
{
    struct dial *d = handle->data;

    d->polling = false;
    try_next(d);
}

static void report_end(struct dial *d, int fd)
{
    d->over = true;
    d->on_done(d->arg, fd, d->error);
}

/* The last of several failures is reported. But that this machine has no such network says nothing
 * about the server, which another address may have found. */
static void note_error(struct dial *d, int error)
{
    bool is_ours = error == EAFNOSUPPORT || error == EADDRNOTAVAIL || error == ENETUNREACH;

    if (d->error == 0 || !is_ours)
        d->error = error;
}

static void on_writable(uv_poll_t *poll, int status, int events)
{
    struct dial *d = poll->data;
    int fd = d->fd;
    int error = 0;
    socklen_t len = sizeof(error);

    (void)status; /* the socket knows better */
    (void)events;
    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) == -1)
        error = errno;
    d->fd = -1;
    uv_close((uv_handle_t *)poll, on_poll_closed);
    if (error == 0) {
        report_end(d, fd);
        return;
    }
    note_error(d, error);
    (void)close(fd);
}

/* Waits for the connection that is in progress. */
static bool watch_connecting(struct dial *d, int fd)
{
    int rc = uv_poll_init(loop_uv(d->loop), &d->poll, fd);

    if (rc != 0) {
        errno = -rc;
        return false;
    }
    d->poll.data = d;
    d->polling = true;
    d->fd = fd;
    (void)uv_poll_start(&d->poll, UV_WRITABLE, on_writable);
    return true;
}

static void on_rested(void *arg)
{
    struct dial *d = arg;

    loop_timer_free(d->rest);
    d->rest = NULL;
    try_next(d);
}

static bool rest_a_while(struct dial *d)
{
    d->rest = loop_timer_new(d->loop, on_rested, d);
    if (d->rest == NULL)
        return false;
    d->next--; /* the same address again */
    loop_timer_start(d->rest, REST_MS);
    return true;
}

/* Tries an address. True when there is something to wait for or the dial is over. */
static bool try_address(struct dial *d, const struct address *to)
{
    int fd = socket(to->to.any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    int error;

    if (fd != -1 && connect(fd, &to->to.any, to->len) == 0) {
        report_end(d, fd);
        return true;
    }
    if (fd != -1 && errno == EINPROGRESS && watch_connecting(d, fd))
        return true;
    error = errno;
    note_error(d, error);
    if (fd != -1)
        (void)close(fd);
    return error == EAGAIN && rest_a_while(d);
}

static void try_next(void *arg)
{
    struct dial *d = arg;

    while (!d->over && d->next < d->list.n) {
        if (try_address(d, &d->list.at[d->next++]))
            break;
    }
    if (d->polling || d->rest != NULL)
        return;
    if (!d->over)
        report_end(d, -1);
    free(d);
}

struct dial *dial_start(struct loop *loop, const struct address_list *list, dial_on_done *on_done,
                        void *arg)
{
    struct dial *d = calloc(1, sizeof(*d));

    assert(list->n > 0);
    if (d == NULL)
        return NULL;
    d->loop = loop;
    d->on_done = on_done;
    d->arg = arg;
    d->fd = -1;
    d->list = *list;
    d->first = (struct loop_message){.fn = try_next, .arg = d};
    loop_defer(loop, &d->first);
    return d;
}

void dial_cancel(struct dial *d)
{
    if (d == NULL)
        return;
    d->over = true;
    if (d->rest != NULL) {
        loop_timer_free(d->rest);
        free(d);
        return;
    }
    if (d->fd == -1)
        return; /* the deferred attempt or the closing handle comes back */
    uv_close((uv_handle_t *)&d->poll, on_poll_closed);
    (void)close(d->fd);
    d->fd = -1;
}
