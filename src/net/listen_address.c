/* listen_address.c -- one address and its sockets, of either kind. */
#include "net/listen_address.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

static const str unix_scheme = STR_INIT("unix:");

struct listen_address {
    char *text;       /* with the port that was bound */
    const char *path; /* within text, of a file that is its own; NULL: none */
    int *fds;         /* its sockets; workers have duplicates of them */
    size_t n_fds;
    size_t n_handed_out;
    bool is_shared;   /* no worker gets a socket of its own: there is one queue */
    bool is_managed;  /* somebody else keeps its sockets open */
    struct stat file; /* of a Unix socket, as it was made */
};

/* Takes fd. */
static int add_socket(struct listen_address *a, int fd, struct err *reterr)
{
    int *fds = fd == -1 ? NULL : realloc(a->fds, (a->n_fds + 1) * sizeof(*fds));

    if (fd == -1)
        return -1;
    if (fds == NULL) {
        (void)close(fd);
        return err_set_no_memory(reterr);
    }
    a->fds = fds;
    a->fds[a->n_fds++] = fd;
    return 0;
}

static void close_sockets(struct listen_address *a)
{
    while (a->n_fds > 0)
        (void)close(a->fds[--a->n_fds]);
    a->n_handed_out = 0;
}

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
    int fd = listen_tcp_check_free(text, reterr) == -1 ? -1 : listen_tcp(text, reterr);

    if (fd == -1)
        return -1;
    a->text = with_port(text, listen_port(fd));
    return add_socket(a, fd, reterr);
}

static int open_unix(struct listen_address *a, const char *text, struct err *reterr)
{
    a->is_shared = true;
    if (add_socket(a, listen_unix(text + unix_scheme.len, reterr), reterr) == -1)
        return -1;
    a->text = strdup(text);
    if (a->text == NULL)
        return 0;
    a->path = a->text + unix_scheme.len;
    (void)lstat(a->path, &a->file);
    return 0;
}

static bool is_managed(const char *text)
{
    return str_starts_with(str_from_c(text), STR("fd:"));
}

/* What the text of an address becomes whose sockets were passed, and what goes with it. */
static void describe_passed(struct listen_address *a, const char *text)
{
    int on = 0;
    socklen_t size = sizeof(on);

    a->is_managed = is_managed(text);
    a->is_shared = getsockopt(a->fds[0], SOL_SOCKET, SO_REUSEPORT, &on, &size) == -1 || on == 0;
    if (a->is_managed) {
        a->text = listen_bound_text(a->fds[0]);
    } else if (str_starts_with(str_from_c(text), unix_scheme)) {
        a->text = strdup(text);
        a->path = a->text == NULL ? NULL : a->text + unix_scheme.len;
        if (a->path != NULL)
            (void)lstat(a->path, &a->file);
    } else {
        a->text = with_port(text, listen_port(a->fds[0]));
    }
}

struct listen_address *listen_address_take(const char *text, const struct listen_passed_list *list,
                                           struct err *reterr)
{
    struct listen_address *a = calloc(1, sizeof(*a));

    if (a == NULL) {
        err_set_no_memory(reterr);
        return NULL;
    }
    for (size_t i = 0; i < list->n; i++) {
        if (strcmp(list->v[i].address, text) == 0 && add_socket(a, list->v[i].fd, reterr) == -1)
            goto failed;
    }
    assert(a->n_fds > 0);
    describe_passed(a, text);
    if (a->text != NULL)
        return a;
    err_set_no_memory(reterr);
failed:
    listen_address_close(a);
    return NULL;
}

size_t listen_address_per_worker(const struct listen_address *a, size_t n_workers)
{
    if (a->is_shared)
        return a->n_fds;
    return a->n_fds <= n_workers ? 1 : (a->n_fds + n_workers - 1) / n_workers;
}

const int *listen_address_sockets(const struct listen_address *a, size_t *ret_n)
{
    *ret_n = a->n_fds;
    return a->fds;
}

void listen_address_leave(struct listen_address *a)
{
    a->path = NULL;
}

struct listen_address *listen_address_open(const char *text, struct err *reterr)
{
    struct listen_address *a = calloc(1, sizeof(*a));
    bool is_unix = str_starts_with(str_from_c(text), unix_scheme);
    bool is_passed = is_managed(text);

    if (a == NULL) {
        err_set_no_memory(reterr);
        return NULL;
    }
    if (is_passed)
        err_set(reterr, ERR_INTERNAL, "listen %s: no socket of this name was passed to the process",
                text);
    else if ((is_unix ? open_unix(a, text, reterr) : open_tcp(a, text, reterr)) == 0) {
        if (a->text != NULL)
            return a;
        err_set_no_memory(reterr);
    }
    listen_address_close(a);
    return NULL;
}

int listen_address_fd(struct listen_address *a, struct err *reterr)
{
    const size_t at = a->n_handed_out++;
    int fd;

    if (at >= a->n_fds && !a->is_shared && add_socket(a, listen_tcp(a->text, reterr), reterr) == -1)
        return -1;
    fd = fcntl(a->fds[at % a->n_fds], F_DUPFD_CLOEXEC, 0);
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

static void remove_file(const struct listen_address *a)
{
    struct stat now;

    if (a->path != NULL && lstat(a->path, &now) == 0 && is_same_file(&now, &a->file))
        (void)unlink(a->path);
}

void listen_address_rest(struct listen_address *a)
{
    a->n_handed_out = 0;
    if (a->is_managed)
        return; /* it could not be opened again */
    remove_file(a);
    close_sockets(a);
}

/* Others that listen there are not looked for: workers may not have closed their sockets yet. */
int listen_address_serve(struct listen_address *a, struct err *reterr)
{
    char *former = a->text;
    int rc;

    if (a->is_managed)
        return 0;
    if (a->path == NULL)
        return add_socket(a, listen_tcp(a->text, reterr), reterr);
    rc = open_unix(a, former, reterr);
    if (a->text == NULL || rc == -1) {
        a->text = former;
        return rc == -1 ? -1 : err_set_no_memory(reterr);
    }
    free(former);
    return 0;
}

void listen_address_close(struct listen_address *a)
{
    if (a == NULL)
        return;
    remove_file(a);
    close_sockets(a);
    free(a->fds);
    free(a->text);
    free(a);
}
