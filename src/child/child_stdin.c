/* child_stdin.c -- appends at one end, writes at the other. */
#include "child/child_stdin.h"

#include <errno.h>
#include <unistd.h>

enum { KEEP_BYTES = 64 * 1024 }; /* memory that may stay with an empty queue */

void child_stdin_init(struct child_stdin *q, size_t limit_bytes)
{
    *q = (struct child_stdin){.limit_bytes = limit_bytes};
}

void child_stdin_fini(struct child_stdin *q)
{
    buf_fini(&q->bytes);
}

size_t child_stdin_waiting(const struct child_stdin *q)
{
    return q->bytes.len - q->sent;
}

static void blank_line_ends(char *p, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (p[i] == '\n' || p[i] == '\r')
            p[i] = ' ';
    }
}

bool child_stdin_put(struct child_stdin *q, str json)
{
    char *to;

    if (json.len >= q->limit_bytes - child_stdin_waiting(q))
        return false;
    to = buf_reserve(&q->bytes, json.len + 1);
    if (to == NULL) {
        q->bytes.failed = false; /* what is in it is whole */
        return false;
    }
    if (json.len > 0)
        memcpy(to, json.p, json.len);
    blank_line_ends(to, json.len);
    to[json.len] = '\n';
    q->bytes.len += json.len + 1;
    return true;
}

static void forget_sent(struct child_stdin *q)
{
    if (child_stdin_waiting(q) > 0 && q->sent < q->bytes.len / 2)
        return; /* keeps the copying linear */
    buf_consume(&q->bytes, q->sent);
    q->sent = 0;
    if (q->bytes.len == 0 && q->bytes.cap > KEEP_BYTES)
        buf_fini(&q->bytes);
}

bool child_stdin_write(struct child_stdin *q, int fd)
{
    while (child_stdin_waiting(q) > 0) {
        ssize_t n = write(fd, q->bytes.p + q->sent, child_stdin_waiting(q));

        if (n == -1 && errno == EINTR)
            continue;
        if (n == -1 && errno != EAGAIN)
            return false;
        if (n == -1)
            break;
        q->sent += (size_t)n;
    }
    forget_sent(q);
    return true;
}
