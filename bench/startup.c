/* startup.c -- how long until a fresh server answers.
 *
 *     startup PORT FILE PROGRAM ARG...
 *
 * Starts the program, connects to PORT as soon as somebody listens there, sends
 * the bytes of FILE, one HTTP request, and reads the answer to its end. Prints
 * the nanoseconds from before fork() to then; the program is killed. A connection
 * that breaks off is tried again, as a load balancer does that waits for a server. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bench_sys.h"
#include "reply.h"

enum { REQUEST_BYTES = 64 * 1024, RETRY_NS = 50 * 1000, LIMIT_MS = 20 * 1000 };

static size_t read_file(const char *path, char *to, size_t size)
{
    FILE *file = fopen(path, "re");
    size_t n = file == NULL ? 0 : fread(to, 1, size, file);

    if (file == NULL || n == 0 || n == size)
        bench_fail("%s: no request, or one too large", path);
    (void)fclose(file);
    return n;
}

static pid_t start(char **command)
{
    pid_t pid = fork();

    if (pid == 0)
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* also when we fail */
    if (pid == -1)
        bench_fail("fork: %s", strerror(errno));
    if (pid > 0)
        return pid;
    (void)execvp(command[0], command);
    bench_fail("%s: %s", command[0], strerror(errno));
}

/* Returns false when the connection broke off before the end of the answer. */
static bool exchange(int fd, str request)
{
    static char bytes[REQUEST_BYTES];
    struct pollfd readable = {.fd = fd, .events = POLLIN};
    struct reply reply;
    ssize_t n;

    reply_start(&reply, REPLY_CHAT_WHOLE); /* of any kind: only its end matters */
    if (send(fd, request.p, request.len, MSG_NOSIGNAL) != (ssize_t)request.len)
        return false;
    while (!reply_is_over(&reply)) {
        if (poll(&readable, 1, LIMIT_MS) != 1)
            return false;
        n = recv(fd, bytes, sizeof(bytes), 0);
        if (n <= 0)
            return false;
        reply_feed(&reply, str_from(bytes, (size_t)n));
    }
    return true;
}

static bool ask(uint16_t port, str request)
{
    int fd = bench_connect(port);
    bool ok = fd != -1 && exchange(fd, request);

    if (fd != -1)
        (void)close(fd);
    return ok;
}

/* There is nothing to wait for while nobody listens; a refusal costs microseconds. */
static void ask_until_answered(uint16_t port, str request)
{
    const struct timespec pause = {.tv_nsec = RETRY_NS};
    uint64_t limit_ns = bench_now_ns() + LIMIT_MS * 1000000ULL;

    while (!ask(port, request)) {
        if (bench_now_ns() > limit_ns)
            bench_fail("port %u: no answer", port);
        (void)nanosleep(&pause, NULL);
    }
}

int main(int argc, char **argv)
{
    static char request[REQUEST_BYTES];
    uint64_t from_ns, ns;
    uint16_t port;
    size_t len;
    pid_t pid;

    if (argc < 4)
        bench_fail("usage: startup PORT FILE PROGRAM ARG...");
    port = (uint16_t)bench_number(argv[1], "PORT");
    len = read_file(argv[2], request, sizeof(request));
    from_ns = bench_now_ns();
    pid = start(argv + 3);
    ask_until_answered(port, str_from(request, len));
    ns = bench_now_ns() - from_ns;
    (void)kill(pid, SIGKILL);
    (void)waitpid(pid, NULL, 0);
    (void)printf("%llu\n", (unsigned long long)ns);
    return 0;
}
