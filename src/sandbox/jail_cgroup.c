/* jail_cgroup.c -- groups with limits for sandboxes, in the trees that this machine has. */
#include "sandbox/jail_cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sandbox/jail_delegate.h"
#include "sandbox/jail_sweep.h"

enum { NO_TREE = -1 };

struct jail_groups {
    unsigned version;
    struct jail_tree trees[JAIL_CONTROLLERS]; /* different ones */
    size_t n_trees;
    int tree_of[JAIL_CONTROLLERS]; /* NO_TREE: this machine cannot limit it */
    char owner[JAIL_OWNER_BYTES];
    char prefix[JAIL_OWNER_BYTES + 16];
    char leaf[JAIL_OWNER_BYTES + 16]; /* version 2: the group that we have moved to; or "" */
    struct jail_sweep sweep;
    bool is_swept; /* sweep was started */
};

/* ---- limits */

/* Processes of a sandbox besides its program: bwrap outside. */
enum { OWN_PROCESSES = 1 };

enum { PERIOD_US = 100000 };

enum value { MEMORY, PROCESSES, QUOTA, PERIOD, QUOTA_OF_PERIOD, NOTHING, YES };

/* Limits in the order of writing: that of memsw may not be less than that of memory. */
static const struct limit {
    unsigned version;
    enum jail_controller controller;
    const char *file;
    enum value value;
    bool may_fail; /* whether it exists depends on how the kernel was built and started */
} limits_of_groups[] = {
    {1, JAIL_MEMORY, "memory.limit_in_bytes", MEMORY, false},
    {1, JAIL_MEMORY, "memory.memsw.limit_in_bytes", MEMORY, true},
    {1, JAIL_MEMORY, "memory.swappiness", NOTHING, true},
    {1, JAIL_PIDS, "pids.max", PROCESSES, false},
    {1, JAIL_CPU, "cpu.cfs_period_us", PERIOD, true},
    {1, JAIL_CPU, "cpu.cfs_quota_us", QUOTA, true},
    {2, JAIL_MEMORY, "memory.max", MEMORY, false},
    {2, JAIL_MEMORY, "memory.swap.max", NOTHING, true},
    {2, JAIL_MEMORY, "memory.oom.group", YES, true}, /* all ends, or a part waits for the rest */
    {2, JAIL_PIDS, "pids.max", PROCESSES, false},
    {2, JAIL_CPU, "cpu.max", QUOTA_OF_PERIOD, true},
};

static void print_value(enum value value, const struct jail_group_limits *limits, char *to,
                        size_t room)
{
    const unsigned long quota_us = (unsigned long)limits->cpu_percent * PERIOD_US / 100;

    switch (value) {
    case MEMORY:
        (void)snprintf(to, room, "%zu", limits->memory_bytes);
        return;
    case PROCESSES:
        (void)snprintf(to, room, "%u", limits->max_processes + OWN_PROCESSES);
        return;
    case QUOTA:
        (void)snprintf(to, room, "%lu", quota_us);
        return;
    case PERIOD:
        (void)snprintf(to, room, "%d", PERIOD_US);
        return;
    case QUOTA_OF_PERIOD:
        (void)snprintf(to, room, "%lu %d", quota_us, PERIOD_US);
        return;
    case NOTHING:
        (void)snprintf(to, room, "0");
        return;
    case YES:
        (void)snprintf(to, room, "1");
        return;
    }
}

static int set_limits(const struct jail_groups *groups, const char *group,
                      const struct jail_group_limits *limits, struct err *reterr)
{
    for (size_t i = 0; i < COUNT_OF(limits_of_groups); i++) {
        const struct limit *l = &limits_of_groups[i];
        int tree = groups->tree_of[l->controller];
        char text[64] = "";

        if (l->version != groups->version || tree == NO_TREE)
            continue;
        print_value(l->value, limits, text, sizeof(text));
        if (jail_group_write(groups->trees[tree].path, group, l->file, text) || l->may_fail)
            continue;
        err_set(reterr, ERR_INTERNAL, "%s/%s/%s: %s", groups->trees[tree].path, group, l->file,
                strerror(errno));
        return -1;
    }
    return 0;
}

/* ---- one group */

