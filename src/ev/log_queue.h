/* log_queue.h -- a thread that writes lines, so that nobody else waits for who reads them.
 *
 * A pipe whose reader stalls, a terminal after Ctrl-S, a disk that hangs: write() on them may
 * take for ever, and O_NONBLOCK would belong to everybody who has the same descriptor, the
 * shell above us included. So lines are copied into a ring, and one thread writes them, in
 * order, each with one call. When the ring is full, further lines are dropped until half of it
 * is free, and their number is written before the next line that gets through. A line that
 * cannot be written (full disk, closed pipe) counts as dropped. */
#ifndef ANTIPHON_EV_LOG_QUEUE_H
#define ANTIPHON_EV_LOG_QUEUE_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

enum {
    LOG_QUEUE_LINE_BYTES = PIPE_BUF, /* at most, so that lines never mix in a pipe */
    LOG_QUEUE_LEVELS = 4,
    LOG_QUEUE_STOP_MS = 1000,
};

/* Lines that nobody will see, by level. */
struct log_loss {
    uint64_t n[LOG_QUEUE_LEVELS];
};

/* Writes the line that reports a loss; returns its length. Runs on the writing thread. */
typedef size_t log_loss_text(const struct log_loss *loss, char line[LOG_QUEUE_LINE_BYTES]);

/* Starts the thread; once, before others. False: there is no memory or thread, and no queue. */
bool log_queue_start(size_t bytes, log_loss_text *text);

/* Queues a line for the descriptor, or drops and counts it; never blocks. False when there is no
 * queue: before the start, after log_queue_stop(), and in a process that was forked. Any thread. */
bool log_queue_put(int fd, unsigned level, str line);

/* Waits until all lines are written, at most LOG_QUEUE_STOP_MS; what is left then is lost. */
void log_queue_stop(void);

#endif
