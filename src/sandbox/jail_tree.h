/* jail_tree.h -- where the control groups of this process are (cgroups(7)). */
#ifndef ANTIPHON_SANDBOX_JAIL_TREE_H
#define ANTIPHON_SANDBOX_JAIL_TREE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/str.h"

enum { JAIL_TREE_BYTES = 1024 };

enum jail_controller { JAIL_MEMORY, JAIL_PIDS, JAIL_CPU, JAIL_CONTROLLERS };

extern const str jail_controller_names[JAIL_CONTROLLERS];

/* The directory of the group that a process is in. */
struct jail_tree {
    char path[JAIL_TREE_BYTES];
};

/* Find the tree in the texts of /proc/self/cgroup and /proc/self/mountinfo: of a controller of
 * version 1, or of version 2. False when there is none, or it is not mounted where we could see it.
 */
bool jail_tree_find_v1(str cgroup, str mountinfo, enum jail_controller which,
                       struct jail_tree *ret);
bool jail_tree_find_v2(str cgroup, str mountinfo, struct jail_tree *ret);

/* True when the word is in a list of words. */
bool jail_tree_has_word(str list, char separator, str word);

#endif
