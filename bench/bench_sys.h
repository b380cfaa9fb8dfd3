/* bench_sys.h -- what the bench programs need of the system: time, loopback
 * sockets, and what another process has used.
 *
 * A benchmark that goes on after an error measures something else, so every
 * failure here ends the program with a message. */
#ifndef ANTIPHON_BENCH_SYS_H
#define ANTIPHON_BENCH_SYS_H

#include <stdint.h>
#include <stdnoreturn.h>
#include <sys/types.h>

/* Writes "PROGRAM: message" to standard error and exits with status 1. */
noreturn void bench_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* A number from the command line; what names it in the message. */
uint64_t bench_number(const char *text, const char *what);

uint64_t bench_now_ns(void); /* monotonic */

/* A non-blocking socket that listens on 127.0.0.1; port 0 becomes a free one. */
int bench_listen(uint16_t *port);

/* A connection to 127.0.0.1, non-blocking from then on; -1 when refused. */
int bench_connect(uint16_t port);

/* Switches Nagle's algorithm off. */
void bench_send_at_once(int fd);

/* CPU time, user and system, of all threads of a process since its start. */
uint64_t bench_cpu_ns(pid_t pid);

/* Resident memory of a process, exact: VmRSS lags behind by some pages for each CPU. */
uint64_t bench_rss_kb(pid_t pid);

#endif
