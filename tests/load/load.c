/* load.c -- texts of the load test, and what the kernel tells about sockets. */
#include "load/load.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>

static const str MARK = STR_INIT("load ");

void load_stream_write(const struct load_stream *s, struct buf *out)
{
    const unsigned numbers[] = {s->id, s->n_pieces, s->piece_bytes, s->gate};

    buf_c(out, "load");
    for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
        buf_char(out, ' ');
        buf_uint(out, numbers[i]);
    }
}

bool load_stream_read(str body, struct load_stream *ret)
{
    unsigned *const numbers[] = {&ret->id, &ret->n_pieces, &ret->piece_bytes, &ret->gate};
    str rest = str_skip(body, str_find(body, MARK) + MARK.len - 1);

    for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
        const char *start;

        if (!str_starts_with(rest, STR(" ")))
            return false;
        rest = str_skip(rest, 1);
        start = rest.p;
        for (*numbers[i] = 0; rest.len > 0 && *rest.p >= '0' && *rest.p <= '9';
             rest = str_skip(rest, 1))
            *numbers[i] = *numbers[i] * 10 + (unsigned)(*rest.p - '0');
        if (rest.p == start)
            return false;
    }
    return ret->piece_bytes >= LOAD_MIN_PIECE_BYTES;
}

void load_piece(const struct load_stream *s, unsigned i, struct buf *out)
{
    size_t end = out->len + s->piece_bytes;
    char *rest;

    buf_uint(out, s->id);
    buf_char(out, '.');
    buf_uint(out, i);
    buf_char(out, ' ');
    rest = buf_reserve(out, end - out->len);
    if (rest == NULL)
        load_die("memory");
    memset(rest, 'a' + (int)((s->id + i) % 26), end - out->len);
    out->len = end;
}

/* ---- sockets */

void load_die(const char *what)
{
    (void)fprintf(stderr, "load: %s: %s\n", what, strerror(errno));
    exit(2);
}

void load_raise_limit(void)
{
    struct rlimit files;

    if (getrlimit(RLIMIT_NOFILE, &files) == -1)
        load_die("getrlimit");
    files.rlim_cur = files.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &files) == -1)
        load_die("setrlimit");
}

static unsigned port_of(int fd, int (*get)(int, struct sockaddr *, socklen_t *))
{
    struct sockaddr_in a = {0};
    socklen_t len = sizeof(a);

    (void)get(fd, (struct sockaddr *)&a, &len);
    return ntohs(a.sin_port);
}

unsigned load_local_port(int fd)
{
    return port_of(fd, getsockname);
}

unsigned load_remote_port(int fd)
{
    return port_of(fd, getpeername);
}

void load_queues_read(struct load_queues *q)
{
    FILE *file = fopen("/proc/net/tcp", "r");
    char line[256];
    size_t cap = 0;

    *q = (struct load_queues){0};
    if (file == NULL)
        load_die("/proc/net/tcp");
    while (fgets(line, sizeof(line), file) != NULL) {
        struct load_queue one;

        /* sl local_address rem_address st tx_queue:rx_queue ..., in hexadecimal digits */
        if (sscanf(line, "%*d: %*x:%x %*x:%x %*x %zx:%zx", &one.local_port, &one.remote_port,
                   &one.unsent, &one.unread) != 4)
            continue;
        if (q->n == cap) {
            cap = cap == 0 ? 1024 : cap * 2;
            q->all = realloc(q->all, cap * sizeof(*q->all));
            if (q->all == NULL)
                load_die("memory");
        }
        q->all[q->n++] = one;
    }
    (void)fclose(file);
}

void load_queues_free(struct load_queues *q)
{
    free(q->all);
    *q = (struct load_queues){0};
}

struct load_queue load_queues_find(const struct load_queues *q, unsigned local_port,
                                   unsigned remote_port)
{
    for (size_t i = 0; i < q->n; i++) {
        if (q->all[i].local_port == local_port && q->all[i].remote_port == remote_port)
            return q->all[i];
    }
    return (struct load_queue){0};
}
