/* listen_address.c -- one address and its sockets, of either kind. */
#include "net/listen_address.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static const str unix_scheme = STR_INIT("unix:");

struct listen_address {
    char *text;       /* with the port that was bound */
    const char *path; /* within text; NULL: TCP */
    int fd;           /* TCP: the first socket, until it is handed out; -1: none */
    struct stat file; /* of a Unix socket, as it was made */
};

/* The address with its port replaced, or NULL. */
static char *with_port(const char *address, int port)
{
    const char *colon = strrchr(address, ':');
    char *text = NULL;

    if (colon == NULL || asprintf(&text, "%.*s:%d", (int)(colon - address), address, port) == -1)
        return NULL;
    return text;
}

static int open_tcp(struct listen_address *a, const char *text, struct err *reterr)
{
    if (listen_tcp_check_free(text, reterr) == -1)
        return -1;
    a->fd = listen_tcp(text, reterr);
    if (a->fd == -1)
        return -1;
    a->text = with_port(text, listen_port(a->fd));
    return 0;
}

static int open_unix(struct listen_address *a, const char *text, struct err *reterr)
{
    a->fd = listen_unix(text + unix_scheme.len, reterr);
    if (a->fd == -1)
        return -1;
    a->text = strdup(text);
    if (a->text == NULL)
        return 0;
    a->path = a->text + unix_scheme.len;
    (void)lstat(a->path, &a->file);
    return 0;
}

struct listen_address *listen_address_open(const char *text, struct err *reterr)
{
    struct listen_address *a = calloc(1, sizeof(*a));
    bool is_unix = str_starts_with(str_from_c(text), unix_scheme);

    if (a == NULL) {
        err_set_no_memory(reterr);
        return NULL;
    }
    a->fd = -1;
    if ((is_unix ? open_unix(a, text, reterr) : open_tcp(a, text, reterr)) == 0) {
        if (a->text != NULL)
            return a;
        err_set_no_memory(reterr);
    }
    listen_address_close(a);
    return NULL;
}

int listen_address_fd(struct listen_address *a, struct err *reterr)
{
    int fd = a->fd;

    if (a->path == NULL) {
        a->fd = -1;
        return fd != -1 ? fd : listen_tcp(a->text, reterr);
    }
    fd = fcntl(a->fd, F_DUPFD_CLOEXEC, 0);
    if (fd == -1)
        err_set(reterr, ERR_INTERNAL, "listen %s: %s", a->text, strerror(errno));
    return fd;
}

const char *listen_address_text(const struct listen_address *a)
{
    return a->text;
}

static bool is_same_file(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

void listen_address_close(struct listen_address *a)
{
    struct stat now;

    if (a == NULL)
        return;
    if (a->path != NULL && lstat(a->path, &now) == 0 && is_same_file(&now, &a->file))
        (void)unlink(a->path);
    if (a->fd != -1)
        (void)close(a->fd);
    free(a->text);
    free(a);
}
