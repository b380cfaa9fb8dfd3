/* jail_sweep.c -- the process that removes groups.
 *
 * Everything below "the process" runs in it, after fork() in a program with threads: system calls
 * only. */
#include "sandbox/jail_sweep.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- the process */

enum {
    PAUSE_MS = 10,
    TRIES = 200, /* two seconds for one group */
};

/* The process has no loop, so it waits by poll(). */
static void pause_a_moment(void)
{
    (void)poll(NULL, 0, PAUSE_MS);
}

static bool remove_once(const struct jail_sweep_conf *conf, const char *group)
{
    bool is_gone = true;

    for (size_t i = 0; i < conf->n_trees; i++)
        is_gone = jail_group_remove(conf->trees[i].path, group) && is_gone;
    return is_gone;
}

static void remove_group(const struct jail_sweep_conf *conf, const char *group)
{
    for (int i = 0; i < TRIES && !remove_once(conf, group); i++)
        pause_a_moment();
}

static void remove_rest(const struct jail_sweep_conf *conf)
{
    for (size_t i = 0; i < conf->n_trees; i++) {
        for (int n = 0; n < TRIES && !jail_group_remove_all(conf->trees[i].path, conf->prefix); n++)
            pause_a_moment();
    }
}

/* Handles the complete lines; returns how much of the text is behind them, which is moved to its
 * beginning. */
static size_t take_lines(const struct jail_sweep_conf *conf, char *text, size_t len)
{
    char *line = text, *end;

    while ((end = memchr(line, '\n', len - (size_t)(line - text))) != NULL) {
        *end = '\0';
        remove_group(conf, line);
        line = end + 1;
    }
    len -= (size_t)(line - text);
    memmove(text, line, len);
    return len;
}

static void read_names(const struct jail_sweep_conf *conf, int fd)
{
    char text[4096];
    size_t len = 0;

    while (len < sizeof(text)) {
        ssize_t n = read(fd, text + len, sizeof(text) - len);

        if (n == 0 || (n == -1 && errno != EINTR))
            return;
        if (n > 0)
            len = take_lines(conf, text, len + (size_t)n);
    }
}

_Noreturn static void sweep_main(const struct jail_sweep_conf *conf, int fd, pid_t gateway)
{
    (void)setsid();
    (void)prctl(PR_SET_NAME, "antiphon-sweep");
    if (chdir("/") == -1 || dup2(fd, 0) == -1)
        _exit(1);
    closefrom(1);
    for (size_t i = 0; i < conf->n_trees; i++)
        jail_group_remove_stale(conf->trees[i].path);
    read_names(conf, 0);
    remove_rest(conf);
    if (*conf->leaf != '\0' && getppid() != gateway)
        jail_group_leave(conf->trees[0].path, conf->leaf);
    _exit(0);
}

/* ---- the gateway */

int jail_sweep_start(const struct jail_sweep_conf *conf, struct jail_sweep *ret, struct err *reterr)
{
    pid_t gateway = getpid(), pid = -1;
    sigset_t all, before;
    int fds[2];

    if (pipe2(fds, O_CLOEXEC) == -1) {
        err_set(reterr, ERR_INTERNAL, "pipe: %s", strerror(errno));
        return -1;
    }
    (void)sigfillset(&all); /* stay blocked in the child */
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    if (fcntl(fds[1], F_SETFL, O_NONBLOCK) != -1)
        pid = fork();
    if (pid == 0)
        sweep_main(conf, fds[0], gateway);
    if (pid == -1)
        err_set(reterr, ERR_INTERNAL, "fork: %s", strerror(errno));
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    (void)close(fds[0]);
    *ret = (struct jail_sweep){pid, fds[1]};
    if (pid == -1)
        (void)close(fds[1]);
    return pid == -1 ? -1 : 0;
}

bool jail_sweep_remove(const struct jail_sweep *sweep, const char *group)
{
    char line[256];
    int len = snprintf(line, sizeof(line), "%s\n", group);

    return len < (int)sizeof(line) &&
           write(sweep->fd, line, (size_t)len) == len; /* whole or not at all */
}

void jail_sweep_stop(struct jail_sweep *sweep)
{
    (void)close(sweep->fd);
    while (waitpid(sweep->pid, NULL, 0) == -1 && errno == EINTR)
        continue;
}
