/* log_capture.h -- what is logged between two lines of a test: standard error goes to a file meanwhile. */
#ifndef ANTIPHON_TESTS_UNIT_LOG_CAPTURE_H
#define ANTIPHON_TESTS_UNIT_LOG_CAPTURE_H

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/test.h"

struct log_capture {
    int fd, stderr_fd;
};

static inline struct log_capture log_capture_begin(void)
{
    const struct log_capture c = {.fd = memfd_create("log", MFD_CLOEXEC),
                                  .stderr_fd = dup(STDERR_FILENO)};

    assert_true(c.fd != -1 && c.stderr_fd != -1);
    assert_int_equal(dup2(c.fd, STDERR_FILENO), STDERR_FILENO);
    return c;
}

/* The text, to be freed. */
static inline char *log_capture_end(struct log_capture c)
{
    const off_t size = lseek(c.fd, 0, SEEK_END);
    char *text = calloc(1, (size_t)size + 1);

    assert_non_null(text);
    assert_int_equal(dup2(c.stderr_fd, STDERR_FILENO), STDERR_FILENO);
    assert_int_equal(pread(c.fd, text, (size_t)size, 0), size);
    (void)close(c.fd);
    (void)close(c.stderr_fd);
    return text;
}

#endif
