/* metrics_process.c -- /proc/self, which the process may read of itself whatever is forbidden to others. */
#include "metrics/metrics_process.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { MICROS = 1000000, STAT_THREADS = 17, STAT_START = 19 }; /* words behind the name */

static int64_t micros(struct timeval t)
{
    return (int64_t)t.tv_sec * MICROS + t.tv_usec;
}

static int64_t clock_micros(clockid_t clock)
{
    struct timespec now = {0, 0};

    (void)clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * MICROS + now.tv_nsec / 1000;
}

/* The beginning of a file in /proc, of which no more is needed. */
static str read_start(const char *path, char *to, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd == -1 ? 0 : read(fd, to, size - 1);

    if (fd != -1)
        (void)close(fd);
    to[n < 0 ? 0 : n] = '\0';
    return str_from_c(to);
}

/* The word of a line with this number, from 0, as a number. */
static int64_t word_at(str line, unsigned number)
{
    for (; number > 0; number--)
        (void)str_cut(&line, ' ');
    return line.len == 0 ? 0 : strtoll(line.p, NULL, 10);
}

static void tell_memory(struct metrics_page *p)
{
    const int64_t page_bytes = sysconf(_SC_PAGESIZE);
    char text[256];
    str sizes = read_start("/proc/self/statm", text, sizeof(text));

    metrics_page_add_at(p, METRIC_VIRTUAL, 0, word_at(sizes, 0) * page_bytes);
    metrics_page_add_at(p, METRIC_RESIDENT, 0, word_at(sizes, 1) * page_bytes);
}

/* A clock that is set would move the start, so it is looked for once; by one scrape at a time. */
static int64_t start_micros(int64_t ticks)
{
    static int64_t start;

    if (start == 0)
        start = clock_micros(CLOCK_REALTIME) - clock_micros(CLOCK_BOOTTIME) +
                ticks * MICROS / sysconf(_SC_CLK_TCK);
    return start;
}

static void tell_status(struct metrics_page *p)
{
    char text[1024];
    str line = read_start("/proc/self/stat", text, sizeof(text)); /* 1 (name) S 0 ... */
    str behind = str_skip(line, str_find(line, STR(") ")) + 2);

    if (behind.len == 0)
        return;
    metrics_page_add_at(p, METRIC_THREADS, 0, word_at(behind, STAT_THREADS));
    metrics_page_add_at(p, METRIC_START_TIME, 0, start_micros(word_at(behind, STAT_START)));
}

static void tell_descriptors(struct metrics_page *p)
{
    DIR *folder = opendir("/proc/self/fd");
    struct rlimit files;
    int64_t n = -3; /* the folder's own, and the two that every folder has */

    while (folder != NULL && readdir(folder) != NULL) // NOLINT(concurrency-mt-unsafe): our own DIR
        n++;
    if (folder != NULL)
        (void)closedir(folder);
    metrics_page_add_at(p, METRIC_FDS, 0, n > 0 ? n : 0);
    if (getrlimit(RLIMIT_NOFILE, &files) == 0)
        metrics_page_add_at(p, METRIC_MAX_FDS, 0, (int64_t)files.rlim_cur);
}

void metrics_process_tell(void *arg, struct metrics_page *p)
{
    struct rusage used;

    (void)arg;
    if (getrusage(RUSAGE_SELF, &used) == 0)
        metrics_page_add_at(p, METRIC_CPU, 0, micros(used.ru_utime) + micros(used.ru_stime));
    tell_memory(p);
    tell_status(p);
    tell_descriptors(p);
}
