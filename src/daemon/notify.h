/* notify.h -- what the service manager is told: datagrams to NOTIFY_SOCKET (OPERATIONS 7.4).
 *
 * Lines of NAME=VALUE, as sd_notify(3) has them; nothing is answered, and nobody waits. */
#ifndef ANTIPHON_DAEMON_NOTIFY_H
#define ANTIPHON_DAEMON_NOTIFY_H

#include <stdbool.h>
#include <sys/socket.h>
#include <sys/un.h>

struct notify {
    int fd; /* -1: nobody listens, or nothing more is to be said */
    struct sockaddr_un to;
    socklen_t to_bytes;
};

/* path is the value of NOTIFY_SOCKET, which may begin with @ for an abstract socket; NULL: none.
 * False when it cannot be used, which has been logged; what is sent then goes nowhere. */
bool notify_open(struct notify *n, const char *path);

/* The end of messages: whoever sends after this is another process. */
void notify_close(struct notify *n);

static inline bool notify_is_heard(const struct notify *n)
{
    return n->fd != -1;
}

/* Main thread. */
void notify_send(const struct notify *n, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
