/* jail_group.c -- directories and files of control groups, by system calls alone. */
#include "sandbox/jail_group.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

/* ---- texts, without the library's help */

struct text {
    char *p;
    size_t len, room; /* room with that of the NUL */
};

static void put_text(struct text *t, const char *more)
{
    size_t len = strlen(more);

    if (t->len + len >= t->room) {
        t->len = t->room; /* failed */
        return;
    }
    memcpy(t->p + t->len, more, len + 1);
    t->len += len;
}

static void put_number(struct text *t, unsigned long n)
{
    char digits[24];
    size_t at = sizeof(digits) - 1;

    digits[at] = '\0';
    do
        digits[--at] = (char)('0' + n % 10);
    while ((n /= 10) > 0);
    put_text(t, digits + at);
}

static bool text_fits(const struct text *t)
{
    return t->len < t->room;
}

bool jail_group_path(const char *tree, const char *group, const char *file,
                     char ret[JAIL_GROUP_PATH_BYTES])
{
    struct text path = {ret, 0, JAIL_GROUP_PATH_BYTES};

    put_text(&path, tree);
    put_text(&path, "/");
    put_text(&path, group);
    put_text(&path, *group == '\0' ? "" : "/");
    put_text(&path, file);
    return text_fits(&path);
}

static bool begins_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

/* ---- files */

int jail_group_open_file(const char *path, int flags)
{
    int fd;

    do
        fd = open(path, flags | O_CLOEXEC);
    while (fd == -1 && errno == EINTR);
    return fd;
}

ssize_t jail_group_read_fd(int fd, void *to, size_t room)
{
    ssize_t n;

    do
        n = read(fd, to, room);
    while (n == -1 && errno == EINTR);
    return n;
}

static ssize_t write_fd(int fd, const void *from, size_t len)
{
    ssize_t n;

    do
        n = write(fd, from, len);
    while (n == -1 && errno == EINTR);
    return n;
}

bool jail_group_write(const char *tree, const char *group, const char *file, const char *text)
{
    char path[JAIL_GROUP_PATH_BYTES];
    size_t len = strlen(text);
    bool is_written;
    int fd, error;

    errno = ENAMETOOLONG;
    if (!jail_group_path(tree, group, file, path))
        return false;
    fd = jail_group_open_file(path, O_WRONLY);
    if (fd == -1)
        return false;
    is_written = write_fd(fd, text, len) == (ssize_t)len;
    error = errno;
    (void)close(fd);
    errno = error;
    return is_written;
}

/* ---- whose a group is */

/* The time at which a process was started, as digits: the 22nd word of its stat, of which the
 * second is a name in brackets that may hold anything. */
static bool find_start_time(char *stat, const char **ret)
{
    enum { WORDS_BEFORE = 20 };
    char *p = strrchr(stat, ')'), *end;

    for (int i = 0; p != NULL && i < WORDS_BEFORE; i++)
        p = strchr(p + 1, ' ');
    end = p == NULL ? NULL : strchr(p + 1, ' ');
    if (end == NULL)
        return false;
    *end = '\0';
    *ret = p + 1;
    return true;
}

bool jail_group_owner(pid_t pid, char ret[JAIL_OWNER_BYTES])
{
    char path[64], stat[1024];
    struct text file = {path, 0, sizeof(path)}, owner = {ret, 0, JAIL_OWNER_BYTES};
    const char *start;
    ssize_t n;
    int fd;

    put_text(&file, "/proc/");
    put_number(&file, (unsigned long)pid);
    put_text(&file, "/stat");
    fd = jail_group_open_file(path, O_RDONLY);
    if (fd == -1)
        return false;
    n = jail_group_read_fd(fd, stat, sizeof(stat) - 1);
    (void)close(fd);
    if (n <= 0)
        return false;
    stat[n] = '\0';
    if (!find_start_time(stat, &start))
        return false;
    put_text(&owner, JAIL_OWNER_START);
    put_number(&owner, (unsigned long)pid);
    put_text(&owner, ".");
    put_text(&owner, start);
    put_text(&owner, ".");
    return text_fits(&owner);
}

/* The number that a text begins with; 0: none. */
static pid_t read_pid(const char *text)
{
    long pid = 0;

    for (; *text >= '0' && *text <= '9' && pid < 100000000; text++)
        pid = pid * 10 + (*text - '0');
    return (pid_t)pid;
}

static bool is_stale(const char *name)
{
    char owner[JAIL_OWNER_BYTES];
    pid_t pid = read_pid(name + strlen(JAIL_OWNER_START));

    if (pid <= 0)
        return false; /* no name of ours */
    if (jail_group_owner(pid, owner))
        return !begins_with(name, owner); /* else another process has got the number */
    return kill(pid, 0) == -1 && errno == ESRCH;
}

