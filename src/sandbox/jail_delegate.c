/* jail_delegate.c -- from a group with a process to one with groups below it. */
#include "sandbox/jail_delegate.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/num.h"
#include "sandbox/jail_group.h"

/* The text of a file, without line end; "" when it cannot be read. It is cut to what there is room
 * for, which shows that more than one process is listed all the same. */
static str read_file(const char *tree, const char *file, char *to, size_t room)
{
    char path[JAIL_GROUP_PATH_BYTES];
    ssize_t n = -1;
    int fd;

    if (!jail_group_path(tree, "", file, path))
        return STR("");
    fd = jail_group_open_file(path, O_RDONLY);
    if (fd != -1) {
        n = jail_group_read_fd(fd, to, room);
        (void)close(fd);
    }
    return n <= 0 ? STR("") : str_trim(str_from(to, (size_t)n));
}

static bool lists_controllers(const char *tree, const char *file)
{
    char text[512];
    str list = read_file(tree, file, text, sizeof(text));

    return jail_tree_has_word(list, ' ', jail_controller_names[JAIL_MEMORY]) &&
           jail_tree_has_word(list, ' ', jail_controller_names[JAIL_PIDS]);
}

static bool is_alone_in(const char *tree)
{
    char text[64];
    uint64_t pid;

    return num_uint(read_file(tree, "cgroup.procs", text, sizeof(text)), &pid) &&
           pid == (uint64_t)getpid();
}

/* The root group has no type. */
static bool is_root_group(const char *tree)
{
    char path[JAIL_GROUP_PATH_BYTES];

    return jail_group_path(tree, "", "cgroup.type", path) && access(path, F_OK) == -1;
}

static bool enable_controllers(const char *tree)
{
    if (!jail_group_write(tree, "", "cgroup.subtree_control", "+memory +pids"))
        return false;
    (void)jail_group_write(tree, "", "cgroup.subtree_control", "+cpu"); /* if there is one */
    return true;
}

static int refuse_tree(const char *tree, const char *what, struct err *reterr)
{
    err_set(reterr, ERR_INTERNAL, "%s: %s: %s", tree, what, strerror(errno));
    return -1;
}

static int move_to_leaf(const char *tree, const char *leaf, struct err *reterr)
{
    char path[JAIL_GROUP_PATH_BYTES];
    int rc;

    if (!jail_group_path(tree, leaf, "", path) || (mkdir(path, 0755) == -1 && errno != EEXIST))
        return refuse_tree(tree, "cannot make a group", reterr);
    if (jail_group_write(tree, leaf, "cgroup.procs", "0") && enable_controllers(tree))
        return 0;
    rc = refuse_tree(tree, "cannot have groups with limits", reterr);
    jail_group_leave(tree, leaf);
    return rc;
}

/* True when this process has moved to the leaf before; the tree becomes the directory above. */
static bool is_in_leaf(struct jail_tree *tree, const char *leaf)
{
    char *last = strrchr(tree->path, '/');

    if (last == NULL || strcmp(last + 1, leaf) != 0)
        return false;
    *last = '\0';
    return true;
}

int jail_delegate(struct jail_tree *tree, char *leaf, struct err *reterr)
{
    if (is_in_leaf(tree, leaf) || lists_controllers(tree->path, "cgroup.subtree_control")) {
        *leaf = '\0';
        return 0;
    }
    if (!lists_controllers(tree->path, "cgroup.controllers")) {
        err_set(
            reterr, ERR_INTERNAL,
            "%s has no controllers memory and pids: Delegate=yes in a unit of systemd gives them",
            tree->path);
        return -1;
    }
    if (is_root_group(tree->path)) {
        *leaf = '\0';
        return enable_controllers(tree->path)
                   ? 0
                   : refuse_tree(tree->path, "cgroup.subtree_control", reterr);
    }
    if (!is_alone_in(tree->path)) {
        err_set(
            reterr, ERR_INTERNAL,
            "%s has other processes than the gateway: it needs a group for itself, as a unit of "
            "systemd with Delegate=yes has",
            tree->path);
        return -1;
    }
    return move_to_leaf(tree->path, leaf, reterr);
}
