/* upgrade_pipe.c -- a wake-up without bytes is no end: the other process may still have its say. */
#include "daemon/upgrade_pipe.h"

#include <errno.h>
#include <unistd.h>

bool upgrade_pipe_read(int fd, char *text, size_t size, size_t *len)
{
    ssize_t n = 1;

    while (n > 0 && *len + 1 < size) {
        n = read(fd, text + *len, size - 1 - *len);
        if (n > 0)
            *len += (size_t)n;
    }
    text[*len] = '\0';
    return n == -1 && (errno == EAGAIN || errno == EINTR);
}
