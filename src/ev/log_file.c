/* log_file.c -- at most one file for each target. */
#include "ev/log_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static struct {
    const char *path; /* NULL: it has no file */
    int fd;
} files[LOG_TARGETS];

/* A pipe without a reader is refused and not waited for. */
static int open_path(const char *path, struct err *reterr)
{
    int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK,
                  LOG_FILE_MODE);

    if (fd != -1 && fcntl(fd, F_SETFL, O_APPEND) == 0)
        return fd;
    err_set(reterr, ERR_INTERNAL, "%s: cannot be opened for the log: %s", path, strerror(errno));
    if (fd != -1)
        (void)close(fd);
    return -1;
}

int log_file_open(enum log_target target, const char *path, struct err *reterr)
{
    int fd = open_path(path, reterr);

    if (fd == -1)
        return -1;
    files[target].fd = fd;
    files[target].path = path;
    return 0;
}

int log_file_reopen(enum log_target target, struct err *reterr)
{
    int fd, rc;

    if (!log_file_is_open(target))
        return 0;
    fd = open_path(files[target].path, reterr);
    if (fd == -1)
        return -1;
    rc = dup3(fd, files[target].fd, O_CLOEXEC) == -1 ? -1 : 0;
    if (rc == -1)
        err_set(reterr, ERR_INTERNAL, "%s: dup3: %s", files[target].path, strerror(errno));
    (void)close(fd);
    return rc;
}

bool log_file_is_open(enum log_target target)
{
    return files[target].path != NULL;
}

int log_file_fd(enum log_target target)
{
    if (log_file_is_open(target))
        return files[target].fd;
    return target == LOG_TARGET_MAIN ? STDERR_FILENO : log_file_fd(LOG_TARGET_MAIN);
}
