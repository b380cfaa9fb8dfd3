/* log_file.h -- where lines go: standard error, which belongs to whoever has started us, or files of
 * our own.
 *
 * A file is opened for append, and opened again when it has been moved away (SIGUSR1): the new one takes
 * the number of the old descriptor in one step, so that a line on its way goes to one of the two, whole.
 * One that cannot be opened again leaves the old one as it is. */
#ifndef ANTIPHON_EV_LOG_FILE_H
#define ANTIPHON_EV_LOG_FILE_H

#include <stdbool.h>

#include "base/err.h"

enum log_target {
    LOG_TARGET_MAIN,  /* all lines but those of the next */
    LOG_TARGET_AUDIT, /* who did what; until it has a file they join the others */
    LOG_TARGETS,
};

enum { LOG_FILE_MODE = 0640 };

/* Opens a file for the target; the path outlives the process. Before other threads log. Returns 0, or -1
 * with *reterr filled. */
int log_file_open(enum log_target target, const char *path, struct err *reterr);

/* Opens it again by its path; nothing when the target has no file. From one thread. Returns 0, or -1 with
 * *reterr filled and the old one in its place. */
int log_file_reopen(enum log_target target, struct err *reterr);

/* The descriptor, standard error without a file; the same for the life of the process. Any thread. */
int log_file_fd(enum log_target target);

bool log_file_is_open(enum log_target target);

#endif
