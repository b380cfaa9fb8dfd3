/* jail_filter.h -- system calls that code in a sandbox has no use for.
 *
 * A second wall: most of them need rights that the sandbox does not have, but each is code of the
 * kernel that a stranger could look for mistakes in. What is not listed is allowed, so that programs
 * nobody has thought of run. */
#ifndef ANTIPHON_SANDBOX_JAIL_FILTER_H
#define ANTIPHON_SANDBOX_JAIL_FILTER_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"

/* Appends the program for the kernel, as bwrap --seccomp reads it. counts_memory: a control group
 * counts all memory of the sandbox; without one, kinds of memory that no limit of a process covers
 * are refused as well. Returns 0, or -1 with *reterr filled. */
int jail_filter_write(bool counts_memory, struct buf *out, struct err *reterr);

#endif
