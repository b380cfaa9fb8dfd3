/* memory_size.h -- how much memory this process may take of the machine. */
#ifndef ANTIPHON_MEMORY_MEMORY_SIZE_H
#define ANTIPHON_MEMORY_MEMORY_SIZE_H

#include <stddef.h>

#include "base/str.h"

/* What the machine has, or the least of what its control groups allow this process; 0 when it
 * cannot be told. */
size_t memory_size(void);

/* The least limit of the groups that the texts of /proc/self/cgroup and /proc/self/mountinfo
 * name, and of those above them. SIZE_MAX: none. */
size_t memory_size_of_groups(str cgroup, str mountinfo);

#endif
