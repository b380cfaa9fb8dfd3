/* jail_group.h -- what is done to one directory of control groups.
 *
 * Everything here may be called between fork() and exec in a process with threads: no memory is
 * asked for, no lock taken. */
#ifndef ANTIPHON_SANDBOX_JAIL_GROUP_H
#define ANTIPHON_SANDBOX_JAIL_GROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "sandbox/jail_tree.h"

/* Names begin with whose they are, "antiphon.PID.START.", PID having been started at START. */
#define JAIL_OWNER_START "antiphon."
#define JAIL_LEAF        "gateway" /* ends the name of the group that the gateway itself is in */

enum {
    JAIL_OWNER_BYTES = 64,
    JAIL_GROUP_PATH_BYTES = JAIL_TREE_BYTES + 256, /* of a file in a group */
};

/* "tree/group/file"; group and file may be "". False when it does not fit. */
bool jail_group_path(const char *tree, const char *group, const char *file,
                     char ret[JAIL_GROUP_PATH_BYTES]);

/* Writes a file of a group at once. False with errno set. */
bool jail_group_write(const char *tree, const char *group, const char *file, const char *text);

/* Open and read files of control groups, whose calls a signal may interrupt: they are tried again
 * until they come to an end. */
int jail_group_open_file(const char *path, int flags);
ssize_t jail_group_read_fd(int fd, void *to, size_t room);

/* Writes what the names of a process's groups begin with. False when there is no such process. */
bool jail_group_owner(pid_t pid, char ret[JAIL_OWNER_BYTES]);

/* Removes the group, and kills what is in it when that is what is in the way. False when that
 * takes longer; true also when there is no such group. */
bool jail_group_remove(const char *tree, const char *group);

/* Removes all groups whose name begins so; those that only hold a gateway are left. */
bool jail_group_remove_all(const char *tree, const char *prefix);

/* Removes the groups whose owner is no more. */
void jail_group_remove_stale(const char *tree);

/* Moves the process, with version 2, from the leaf back into the tree's own group, and removes the
 * leaf, unless others have groups there. */
void jail_group_leave(const char *tree, const char *leaf);

#endif
