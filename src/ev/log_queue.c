/* log_queue.c -- a ring of lines, and the thread at its end.
 *
 *     | head | line | head | line | ... | free | ...      a line may go over the end
 *       ^ first                           ^ first + n_bytes
 *
 * A line leaves the ring before it is written, so the lock is held for a copy of at most
 * LOG_QUEUE_LINE_BYTES and never for a system call. An empty ring begins again at its start:
 * one that is read in time touches few of its pages.
 *
 * After a crash the handler waits a little for the thread, which is alive until the process
 * ends: no lock is needed for it, and the last lines are those that matter. */
#include "ev/log_queue.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>
#include <uv.h>

#include "ev/log_file.h"

struct head {
    struct log_loss loss; /* lines dropped just before this one */
    unsigned short len;
    unsigned char level;
    int fd;
};

enum { LEAST_BYTES = 4 * (LOG_QUEUE_LINE_BYTES + (int)sizeof(struct head)) };

static struct {
    atomic_bool is_open;
    atomic_size_t n_lines; /* that wait or are being written; changed under the lock */
    uv_mutex_t lock;       /* guards what follows */
    uv_cond_t filled, ended;
    char *ring;
    size_t size, first, n_bytes;
    struct log_loss loss; /* since the last line that was taken */
    bool is_dropping, is_stopping, has_ended;

    log_loss_text *text;
    uv_thread_t thread;
} queue;

static bool has_loss(const struct log_loss *loss)
{
    uint64_t n = 0;

    for (size_t i = 0; i < LOG_QUEUE_LEVELS; i++)
        n += loss->n[i];
    return n > 0;
}

static void add_loss(struct log_loss *to, const struct log_loss *loss)
{
    for (size_t i = 0; i < LOG_QUEUE_LEVELS; i++)
        to->n[i] += loss->n[i];
}

/* ---- the ring, under the lock */

static void ring_put(const void *bytes, size_t n)
{
    size_t at = (queue.first + queue.n_bytes) % queue.size;
    size_t n_before_end = queue.size - at < n ? queue.size - at : n;

    memcpy(queue.ring + at, bytes, n_before_end);
    memcpy(queue.ring, (const char *)bytes + n_before_end, n - n_before_end);
    queue.n_bytes += n;
}

static void ring_take(void *bytes, size_t n)
{
    size_t n_before_end = queue.size - queue.first < n ? queue.size - queue.first : n;

    memcpy(bytes, queue.ring + queue.first, n_before_end);
    memcpy((char *)bytes + n_before_end, queue.ring, n - n_before_end);
    queue.n_bytes -= n;
    queue.first = queue.n_bytes == 0 ? 0 : (queue.first + n) % queue.size;
}

/* A queue that has begun to drop goes on until half of it is free: a number says more than every
 * second line. */
static bool ring_has_room(size_t n)
{
    if (queue.is_dropping && queue.n_bytes > queue.size / 2)
        return false;
    return queue.n_bytes + n <= queue.size;
}

bool log_queue_put(int fd, unsigned level, str line)
{
    struct head head = {.len = (unsigned short)line.len, .level = (unsigned char)level, .fd = fd};

    if (!atomic_load_explicit(&queue.is_open, memory_order_relaxed))
        return false;
    uv_mutex_lock(&queue.lock);
    queue.is_dropping = !ring_has_room(sizeof(head) + line.len);
    if (queue.is_dropping) {
        queue.loss.n[level]++;
    } else {
        head.loss = queue.loss;
        queue.loss = (struct log_loss){{0}};
        ring_put(&head, sizeof(head));
        ring_put(line.p, line.len);
        atomic_fetch_add_explicit(&queue.n_lines, 1, memory_order_relaxed);
        uv_cond_signal(&queue.filled);
    }
    uv_mutex_unlock(&queue.lock);
    return true;
}

/* ---- the thread */

struct writer {
    struct head head;
    char line[LOG_QUEUE_LINE_BYTES];
    struct log_loss loss;      /* dropped lines that were not reported yet */
    bool is_torn[LOG_TARGETS]; /* only a part of the last line got through: the disk is full */
};

/* Writes all bytes, however long that takes; O_NONBLOCK may have been set by somebody who shares
 * the descriptor. ret_written: how many bytes got through, also when not all did. */
static bool write_all(int fd, const char *p, size_t len, size_t *ret_written)
{
    *ret_written = 0;
    while (*ret_written < len) {
        ssize_t n = write(fd, p + *ret_written, len - *ret_written);

        if (n > 0) {
            *ret_written += (size_t)n;
        } else if (n == -1 && errno == EAGAIN) {
            (void)poll(&(struct pollfd){.fd = fd, .events = POLLOUT}, 1, -1);
        } else if (n == 0 || errno != EINTR) {
            return false;
        }
    }
    return true;
}

/* A torn line is ended first, so that what follows begins a line of its own. */
static bool write_record(struct writer *w, int fd, const char *p, size_t len)
{
    bool *is_torn =
        &w->is_torn[fd == log_file_fd(LOG_TARGET_MAIN) ? LOG_TARGET_MAIN : LOG_TARGET_AUDIT];
    size_t n;

    if (*is_torn && !write_all(fd, "\n", 1, &n))
        return false;
    *is_torn = false;
    if (write_all(fd, p, len, &n))
        return true;
    *is_torn = n > 0;
    return false;
}