static void remove_now(const struct jail_groups *groups, const char *group)
{
    for (size_t i = 0; i < groups->n_trees; i++)
        (void)jail_group_remove(groups->trees[i].path, group);
}

/* Makes the group in all trees or none. */
static int make_group(const struct jail_groups *groups, const char *group, struct err *reterr)
{
    for (size_t i = 0; i < groups->n_trees; i++) {
        char path[JAIL_GROUP_PATH_BYTES];

        errno = ENAMETOOLONG;
        if (jail_group_path(groups->trees[i].path, group, "", path) && mkdir(path, 0755) == 0)
            continue;
        err_set(reterr, ERR_INTERNAL, "cannot make a control group in %s: %s",
                groups->trees[i].path, strerror(errno));
        while (i-- > 0)
            (void)jail_group_remove(groups->trees[i].path, group);
        return -1;
    }
    return 0;
}

static void close_fds(int *fds, size_t n)
{
    for (size_t i = 0; i < n; i++)
        (void)close(fds[i]);
}

static int open_procs(const struct jail_groups *groups, const char *group,
                      int ret_fds[JAIL_MAX_JOIN_FDS], struct err *reterr)
{
    for (size_t i = 0; i < groups->n_trees; i++) {
        char path[JAIL_GROUP_PATH_BYTES];

        (void)jail_group_path(groups->trees[i].path, group, "cgroup.procs", path);
        ret_fds[i] = jail_group_open_file(path, O_WRONLY);
        if (ret_fds[i] != -1)
            continue;
        err_set(reterr, ERR_INTERNAL, "%s: %s", path, strerror(errno));
        close_fds(ret_fds, i);
        return -1;
    }
    return 0;
}

int jail_group_open(struct jail_groups *groups, const char *name,
                    const struct jail_group_limits *limits, char ret_group[JAIL_GROUP_BYTES],
                    int ret_fds[JAIL_MAX_JOIN_FDS], size_t *ret_n_fds, struct err *reterr)
{
    int len = snprintf(ret_group, JAIL_GROUP_BYTES, "%s%s", groups->prefix, name);

    if (len >= JAIL_GROUP_BYTES || strchr(name, '/') != NULL) {
        ret_group[0] = '\0';
        err_set(reterr, ERR_INTERNAL, "%s is no name for a control group", name);
        return -1;
    }
    if (make_group(groups, ret_group, reterr) == 0) {
        if (set_limits(groups, ret_group, limits, reterr) == 0 &&
            open_procs(groups, ret_group, ret_fds, reterr) == 0) {
            *ret_n_fds = groups->n_trees;
            return 0;
        }
        remove_now(groups, ret_group);
    }
    ret_group[0] = '\0';
    return -1;
}

void jail_group_close(struct jail_groups *groups, const char *group)
{
    if (!groups->is_swept || !jail_sweep_remove(&groups->sweep, group))
        remove_now(groups, group);
}

/* ---- the trees */

/* Reads a file of /proc, which does not tell its length. */
static void read_proc(const char *path, struct buf *out)
{
    enum { PIECE_BYTES = 4096 };
    int fd = jail_group_open_file(path, O_RDONLY);
    ssize_t n = fd == -1 ? 0 : 1;

    while (n > 0) {
        char *room = buf_reserve(out, PIECE_BYTES);

        n = room == NULL ? 0 : jail_group_read_fd(fd, room, PIECE_BYTES);
        if (n > 0)
            out->len += (size_t)n;
    }
    if (fd != -1)
        (void)close(fd);
}

/* Controllers may have a tree in common. */
static int add_tree(struct jail_groups *groups, const struct jail_tree *tree)
{
    for (size_t i = 0; i < groups->n_trees; i++) {
        if (strcmp(groups->trees[i].path, tree->path) == 0)
            return (int)i;
    }
    groups->trees[groups->n_trees] = *tree;
    return (int)groups->n_trees++;
}

