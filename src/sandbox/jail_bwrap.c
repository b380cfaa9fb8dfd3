/* jail_bwrap.c -- which bubblewrap there is, and whether this machine lets it work. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/num.h"
#include "sandbox/jail_internal.h"

/* --size, without which what lies in memory has no limit, came with 0.6.0. */
enum { MIN_MINOR = 6 };

/* ---- what it says of itself */

/* Reads until the other end is closed, or there is no room. */
static str read_all(int fd, char *to, size_t room)
{
    size_t len = 0;

    while (len < room) {
        struct pollfd readable = {.fd = fd, .events = POLLIN};
        ssize_t n = read(fd, to + len, room - len);

        if (n == -1 && errno == EAGAIN)
            n = poll(&readable, 1, -1) == -1 && errno != EINTR ? 0 : -1;
        else if (n > 0)
            len += (size_t)n;
        if (n == 0 || (n == -1 && errno != EAGAIN && errno != EINTR))
            break;
    }
    return str_from(to, len);
}

/* Runs `bwrap --version` and returns what it prints. */
static str ask_version(const char *program, char *to, size_t room)
{
    static const char *const env[] = {NULL};
    const char *const argv[] = {program, "--version", NULL};
    const struct child_command command = {.argv = argv, .env = env};
    struct child_pipes pipes;
    str said = STR_NONE;
    pid_t pid;

    if (child_spawn_open_pipes(&pipes, NULL) == -1)
        return said;
    pid = child_spawn_fork(&command, &pipes, NULL);
    child_spawn_close_pipes(pipes.theirs);
    if (pid != -1) {
        said = read_all(pipes.ours[CHILD_PIPE_OUT], to, room);
        while (waitpid(pid, NULL, 0) == -1 && errno == EINTR)
            continue;
    }
    child_spawn_close_pipes(pipes.ours);
    return said;
}

/* "bubblewrap 0.8.0" */
static bool read_version(struct jail_bwrap *bwrap)
{
    static const str name = STR_INIT("bubblewrap ");
    char text[64];
    str said = str_trim(ask_version(bwrap->program, text, sizeof(text)));
    str rest = str_skip(said, name.len);
    size_t major_len = str_find_char(rest, '.'), minor_len;

    if (!str_starts_with(said, name) || !num_uint(str_from(rest.p, major_len), &bwrap->major))
        return false;
    rest = str_skip(rest, major_len + 1);
    minor_len = str_find_char(rest, '.');
    return num_uint(str_from(rest.p, minor_len), &bwrap->minor);
}

int jail_find_bwrap(const char *const *env, struct arena *a, struct jail_bwrap *ret,
                    struct err *reterr)
{
    struct stat st;

    *ret = (struct jail_bwrap){.program = jail_find_program("bwrap", env, a)};
    if (ret->program == NULL) {
        err_set(reterr, ERR_INTERNAL, "bwrap is not on the PATH: install the package bubblewrap");
        return -1;
    }
    ret->is_setuid = stat(ret->program, &st) == 0 && (st.st_mode & S_ISUID) != 0;
    if (!read_version(ret)) {
        err_set(reterr, ERR_INTERNAL, "%s --version did not work: is it bubblewrap?", ret->program);
        return -1;
    }
    if (ret->major == 0 && ret->minor < MIN_MINOR) {
        err_set(reterr, ERR_INTERNAL, "%s is bubblewrap 0.%d: 0.%d or newer is needed",
                ret->program, (int)ret->minor, MIN_MINOR);
        return -1;
    }
    return 0;
}

/* ---- what the kernel says */

/* Settings that keep users who are not root from making namespaces, and so bwrap from working. */
static const struct {
    const char *setting; /* below /proc/sys */
    char denies;         /* when it begins with this */
    const char *advice;
} settings[] = {
    {"user/max_user_namespaces", '0', "sysctl user.max_user_namespaces=10000"},
    {"kernel/unprivileged_userns_clone", '0', "sysctl kernel.unprivileged_userns_clone=1"},
    {"kernel/apparmor_restrict_unprivileged_userns", '1',
     "an AppArmor profile for bwrap that has the rule userns, or sysctl "
     "kernel.apparmor_restrict_unprivileged_userns=0"},
};

/* The first character of a setting; NUL when there is none such here. */
static char read_setting(const char *name)
{
    char path[128], first = '\0';
    int fd;

    (void)snprintf(path, sizeof(path), "/proc/sys/%s", name);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd == -1)
        return '\0';
    if (read(fd, &first, 1) != 1)
        first = '\0';
    (void)close(fd);
    return first;
}

void jail_advise(struct buf *out)
{
    for (size_t i = 0; i < COUNT_OF(settings); i++) {
        if (read_setting(settings[i].setting) != settings[i].denies)
            continue;
        buf_c(out, "users may not make namespaces here, which takes ");
        buf_c(out, settings[i].advice);
        return;
    }
}