static void report_loss(struct writer *w)
{
    char text[LOG_QUEUE_LINE_BYTES];

    if (has_loss(&w->loss) &&
        write_record(w, log_file_fd(LOG_TARGET_MAIN), text, queue.text(&w->loss, text)))
        w->loss = (struct log_loss){{0}};
}

static void write_line(struct writer *w)
{
    add_loss(&w->loss, &w->head.loss);
    report_loss(w);
    if (!write_record(w, w->head.fd, w->line, w->head.len))
        w->loss.n[w->head.level]++;
}

/* Takes the next line into w; false when there is none. */
static bool take_line(struct writer *w)
{
    if (queue.n_bytes == 0)
        return false;
    ring_take(&w->head, sizeof(w->head));
    ring_take(w->line, w->head.len);
    return true;
}

/* Takes the count of dropped lines when no line waits: it is reported now, as none may follow. */
static bool take_loss(struct writer *w)
{
    bool is_new = has_loss(&queue.loss);

    add_loss(&w->loss, &queue.loss);
    queue.loss = (struct log_loss){{0}};
    return is_new;
}

/* Writes what has been taken; the lock is released meanwhile. */
static void write_taken(struct writer *w, bool has_line)
{
    uv_mutex_unlock(&queue.lock);
    if (has_line)
        write_line(w);
    else
        report_loss(w);
    uv_mutex_lock(&queue.lock);
    if (has_line)
        atomic_fetch_sub_explicit(&queue.n_lines, 1, memory_order_relaxed);
}

static void run_writer(void *arg)
{
    struct writer w = {.loss = {{0}}};

    (void)arg;
    uv_mutex_lock(&queue.lock);
    for (;;) {
        bool has_line = take_line(&w);

        if (has_line || take_loss(&w))
            write_taken(&w, has_line);
        else if (!queue.is_stopping)
            uv_cond_wait(&queue.filled, &queue.lock);
        else
            break;
    }
    queue.has_ended = true;
    atomic_store_explicit(&queue.is_open, false, memory_order_relaxed);
    uv_cond_signal(&queue.ended);
    uv_mutex_unlock(&queue.lock);
}

/* ---- crashes */

static const int crashes[] = {SIGABRT, SIGSEGV, SIGBUS, SIGILL, SIGFPE};

/* Runs on the thread that has crashed. The signal, sent again, ends the process when this returns. */
static void on_crash(int signal)
{
    enum { PAUSE_MS = 10 };

    for (int ms = 0; ms < LOG_QUEUE_STOP_MS; ms += PAUSE_MS) {
        if (atomic_load_explicit(&queue.n_lines, memory_order_relaxed) == 0)
            break;
        (void)poll(NULL, 0, PAUSE_MS);
    }
    (void)raise(signal);
}

/* Sanitizers, who have handlers of their own, keep them. */
static void catch_crashes(void)
{
    const struct sigaction ours = {.sa_handler = on_crash, .sa_flags = (int)SA_RESETHAND};
    struct sigaction now;

    for (size_t i = 0; i < COUNT_OF(crashes); i++) {
        if (sigaction(crashes[i], NULL, &now) == 0 && now.sa_handler == SIG_DFL)
            (void)sigaction(crashes[i], &ours, NULL);
    }
}

/* ---- start and end */

/* A forked process has no writing thread, and its copy of the lock may be held for ever. */
static void on_fork(void)
{
    atomic_store_explicit(&queue.is_open, false, memory_order_relaxed);
}

static bool start_thread(void)
{
    sigset_t all, before;
    bool is_started;

    (void)sigfillset(&all); /* signals are for the threads with loops; EPIPE tells enough */
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    is_started = uv_thread_create(&queue.thread, run_writer, NULL) == 0;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return is_started;
}

static bool open_queue(size_t bytes)
{
    queue.size = bytes < LEAST_BYTES ? LEAST_BYTES : bytes;
    queue.ring = malloc(queue.size);
    if (queue.ring == NULL)
        return false;
    if (uv_mutex_init(&queue.lock) == 0) {
        if (uv_cond_init(&queue.filled) == 0) {
            if (uv_cond_init(&queue.ended) == 0)
                return true;
            uv_cond_destroy(&queue.filled);
        }
        uv_mutex_destroy(&queue.lock);
    }
    free(queue.ring);
    return false;
}

bool log_queue_start(size_t bytes, log_loss_text *text)
{
    if (!open_queue(bytes))
        return false;
    queue.text = text;
    queue.is_stopping = queue.has_ended = false;
    if (!start_thread())
        return false; /* what was opened is left: nobody tries again */
    (void)pthread_atfork(NULL, NULL, on_fork);
    catch_crashes();
    atomic_store_explicit(&queue.is_open, true, memory_order_relaxed);
    return true;
}

void log_queue_stop(void)
{
    uint64_t now_ns = uv_hrtime();
    const uint64_t end_ns = now_ns + (uint64_t)LOG_QUEUE_STOP_MS * 1000000;
    bool has_ended;

    if (!atomic_load_explicit(&queue.is_open, memory_order_relaxed))
        return;
    uv_mutex_lock(&queue.lock);
    queue.is_stopping = true;
    uv_cond_signal(&queue.filled);
    for (; !queue.has_ended && now_ns < end_ns; now_ns = uv_hrtime())
        (void)uv_cond_timedwait(&queue.ended, &queue.lock, end_ns - now_ns);
    has_ended = queue.has_ended;
    uv_mutex_unlock(&queue.lock);
    if (has_ended)
        (void)uv_thread_join(&queue.thread);
    else
        (void)pthread_detach(queue.thread); /* it ends with the process */
}
