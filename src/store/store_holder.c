/* store_holder.c -- who holds a lock, and is that process alive? */
#include "store/store_holder.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/id.h"
#include "base/num.h"
#include "ev/loop.h"
#include "ev/sha256.h"

/* Earlier versions renew every third of 30 s, unless they are told otherwise. */
enum { RANDOM_CHARS = 16, HOST_BYTES = 8, UNKNOWN_LEASE_MS = 60 * 1000 };

/* ---- processes */

struct process {
    char state;
    uint64_t n_threads, start;
};

bool kernel_file_read(const char *path, char *text, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd == -1 ? -1 : read(fd, text, size - 1);

    if (fd != -1)
        (void)close(fd);
    if (n <= 0)
        return false;
    text[n] = '\0';
    return true;
}

/* /proc/PID/stat: its second field is a name in parentheses that may hold any byte, so
 * fields are counted from the last parenthesis. */
static bool process_read(const char *pid, struct process *ret)
{
    enum { STATE = 3, THREADS = 20, START = 22 };
    char path[64], text[1024];
    const char *p;

    (void)snprintf(path, sizeof(path), "/proc/%s/stat", pid);
    if (!kernel_file_read(path, text, sizeof(text)) || (p = strrchr(text, ')')) == NULL ||
        p[1] != ' ')
        return false;
    ret->state = p[2];
    p += 1;
    for (int field = STATE; field <= START; field++) {
        p = p == NULL ? NULL : strchr(p, ' ');
        if (p == NULL)
            return false;
        p++;
        if (field == THREADS)
            ret->n_threads = strtoull(p, NULL, 10);
        if (field == START)
            ret->start = strtoull(p, NULL, 10);
    }
    return true;
}

/* A process that was killed stays in the table until its parent has asked for it. */
static bool has_ended(const struct process *p)
{
    return p->state == 'X' || (p->state == 'Z' && p->n_threads <= 1);
}

/* True when the process is known to be gone. Others' processes may be hidden in /proc, but a signal
 * tells that they are there. */
static bool is_gone(uint64_t pid, uint64_t start)
{
    char name[24];
    struct process p = {.state = '?'};

    if (kill((pid_t)pid, 0) == -1 && errno == ESRCH)
        return true;
    (void)snprintf(name, sizeof(name), "%llu", (unsigned long long)pid);
    return process_read(name, &p) && (p.start != start || has_ended(&p));
}

/* ---- hosts */

static void append_link(const char *path, struct buf *out)
{
    char text[64];
    ssize_t n = readlink(path, text, sizeof(text));

    if (n > 0)
        buf_append(out, str_from(text, (size_t)n));
    buf_char(out, '\n');
}

/* Writes what all have in common to whom the number of a process means the same. A snapshot of a
 * running machine has the boot of the original, but hardly its name. Empty: unknown. */
static void write_place(struct buf *out)
{
    char boot[64];
    struct utsname names;

    if (uname(&names) == -1 ||
        !kernel_file_read("/proc/sys/kernel/random/boot_id", boot, sizeof(boot)) ||
        access("/proc/self/ns/pid", F_OK) == -1)
        return;
    buf_c(out, boot);
    buf_c(out, names.nodename);
    buf_char(out, '\n');
    append_link("/proc/self/ns/pid", out);
    append_link("/proc/self/ns/time", out); /* the start of a process is told in its own time */
}

static void write_host(struct buf *out)
{
    unsigned char hash[SHA256_BYTES];
    struct buf place = {.limit = 0};
    char digits[3];

    write_place(&place);
    if (place.len == 0 || buf_failed(&place) || !sha256(buf_str(&place), hash)) {
        buf_char(out, '-');
    } else {
        for (size_t i = 0; i < HOST_BYTES; i++) {
            (void)snprintf(digits, sizeof(digits), "%02x", hash[i]);
            buf_c(out, digits);
        }
    }
    buf_fini(&place);
}

/* ---- names */

void holder_name_make(uint64_t lease_ms, char name[HOLDER_NAME_BYTES])
{
    const struct id_source randomness = {.fill = random_fill};
    const struct id random = id_make(&randomness, "", RANDOM_CHARS);
    struct process self = {.start = 0};
    struct buf host = {.limit = 0};

    if (process_read("self", &self))
        write_host(&host);
    (void)snprintf(name, HOLDER_NAME_BYTES, "%.*s.%llu.%s.%lld.%llu/", RANDOM_CHARS, random.text,
                   (unsigned long long)lease_ms, host.len == 0 ? "-" : buf_cstr(&host),
                   (long long)getpid(), (unsigned long long)self.start);
    buf_fini(&host);
}

str holder_name_of(str lock)
{
    size_t slash = str_find_char(lock, '/');

    return str_from(lock.p, slash < lock.len ? slash + 1 : lock.len);
}

enum part { PART_RANDOM, PART_LEASE, PART_HOST, PART_PID, PART_START, PARTS };

/* Splits the name of a holder; false for one of an earlier version. */
static bool split_name(str name, str parts[PARTS])
{
    str rest = str_from(name.p, str_find_char(name, '/'));

    for (int i = 0; i < PARTS; i++) {
        if (i > 0 && rest.len == 0)
            return false;
        parts[i] = str_from(rest.p, i == PARTS - 1 ? rest.len : str_find_char(rest, '.'));
        rest = str_skip(rest, parts[i].len < rest.len ? parts[i].len + 1 : rest.len);
    }
    return true;
}

uint64_t holder_lease_ms(str name)
{
    str parts[PARTS];
    uint64_t lease_ms;

    if (!split_name(name, parts) || !num_uint(parts[PART_LEASE], &lease_ms))
        return UNKNOWN_LEASE_MS;
    return lease_ms;
}

static bool is_here(str host)
{
    struct buf here = {.limit = 0};
    bool is;

    write_host(&here);
    is = !buf_failed(&here) && str_eq(buf_str(&here), host) && !str_eq(host, STR("-"));
    buf_fini(&here);
    return is;
}

bool holder_is_dead(str name)
{
    enum { MOST_PID = 1 << 22 };
    str parts[PARTS];
    uint64_t pid, start;

    return split_name(name, parts) && num_uint(parts[PART_PID], &pid) && pid > 0 &&
           pid <= MOST_PID && num_uint(parts[PART_START], &start) && start > 0 &&
           is_here(parts[PART_HOST]) && is_gone(pid, start);
}
