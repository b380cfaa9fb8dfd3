/* jail_tree.c -- read /proc/self/cgroup and /proc/self/mountinfo.
 *
 *     4:memory:/user/1                                        number:controllers:group
 *     0::/user/1                                              version 2
 *
 *     35 31 0:32 /user /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory
 *                 |     \ where                     \ kind           \ options: the controllers
 *                 \ what of the tree is seen there: groups below it, without this in front */
#include "sandbox/jail_tree.h"

#include <string.h>

const str jail_controller_names[JAIL_CONTROLLERS] = {
    [JAIL_MEMORY] = STR_INIT("memory"),
    [JAIL_PIDS] = STR_INIT("pids"),
    [JAIL_CPU] = STR_INIT("cpu"),
};

bool jail_tree_has_word(str list, char separator, str word)
{
    while (list.len > 0) {
        if (str_eq(str_cut(&list, separator), word))
            return true;
    }
    return false;
}

/* The group that this process is in; controller is "" for version 2. STR_NONE: none. */
static str find_group(str cgroup, str controller)
{
    while (cgroup.len > 0) {
        str line = str_cut(&cgroup, '\n');
        str controllers;

        (void)str_cut(&line, ':');
        controllers = str_cut(&line, ':');
        if (controller.len == 0 ? controllers.len == 0
                                : jail_tree_has_word(controllers, ',', controller))
            return line;
    }
    return STR_NONE;
}

struct mounted {
    str root, where;
};

/* Reads a line of mountinfo; false unless it is of that kind and has that option. */
static bool read_mount(str line, str kind, str option, struct mounted *ret)
{
    size_t dash = str_find(line, STR(" - "));
    str behind = str_skip(line, dash + 3);

    for (int i = 0; i < 3; i++)
        (void)str_cut(&line, ' ');
    ret->root = str_cut(&line, ' ');
    ret->where = str_cut(&line, ' ');
    if (!str_eq(str_cut(&behind, ' '), kind))
        return false;
    (void)str_cut(&behind, ' ');
    return option.len == 0 || jail_tree_has_word(behind, ',', option);
}

/* The group relative to what is mounted; STR_NONE when it lies outside. */
static str path_below(str root, str group)
{
    if (str_eq(root, STR("/")))
        return str_eq(group, STR("/")) ? STR("") : group;
    if (!str_starts_with(group, root))
        return STR_NONE;
    group = str_skip(group, root.len);
    return group.len == 0 || *group.p == '/' ? group : STR_NONE;
}

static bool find_tree(str cgroup, str mountinfo, str kind, str controller, struct jail_tree *ret)
{
    str group = find_group(cgroup, controller);

    while (mountinfo.len > 0 && !str_is_none(group)) {
        struct mounted m;
        str rest;

        if (!read_mount(str_cut(&mountinfo, '\n'), kind, controller, &m))
            continue;
        rest = path_below(m.root, group);
        if (str_is_none(rest) || m.where.len + rest.len >= sizeof(ret->path))
            continue;
        memcpy(ret->path, m.where.p, m.where.len);
        memcpy(ret->path + m.where.len, rest.p, rest.len);
        ret->path[m.where.len + rest.len] = '\0';
        return true;
    }
    return false;
}

bool jail_tree_find_v1(str cgroup, str mountinfo, enum jail_controller which, struct jail_tree *ret)
{
    return find_tree(cgroup, mountinfo, STR("cgroup"), jail_controller_names[which], ret);
}

bool jail_tree_find_v2(str cgroup, str mountinfo, struct jail_tree *ret)
{
    return find_tree(cgroup, mountinfo, STR("cgroup2"), STR(""), ret);
}
