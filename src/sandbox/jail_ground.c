/* jail_ground.c -- namespaces, users and file systems for bwrap to start in. */
#include "sandbox/jail_ground.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/num.h"
#include "base/str.h"
#include "child/child_spawn.h"

/* ---- in the child */

static bool write_map(const char *path, const char *text)
{
    const size_t len = strlen(text);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    bool is_written = fd != -1 && write(fd, text, len) == (ssize_t)len;
    int error = errno;

    if (fd != -1)
        (void)close(fd);
    errno = error;
    return is_written;
}

/* Makes a namespace with the same user, whose number in it is not 0, so that bwrap gets no rights
 * with it. */
static bool make_users(const struct jail_ground_plan *plan)
{
    return unshare(CLONE_NEWUSER) == 0 && write_map("/proc/self/setgroups", "deny") &&
           write_map("/proc/self/uid_map", plan->uid_map) &&
           write_map("/proc/self/gid_map", plan->gid_map);
}

static bool join_users(const struct jail_ground_plan *plan)
{
    return setns(plan->userns_fd, CLONE_NEWUSER) == 0 && close(plan->userns_fd) == 0 &&
           setgroups(0, NULL) == 0 && setresgid(plan->id, plan->id, plan->id) == 0 &&
           setresuid(plan->id, plan->id, plan->id) == 0;
}

static bool mount_memory(const char *at, const char *options)
{
    return mount("tmpfs", at, "tmpfs", MS_NOSUID | MS_NODEV, options) == 0;
}

static bool make_file_system(const char *at, const char *options)
{
    return mkdir(at, 0755) == 0 && mount_memory(at, options);
}

int jail_ground_prepare(const void *arg)
{
    const struct jail_ground_plan *plan = arg;

    /* The files in /proc of who may not be dumped, as who has changed its user, are root's. */
    if (prctl(PR_SET_DUMPABLE, 1) == 0 &&
        (plan->userns_fd == -1 ? make_users(plan) : join_users(plan)) &&
        prctl(PR_SET_DUMPABLE, 1) == 0 && unshare(CLONE_NEWNS) == 0 &&
        mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
        mount_memory(JAIL_GROUND_DIRECTORY, "mode=0755,size=64k,nr_inodes=16") &&
        make_file_system(JAIL_GROUND_DIRECTORY "/data", plan->disk_options) &&
        make_file_system(JAIL_GROUND_DIRECTORY "/tmp", plan->disk_options) &&
        make_file_system(JAIL_GROUND_DIRECTORY "/shm", plan->shared_options))
        return 0;
    return errno == 0 ? EIO : errno;
}

/* ---- before it */

void jail_ground_plan(const struct jail_user *user, const struct jail_ground_limits *limits,
                      struct jail_ground_plan *ret)
{
    const unsigned uid = user->uid == 0 ? geteuid() : user->uid;
    const unsigned gid = user->uid == 0 ? getegid() : user->gid;

    *ret = (struct jail_ground_plan){.userns_fd = -1, .id = JAIL_GROUND_FIRST};
    (void)snprintf(ret->uid_map, sizeof(ret->uid_map), "%d %u 1", JAIL_GROUND_FIRST, uid);
    (void)snprintf(ret->gid_map, sizeof(ret->gid_map), "%d %u 1", JAIL_GROUND_FIRST, gid);
    (void)snprintf(ret->disk_options, sizeof(ret->disk_options), "mode=0755,size=%zu,nr_inodes=%u",
                   limits->disk_bytes, limits->max_files);
    (void)snprintf(ret->shared_options, sizeof(ret->shared_options),
                   "mode=0755,size=%zu,nr_inodes=%u", limits->shared_bytes, limits->max_files);
}

static bool become_user(const struct jail_user *user)
{
    return user->uid == 0 ||
           (setgroups(0, NULL) == 0 && setresgid(user->gid, user->gid, user->gid) == 0 &&
            setresuid(user->uid, user->uid, user->uid) == 0);
}

int jail_ground_try(const struct jail_user *user, const struct jail_ground_plan *plan)
{
    pid_t pid = fork();
    int status = 0;

    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        _exit(become_user(user) ? jail_ground_prepare(plan) : errno);
    }
    if (pid == -1)
        return errno;
    while (waitpid(pid, &status, 0) == -1 && errno == EINTR)
        continue;
    return WIFEXITED(status) ? WEXITSTATUS(status) : EIO;
}

/* ---- users that may be given away */

struct range {
    uint64_t first, n;
};