static bool is_leaf(const char *name)
{
    const char *last = strrchr(name, '.');

    return last != NULL && strcmp(last + 1, JAIL_LEAF) == 0;
}

/* ---- an end */

/* Kills each process of a group, where the kernel has no cgroup.kill (5.14, version 2). */
static void kill_each(int procs_fd)
{
    char piece[1024];
    long pid = 0;
    ssize_t n;

    while ((n = jail_group_read_fd(procs_fd, piece, sizeof(piece))) > 0) {
        for (ssize_t i = 0; i < n; i++) {
            if (piece[i] >= '0' && piece[i] <= '9') {
                pid = pid * 10 + (piece[i] - '0');
                continue;
            }
            if (pid > 0) /* 0: of another namespace */
                (void)kill((pid_t)pid, SIGKILL);
            pid = 0;
        }
    }
}

static void kill_all(const char *tree, const char *group)
{
    char path[JAIL_GROUP_PATH_BYTES];
    int fd;

    if (jail_group_write(tree, group, "cgroup.kill", "1") ||
        !jail_group_path(tree, group, "cgroup.procs", path))
        return;
    fd = jail_group_open_file(path, O_RDONLY);
    if (fd == -1)
        return;
    kill_each(fd);
    (void)close(fd);
}

bool jail_group_remove(const char *tree, const char *group)
{
    char path[JAIL_GROUP_PATH_BYTES];

    if (!jail_group_path(tree, group, "", path))
        return true;
    if (rmdir(path) == 0 || errno == ENOENT)
        return true;
    kill_all(tree, group);
    return rmdir(path) == 0 || errno == ENOENT;
}

/* ---- all groups of a tree */

/* Called for each group; returns false to end the walk. */
typedef bool on_group(const char *tree, const char *name, void *arg);

static bool is_group(const struct dirent64 *entry)
{
    return entry->d_type == DT_DIR && begins_with(entry->d_name, JAIL_OWNER_START);
}

/* Walks by getdents64(), since readdir() would ask for memory. */
static void each_group(const char *tree, on_group *told, void *arg)
{
    _Alignas(struct dirent64) char piece[4096];
    int fd = jail_group_open_file(tree, O_RDONLY | O_DIRECTORY);
    bool goes_on = fd != -1;
    ssize_t n;

    while (goes_on && (n = getdents64(fd, piece, sizeof(piece))) > 0) {
        for (ssize_t at = 0; goes_on && at < n;) {
            const struct dirent64 *entry = (const void *)(piece + at);

            if (is_group(entry))
                goes_on = told(tree, entry->d_name, arg);
            at += entry->d_reclen;
        }
    }
    if (fd != -1)
        (void)close(fd);
}

struct removal {
    const char *prefix;
    bool is_complete;
};

static bool remove_prefixed(const char *tree, const char *name, void *arg)
{
    struct removal *r = arg;

    if (begins_with(name, r->prefix) && !is_leaf(name) && !jail_group_remove(tree, name))
        r->is_complete = false;
    return true;
}

bool jail_group_remove_all(const char *tree, const char *prefix)
{
    struct removal r = {prefix, true};

    each_group(tree, remove_prefixed, &r);
    return r.is_complete;
}

/* A gateway's leaf is only removed when empty: its other children, which have an end of their own,
 * may be left in it. */
static bool remove_if_stale(const char *tree, const char *name, void *arg)
{
    char path[JAIL_GROUP_PATH_BYTES];

    (void)arg;
    if (!is_stale(name))
        return true;
    if (!is_leaf(name))
        (void)jail_group_remove(tree, name);
    else if (jail_group_path(tree, name, "", path))
        (void)rmdir(path);
    return true;
}

void jail_group_remove_stale(const char *tree)
{
    each_group(tree, remove_if_stale, NULL);
}

/* ---- back from the leaf */

static bool find_other(const char *tree, const char *name, void *arg)
{
    bool *has_others = arg;

    (void)tree;
    *has_others = !is_leaf(name);
    return !*has_others;
}

void jail_group_leave(const char *tree, const char *leaf)
{
    char path[JAIL_GROUP_PATH_BYTES];
    bool has_others = false;

    each_group(tree, find_other, &has_others);
    if (has_others || !jail_group_path(tree, leaf, "", path))
        return;
    (void)jail_group_write(tree, "", "cgroup.subtree_control", "-cpu");
    (void)jail_group_write(tree, "", "cgroup.subtree_control", "-memory -pids");
    (void)jail_group_write(tree, "", "cgroup.procs", "0");
    (void)rmdir(path);
}
