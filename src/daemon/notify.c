/* notify.c -- the socket of the service manager. */
#include "daemon/notify.h"

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "ev/log.h"

bool notify_open(struct notify *n, const char *path)
{
    const size_t len = path == NULL ? 0 : strlen(path);

    *n = (struct notify){.fd = -1, .to = {.sun_family = AF_UNIX}};
    if (len == 0)
        return true;
    if ((path[0] != '/' && path[0] != '@') || len < 2 || len >= sizeof(n->to.sun_path)) {
        log_msg(LOG_WARN, "NOTIFY_SOCKET is neither a path nor an abstract socket: the service "
                          "manager is told nothing");
        return false;
    }
    memcpy(n->to.sun_path, path, len);
    if (path[0] == '@')
        n->to.sun_path[0] = '\0';
    n->to_bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len);
    n->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    return n->fd != -1;
}

void notify_close(struct notify *n)
{
    if (n->fd != -1)
        (void)close(n->fd);
    n->fd = -1;
}

void notify_send(const struct notify *n, const char *format, ...)
{
    char text[256];
    va_list arguments;
    int len;

    if (!notify_is_heard(n))
        return;
    va_start(arguments, format);
    len = vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    if (len < 0 || (size_t)len >= sizeof(text))
        return;
    if (sendto(n->fd, text, (size_t)len, MSG_NOSIGNAL, (const struct sockaddr *)&n->to,
               n->to_bytes) == -1)
        log_msg(LOG_DEBUG, "NOTIFY_SOCKET: %s", strerror(errno));
}
