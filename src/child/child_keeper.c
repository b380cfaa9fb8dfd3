/* child_keeper.c -- the keeper's process, and how the gateway speaks to it.
 *
 * Everything below "the process" runs in it, after fork() in a program with threads: system calls
 * only. */
#include "child/child_keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* A message to the keeper: a group, or minus a group that has ended. */
typedef pid_t keeper_word;

/* ---- the process */

enum {
    MOST_GROUPS = 4096,
    PAUSE_MS = 10,
    TERM_MS = 500,  /* after the end of their input */
    KILL_MS = 1500, /* and SIGKILL */
};

struct groups {
    pid_t at[MOST_GROUPS];
    size_t n;
};

static void forget_group(struct groups *g, pid_t group)
{
    for (size_t i = 0; i < g->n; i++) {
        if (g->at[i] == group) {
            g->at[i] = g->at[--g->n];
            return;
        }
    }
}

/* Reads messages until nobody is left who could send one: neither the gateway, nor a child that is
 * not its program yet. */
static void hear_groups(struct groups *g, int fd)
{
    keeper_word word;
    ssize_t n;

    while ((n = recv(fd, &word, sizeof(word), 0)) != 0) {
        if (n == -1 && errno != EINTR)
            return;
        if (n == (ssize_t)sizeof(word) && word < 0)
            forget_group(g, -word);
        else if (n == (ssize_t)sizeof(word) && g->n < MOST_GROUPS)
            g->at[g->n++] = word;
    }
}

static void forget_empty(struct groups *g)
{
    for (size_t i = g->n; i-- > 0;) {
        if (kill(-g->at[i], 0) == -1)
            forget_group(g, g->at[i]);
    }
}

static void signal_groups(const struct groups *g, int signal)
{
    for (size_t i = 0; i < g->n; i++)
        (void)kill(-g->at[i], signal);
}

static void end_groups(struct groups *g)
{
    for (int ms = 0; ms <= KILL_MS; ms += PAUSE_MS) {
        forget_empty(g);
        if (g->n == 0)
            return;
        if (ms == TERM_MS)
            signal_groups(g, SIGTERM);
        (void)poll(NULL, 0, PAUSE_MS);
    }
    signal_groups(g, SIGKILL);
}

_Noreturn static void run_keeper(int fd)
{
    static struct groups groups;

    (void)setsid();
    (void)prctl(PR_SET_NAME, "antiphon-keeper");
    if (chdir("/") == -1 || dup2(fd, 0) == -1)
        _exit(1);
    closefrom(1);
    hear_groups(&groups, 0);
    end_groups(&groups);
    _exit(0);
}

/* ---- the gateway */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards the next */
static int keeper_fd = -1;

/* Forks the keeper as a child of a child that has ended: nobody has to reap it. */
static bool fork_keeper(int fd)
{
    sigset_t all, before;
    int status = -1;
    pid_t pid;

    (void)sigfillset(&all); /* stay blocked in the keeper */
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    pid = fork();
    if (pid == 0) {
        pid = _Fork(); /* without the handlers of fork(), which are not for such a process */
        if (pid == 0)
            run_keeper(fd);
        _exit(pid == -1);
    }
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    while (pid != -1 && waitpid(pid, &status, 0) == -1 && errno == EINTR)
        continue;
    return status == 0;
}

static int start_keeper(void)
{
    int fds[2];

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) == -1)
        return -1;
    if (!fork_keeper(fds[1])) {
        (void)close(fds[0]);
        fds[0] = -1;
    }
    (void)close(fds[1]);
    return fds[0];
}

static bool has_keeper(void)
{
    struct pollfd peer = {.fd = keeper_fd};

    return keeper_fd != -1 && poll(&peer, 1, 0) == 0;
}

/* Puts a new keeper at the number of one that has died: whoever was told that number may still use
 * it. */
static void replace_keeper(int fd)
{
    if (fd == -1)
        return;
    if (keeper_fd == -1) {
        keeper_fd = fd;
        return;
    }
    (void)dup3(fd, keeper_fd, O_CLOEXEC);
    (void)close(fd);
}

int child_keeper_fd(void)
{
    int fd;

    (void)pthread_mutex_lock(&lock);
    if (!has_keeper())
        replace_keeper(start_keeper());
    fd = keeper_fd;
    (void)pthread_mutex_unlock(&lock);
    return fd;
}

/* Sends a message without waiting: a group whose message is lost goes on without a keeper. */
static void send_word(int fd, keeper_word word)
{
    ssize_t sent = send(fd, &word, sizeof(word), MSG_NOSIGNAL | MSG_DONTWAIT);

    (void)sent;
}

void child_keeper_announce(int fd)
{
    if (fd != -1)
        send_word(fd, getpid());
}

void child_keeper_forget(pid_t group)
{
    (void)pthread_mutex_lock(&lock);
    if (keeper_fd != -1)
        send_word(keeper_fd, -group);
    (void)pthread_mutex_unlock(&lock);
}