static bool read_range(str line, str name, str number, struct range *ret)
{
    size_t name_len = str_find_char(line, ':'), first_len;
    str whose = str_from(line.p, name_len);

    if (!str_eq(whose, name) && !str_eq(whose, number))
        return false;
    line = str_skip(line, name_len + 1);
    first_len = str_find_char(line, ':');
    return num_uint(str_from(line.p, first_len), &ret->first) && ret->first > 0 &&
           num_uint(str_trim(str_skip(line, first_len + 1)), &ret->n) && ret->n > 0;
}

/* Finds our user's first range: "name:first:number" or "uid:first:number". */
static bool find_range(const char *path, struct range *ret)
{
    struct passwd entry, *found = NULL;
    char text[4096], line[512], number[16];
    FILE *file = fopen(path, "re");
    bool has_range = false;

    (void)snprintf(number, sizeof(number), "%u", (unsigned)geteuid());
    if (getpwuid_r(geteuid(), &entry, text, sizeof(text), &found) != 0 || found == NULL)
        entry.pw_name = number;
    while (file != NULL && !has_range && fgets(line, sizeof(line), file) != NULL)
        has_range =
            read_range(str_from_c(line), str_from_c(entry.pw_name), str_from_c(number), ret);
    if (file != NULL)
        (void)fclose(file);
    return has_range;
}

/* Runs newuidmap or newgidmap for a process. */
static bool give_range(const char *program, const char *const *env, pid_t pid,
                       const struct range *range)
{
    char words[4][24];
    const char *const argv[] = {program, words[0], words[1], words[2], words[3], NULL};
    const struct child_command command = {.argv = argv, .env = env};
    struct child_pipes pipes;
    int status = -1;
    pid_t helper;

    (void)snprintf(words[0], sizeof(words[0]), "%d", (int)pid);
    (void)snprintf(words[1], sizeof(words[1]), "%d", JAIL_GROUND_FIRST);
    (void)snprintf(words[2], sizeof(words[2]), "%llu", (unsigned long long)range->first);
    (void)snprintf(words[3], sizeof(words[3]), "%llu", (unsigned long long)range->n);
    if (child_spawn_open_pipes(&pipes, NULL) == -1)
        return false;
    helper = child_spawn_fork(&command, &pipes, NULL);
    child_spawn_close_pipes(pipes.theirs);
    while (helper != -1 && waitpid(helper, &status, 0) == -1 && errno == EINTR)
        continue;
    child_spawn_close_pipes(pipes.ours);
    return status == 0;
}

/* Starts a process in a namespace of its own, which says so by a byte and then waits to be killed.
 */
static pid_t start_holder(int *ret_told)
{
    int ends[2];
    pid_t pid;

    if (pipe2(ends, O_CLOEXEC) == -1)
        return -1;
    pid = fork();
    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)prctl(PR_SET_DUMPABLE, 1); /* newuidmap looks at whose files in /proc are */
        if (dup2(ends[1], 0) == -1)
            _exit(1);
        closefrom(1);
        if (unshare(CLONE_NEWUSER) == -1 || write(0, "", 1) != 1)
            _exit(1);
        for (;;)
            (void)pause();
    }
    (void)close(ends[1]);
    *ret_told = ends[0];
    return pid;
}

static int open_namespace(pid_t holder, int told, const char *const *env, const struct range *users,
                          const struct range *groups)
{
    char path[64], byte;

    if (read(told, &byte, 1) != 1 || !give_range("newuidmap", env, holder, users) ||
        !give_range("newgidmap", env, holder, groups))
        return -1;
    (void)snprintf(path, sizeof(path), "/proc/%d/ns/user", (int)holder);
    return open(path, O_RDONLY | O_CLOEXEC);
}

int jail_ground_open_users(const char *const *env, unsigned *ret_n, struct err *reterr)
{
    enum { MOST = 65536 };
    struct range users, groups;
    int fd = -1, told = -1;
    pid_t holder;

    if (!find_range("/etc/subuid", &users) || !find_range("/etc/subgid", &groups)) {
        err_set(reterr, ERR_INTERNAL,
                "the gateway's user has no range in /etc/subuid and /etc/subgid");
        return -1;
    }
    users.n = groups.n = users.n < groups.n ? users.n : groups.n;
    if (users.n > MOST)
        users.n = groups.n = MOST;
    holder = start_holder(&told);
    if (holder != -1) {
        fd = open_namespace(holder, told, env, &users, &groups);
        (void)close(told);
        (void)kill(holder, SIGKILL);
        while (waitpid(holder, NULL, 0) == -1 && errno == EINTR)
            continue;
    }
    if (fd == -1)
        err_set(reterr, ERR_INTERNAL, "newuidmap (package uidmap) did not work");
    *ret_n = (unsigned)users.n;
    return fd;
}
