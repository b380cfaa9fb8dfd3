/* bench_sys.c -- time, loopback sockets, and what another process has used. */
#include "bench_sys.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/num.h"

enum { BACKLOG = 4096 };

void bench_fail(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    (void)fprintf(stderr, "%s: ", program_invocation_short_name);
    (void)vfprintf(stderr, format, args);
    (void)fputc('\n', stderr);
    va_end(args);
    exit(EXIT_FAILURE);
}

uint64_t bench_number(const char *text, const char *what)
{
    uint64_t n;

    if (!num_uint(str_from_c(text), &n))
        bench_fail("%s: not a number: %s", what, text == NULL ? "(missing)" : text);
    return n;
}

static uint64_t read_clock_ns(clockid_t clock)
{
    struct timespec t;

    if (clock_gettime(clock, &t) == -1)
        bench_fail("clock: %s", strerror(errno));
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

uint64_t bench_now_ns(void)
{
    return read_clock_ns(CLOCK_MONOTONIC);
}

static struct sockaddr_in loopback(uint16_t port)
{
    return (struct sockaddr_in){
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

int bench_listen(uint16_t *port)
{
    struct sockaddr_in at = loopback(*port);
    socklen_t len = sizeof(at);
    int on = 1;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    if (fd == -1 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) == -1 ||
        bind(fd, (struct sockaddr *)&at, len) == -1 || listen(fd, BACKLOG) == -1 ||
        getsockname(fd, (struct sockaddr *)&at, &len) == -1)
        bench_fail("listen on port %u: %s", *port, strerror(errno));
    *port = ntohs(at.sin_port);
    return fd;
}

void bench_send_at_once(int fd)
{
    int on = 1;

    if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) == -1)
        bench_fail("TCP_NODELAY: %s", strerror(errno));
}

int bench_connect(uint16_t port)
{
    struct sockaddr_in to = loopback(port);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd == -1)
        bench_fail("socket: %s", strerror(errno));
    if (connect(fd, (struct sockaddr *)&to, sizeof(to)) == -1) {
        if (errno != ECONNREFUSED)
            bench_fail("connect to port %u: %s", port, strerror(errno));
        (void)close(fd);
        return -1;
    }
    if (fcntl(fd, F_SETFL, O_NONBLOCK) == -1)
        bench_fail("socket: %s", strerror(errno));
    bench_send_at_once(fd);
    return fd;
}

uint64_t bench_cpu_ns(pid_t pid)
{
    clockid_t clock;
    int error = clock_getcpuclockid(pid, &clock);

    if (error != 0)
        bench_fail("CPU time of process %d: %s", (int)pid, strerror(error));
    return read_clock_ns(clock);
}

uint64_t bench_rss_kb(pid_t pid)
{
    char path[64], line[256];
    uint64_t kb = 0;
    FILE *file;

    (void)snprintf(path, sizeof(path), "/proc/%d/smaps_rollup", (int)pid);
    file = fopen(path, "re");
    if (file == NULL)
        bench_fail("%s: %s", path, strerror(errno));
    while (kb == 0 && fgets(line, sizeof(line), file) != NULL) {
        if (strncmp(line, "Rss:", 4) == 0)
            kb = strtoull(line + 4, NULL, 10);
    }
    (void)fclose(file);
    if (kb == 0)
        bench_fail("%s: no Rss", path);
    return kb;
}