static int use_v1(struct jail_groups *groups, str cgroup, str mountinfo, struct err *reterr)
{
    groups->version = 1;
    groups->leaf[0] = '\0';
    for (size_t i = 0; i < JAIL_CONTROLLERS; i++) {
        struct jail_tree tree;

        groups->tree_of[i] = NO_TREE;
        if (jail_tree_find_v1(cgroup, mountinfo, (enum jail_controller)i, &tree)) {
            groups->tree_of[i] = add_tree(groups, &tree);
        } else if (i != JAIL_CPU) {
            err_set(reterr, ERR_INTERNAL, "there is none for %.*s here",
                    STR_ARG(jail_controller_names[i]));
            return -1;
        }
    }
    return 0;
}

static int use_v2(struct jail_groups *groups, struct jail_tree *tree, struct err *reterr)
{
    groups->version = 2;
    if (jail_delegate(tree, groups->leaf, reterr) == -1)
        return -1;
    groups->trees[0] = *tree;
    groups->n_trees = 1;
    return 0;
}

/* A machine has the controllers in one version, whichever else is mounted. */
static int find_trees(struct jail_groups *groups, str cgroup, str mountinfo, struct err *reterr)
{
    struct jail_tree tree;

    if (jail_tree_find_v1(cgroup, mountinfo, JAIL_MEMORY, &tree) ||
        !jail_tree_find_v2(cgroup, mountinfo, &tree))
        return use_v1(groups, cgroup, mountinfo, reterr);
    return use_v2(groups, &tree, reterr);
}

/* ---- all of it */

/* Groups of several jails of a process have names of their own. */
static int name_groups(struct jail_groups *groups, struct err *reterr)
{
    static atomic_uint n_jails;

    if (!jail_group_owner(getpid(), groups->owner)) {
        err_set(reterr, ERR_INTERNAL, "/proc/%d/stat: %s", (int)getpid(), strerror(errno));
        return -1;
    }
    (void)snprintf(groups->prefix, sizeof(groups->prefix), "%s%u.", groups->owner,
                   atomic_fetch_add(&n_jails, 1));
    (void)snprintf(groups->leaf, sizeof(groups->leaf), "%s" JAIL_LEAF, groups->owner);
    return 0;
}

static int open_groups(struct jail_groups *groups, struct err *reterr)
{
    struct buf cgroup = {.limit = 0}, mountinfo = {.limit = 0};
    int rc = name_groups(groups, reterr);

    if (rc == 0) {
        read_proc("/proc/self/cgroup", &cgroup);
        read_proc("/proc/self/mountinfo", &mountinfo);
        rc = find_trees(groups, buf_str(&cgroup), buf_str(&mountinfo), reterr);
    }
    buf_fini(&cgroup);
    buf_fini(&mountinfo);
    return rc;
}

/* Makes a group, which is the only way to know that it can be done. */
static int try_group(struct jail_groups *groups, struct err *reterr)
{
    static const struct jail_group_limits limits = {1 << 20, 1, 100};
    char group[JAIL_GROUP_BYTES];
    int fds[JAIL_MAX_JOIN_FDS] = {-1, -1, -1};
    size_t n;

    if (jail_group_open(groups, "trial", &limits, group, fds, &n, reterr) == -1)
        return -1;
    close_fds(fds, n);
    remove_now(groups, group);
    return 0;
}

static int start_sweep(struct jail_groups *groups, struct err *reterr)
{
    const struct jail_sweep_conf conf = {groups->trees, groups->n_trees, groups->prefix,
                                         groups->leaf};

    groups->is_swept = jail_sweep_start(&conf, &groups->sweep, reterr) == 0;
    return groups->is_swept ? 0 : -1;
}

struct jail_groups *jail_groups_new(struct err *reterr)
{
    struct jail_groups *groups = calloc(1, sizeof(*groups));

    if (groups == NULL) {
        err_set_no_memory(reterr);
        return NULL;
    }
    if (open_groups(groups, reterr) == 0 && try_group(groups, reterr) == 0 &&
        start_sweep(groups, reterr) == 0)
        return groups;
    jail_groups_free(groups);
    return NULL;
}

void jail_groups_free(struct jail_groups *groups)
{
    if (groups == NULL)
        return;
    if (groups->is_swept)
        jail_sweep_stop(&groups->sweep);
    if (groups->n_trees > 0 && groups->leaf[0] != '\0')
        jail_group_leave(groups->trees[0].path, groups->leaf);
    free(groups);
}

unsigned jail_groups_version(const struct jail_groups *groups)
{
    return groups->version;
}
