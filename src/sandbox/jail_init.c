/* jail_init.c -- the first process of a sandbox, with which the kernel ends all others there.
 *
 * bwrap tells its number, and the number may be another process's by the time it is used. A
 * descriptor of the process (pidfd) stays what it is. Whether it was opened in time is known by the
 * parent: bwrap, our own child, which we have not reaped, so that nobody else can have its number.
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/num.h"
#include "json/json_read.h"
#include "sandbox/jail_internal.h"

enum { INFO_BYTES = 1024 };

pid_t jail_init_of(int info_fd)
{
    char text[INFO_BYTES];
    ssize_t n = info_fd == -1 ? -1 : read(info_fd, text, sizeof(text));
    str number = n <= 0 ? STR_NONE : jr_member(str_from(text, (size_t)n), STR("child-pid"));
    uint64_t pid;

    return !str_is_none(number) && num_uint(number, &pid) && pid <= INT32_MAX ? (pid_t)pid : 0;
}

/* The fourth word of a process's stat, behind a name in brackets that may hold anything, and a
 * letter. */
static pid_t parent_of(pid_t pid)
{
    char path[64], text[1024];
    uint64_t parent;
    str rest;
    ssize_t n;
    int fd;

    (void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd == -1)
        return 0;
    n = read(fd, text, sizeof(text));
    (void)close(fd);
    rest = str_from(text, n <= 0 ? 0 : (size_t)n);
    while (rest.len > 0 && rest.p[rest.len - 1] != ')')
        rest.len--;
    rest = str_skip(str_from(text, n <= 0 ? 0 : (size_t)n), rest.len + sizeof(" S ") - 1);
    rest.len = str_find_char(rest, ' ');
    return num_uint(rest, &parent) && parent <= INT32_MAX ? (pid_t)parent : 0;
}

bool jail_init_can_be_held(void)
{
    int fd = (int)syscall(SYS_pidfd_open, getpid(), 0U);

    if (fd != -1)
        (void)close(fd);
    return fd != -1;
}

int jail_init_open(pid_t init, pid_t bwrap)
{
    int fd = (int)syscall(SYS_pidfd_open, init, 0U); /* closes on exec; since Linux 5.3 */

    if (fd == -1 || parent_of(init) == bwrap)
        return fd;
    (void)close(fd);
    return -1;
}
