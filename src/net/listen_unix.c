/* listen_unix.c -- a Unix socket at a path.
 *
 * A process that dies leaves its socket file behind, and bind() refuses a path
 * that exists. Nobody can be reached behind such a file, which tells it from
 * that of a living one. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "net/address.h"
#include "net/listen_address.h"

enum { BACKLOG = 1024, MODE = 0660 };

static int fail_path(const char *path, const char *why, struct err *reterr)
{
    err_set(reterr, ERR_INTERNAL, "listen unix:%s: %s", path, why);
    return -1;
}

/* Reports an errno, with the next step for the operator where there is a usual one. */
static int fail_errno(const char *path, int error, struct err *reterr)
{
    const char *hint = error == ENOENT    ? "; its folder does not exist"
                       : error == ENOTDIR ? "; a part of its folder is a file"
                       : error == EACCES  ? "; the gateway's user may not write to its folder"
                       : error == EROFS   ? "; its folder cannot be written: take another one"
                                          : "";

    err_set(reterr, ERR_INTERNAL, "listen unix:%s: %s%s", path, strerror(error), hint);
    return -1;
}

/* True when a process listens there, also one whose queue is full. */
static bool is_alive(const struct address *at)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    bool is_refused = fd != -1 && connect(fd, &at->to.any, at->len) == -1 &&
                      (errno == ECONNREFUSED || errno == ENOENT);

    if (fd != -1)
        (void)close(fd);
    return !is_refused;
}

static int remove_stale(const struct address *at, struct err *reterr)
{
    struct stat file;

    if (lstat(at->to.un.sun_path, &file) == -1)
        return errno == ENOENT ? 0 : fail_errno(at->to.un.sun_path, errno, reterr);
    if (!S_ISSOCK(file.st_mode))
        return fail_path(at->to.un.sun_path, "this file exists and is no socket; take another path",
                         reterr);
    if (is_alive(at))
        return fail_path(at->to.un.sun_path,
                         "another process listens there; stop it or take another path", reterr);
    if (unlink(at->to.un.sun_path) == -1 && errno != ENOENT)
        return fail_errno(at->to.un.sun_path, errno, reterr);
    return 0;
}

/* The mode of the descriptor becomes that of the file, less the umask: so nobody
 * gets in between bind() and chmod(), which gives the group its part back. */
static int bind_at(int fd, const struct address *at, struct err *reterr)
{
    if (fchmod(fd, MODE) == -1 || bind(fd, &at->to.any, at->len) == -1)
        return fail_errno(at->to.un.sun_path, errno, reterr);
    if (chmod(at->to.un.sun_path, MODE) == 0 && listen(fd, BACKLOG) == 0)
        return 0;
    (void)fail_errno(at->to.un.sun_path, errno, reterr);
    (void)unlink(at->to.un.sun_path);
    return -1;
}

int listen_unix(const char *path, struct err *reterr)
{
    struct address_list list = {.n = 0};
    const struct address *at = &list.at[0];
    int fd;

    if (!address_of_path(str_from_c(path), &list))
        return fail_path(path, "the path is too long for a socket", reterr);
    if (remove_stale(at, reterr) == -1)
        return -1;
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd == -1)
        return fail_errno(path, errno, reterr);
    if (bind_at(fd, at, reterr) == -1) {
        (void)close(fd);
        return -1;
    }
    return fd;
}
