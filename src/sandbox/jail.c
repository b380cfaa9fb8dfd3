/* jail.c -- what is found out once, and what each sandbox starts with. */
#include "sandbox/jail.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sandbox/jail_filter.h"
#include "sandbox/jail_internal.h"

/* ---- whom it runs as */

/* Root keeps rights that no limit and no permission of a file takes away, also in a namespace. */
static int find_user(const char *name, struct jail_user *ret, struct err *reterr)
{
    struct passwd entry, *found = NULL;
    char text[4096];

    *ret = (struct jail_user){0, 0};
    if (geteuid() != 0)
        return 0;
    if (getpwnam_r(name, &entry, text, sizeof(text), &found) != 0 || found == NULL) {
        err_set(reterr, ERR_INTERNAL, "--code-user: there is no user %s", name);
        return -1;
    }
    if (found->pw_uid == 0) {
        err_set(reterr, ERR_INTERNAL, "--code-user: sandboxes do not run as root");
        return -1;
    }
    *ret = (struct jail_user){found->pw_uid, found->pw_gid};
    return 0;
}

/* ---- the jail */

static int check_paths(const struct jail *jail, struct err *reterr)
{
    for (size_t i = 0; i < jail->conf.n_paths; i++) {
        if (jail_check_path(jail->conf.paths[i], &jail->user, reterr) == -1)
            return -1;
    }
    return 0;
}

static int find_groups(struct jail *jail, struct err *reterr)
{
    struct err *why = &jail->why_no_groups;

    if (jail->conf.cgroup == JAIL_CGROUP_OFF) {
        err_set(why, ERR_INTERNAL, "off");
        return 0;
    }
    jail->groups = jail_groups_new(why);
    if (jail->groups != NULL || jail->conf.cgroup != JAIL_CGROUP_REQUIRE)
        return 0;
    err_set(reterr, ERR_INTERNAL, "--code-cgroup: there can be no control groups: %s", why->msg);
    return -1;
}

static struct jail_ground_limits ground_limits(const struct jail *jail)
{
    return (struct jail_ground_limits){jail->conf.disk_bytes, JAIL_SHARED_BYTES,
                                       jail->conf.max_files};
}

/* Opens users for cells, unless we are root, which has some anyhow, or there is a way out: the
 * proxy's socket is for the gateway's own user. */
static void find_users(struct jail *jail)
{
    struct err *why = &jail->why_no_users;

    if (jail->user.uid != 0)
        return;
    if (jail->conf.ground != JAIL_GROUND_USERS)
        err_set(why, ERR_INTERNAL, "sandboxes did not start with one of /etc/subuid");
    else if (jail->conf.has_egress)
        err_set(why, ERR_INTERNAL, "code_network is on");
    else
        jail->users_fd = jail_ground_open_users(jail->conf.env, &jail->n_users, why);
}

static void find_ground(struct jail *jail)
{
    const struct jail_ground_limits limits = ground_limits(jail);
    struct jail_ground_plan plan;
    int error;

    if (jail->conf.ground == JAIL_GROUND_NONE) {
        err_set(&jail->why_no_ground, ERR_INTERNAL, "sandboxes did not start with it");
        return;
    }
    find_users(jail);
    jail_ground_plan(&jail->user, &limits, &plan);
    plan.userns_fd = jail->users_fd;
    error = jail_ground_try(&jail->user, &plan);
    jail->has_ground = error == 0;
    if (error != 0)
        err_set(&jail->why_no_ground, ERR_INTERNAL, "%s", strerror(error));
}

static bool has_own_user(const struct jail *jail)
{
    return jail->user.uid != 0 || (jail->has_ground && jail->users_fd != -1);
}

/* The user that sandboxes of root run as may run other programs, but none of the gateway's. */
static int write_filter(struct jail *jail, struct err *reterr)
{
    const struct jail_filter_conf conf = {.counts_memory = jail_counts_memory(jail),
                                          .has_own_user = has_own_user(jail),
                                          .has_own_space = jail->user.uid != 0};

    return jail_filter_write(&conf, &jail->filter, reterr);
}

static int find_parts(struct jail *jail, struct err *reterr)
{
    const struct jail_conf *conf = &jail->conf;

    if (find_user(conf->user, &jail->user, reterr) == -1 ||
        jail_find_bwrap(conf->env, &jail->arena, &jail->bwrap, reterr) == -1 ||
        jail_find_python(conf->python, conf->env, &jail->user, &jail->arena, &jail->python,
                         reterr) == -1 ||
        check_paths(jail, reterr) == -1 || find_groups(jail, reterr) == -1)
        return -1;
    find_ground(jail);
    return write_filter(jail, reterr);
}

struct jail *jail_new(const struct jail_conf *conf, struct err *reterr)
{
    struct jail *jail = calloc(1, sizeof(*jail));

    if (jail == NULL) {
        err_set_no_memory(reterr);
        return NULL;
    }
    jail->conf = *conf;
    jail->users_fd = -1;
    if (find_parts(jail, reterr) == 0)
        return jail;
    jail_free(jail);
    return NULL;
}

uid_t jail_uid(const struct jail *jail)
{
    return jail->user.uid;
}

void jail_free(struct jail *jail)
{
    if (jail == NULL)
        return;
    jail_groups_free(jail->groups);
    if (jail->users_fd != -1)
        (void)close(jail->users_fd);
    arena_fini(&jail->arena);
    buf_fini(&jail->filter);
    free(jail);
}

bool jail_counts_memory(const struct jail *jail)
{
    return jail->groups != NULL;
}

void jail_describe(const struct jail *jail, struct buf *out)
{
    buf_c(out, "bubblewrap ");
    buf_uint(out, jail->bwrap.major);
    buf_char(out, '.');
    buf_uint(out, jail->bwrap.minor);
    if (jail->groups != NULL) {
        buf_c(out, ", control groups v");
        buf_uint(out, jail_groups_version(jail->groups));
    } else {
        buf_c(out, ", no control groups (");
        buf_c(out, jail->why_no_groups.msg);
        buf_char(out, ')');
    }
    buf_c(out, ", Python ");
    buf_c(out, jail->python.program);
}

enum jail_ground jail_ground_of(const struct jail *jail)
{
    if (!jail->has_ground)
        return JAIL_GROUND_NONE;
    return jail->users_fd == -1 ? JAIL_GROUND_FILES : JAIL_GROUND_USERS;
}

static void add_shortfall(size_t *n, struct buf *out, const char *what, const struct err *why,
                          const char *help)
{
    if ((*n)++ > 0)
        buf_char(out, '\n');
    buf_c(out, what);
    if (why != NULL) {
        buf_c(out, " (");
        buf_c(out, why->msg);
        buf_char(out, ')');
    }
    buf_c(out, ": ");
    buf_c(out, help);
}

size_t jail_shortfalls(const struct jail *jail, struct buf *out)
{
    size_t n = 0;

    if (jail->groups == NULL)
        add_shortfall(
            &n, out,
            "memory and processor of a sandbox are limited for each of its processes only, "
            "not for all together",
            &jail->why_no_groups,
            "control groups help, as a unit of systemd with Delegate=yes has them");
    if (!has_own_user(jail))
        add_shortfall(&n, out,
                      "sandboxes share the gateway's user and what the kernel grants it, so that "
                      "epoll and inotify are off in them",
                      &jail->why_no_users,
                      "the package uidmap and a range of the user in /etc/subuid and /etc/subgid "
                      "help, or a gateway that root starts");
    if (!jail->has_ground)
        add_shortfall(&n, out, "the number of files of a sandbox has no limit",
                      &jail->why_no_ground,
                      "user namespaces that the gateway itself may make help");
    if (!jail_init_can_be_held())
        add_shortfall(&n, out, "a sandbox is killed by its number, which another process may get",
                      NULL, "Linux 5.3 or newer helps");
    return n;
}

/* ---- what bwrap reads from descriptors */

static bool write_all(int fd, str bytes)
{
    while (bytes.len > 0) {
        ssize_t n = write(fd, bytes.p, bytes.len);

        if (n == -1 && errno != EINTR)
            return false;
        if (n > 0)
            bytes = str_skip(bytes, (size_t)n);
    }
    return true;
}

/* A file without a name, to be read from its beginning. Each sandbox needs its own, since the
 * place where the next byte is read from is shared. Returns -1 when that fails. */
static int make_file(str content)
{
    int fd = memfd_create("sandbox", MFD_CLOEXEC);

    if (fd != -1 && write_all(fd, content) && lseek(fd, 0, SEEK_SET) == 0)
        return fd;
    if (fd != -1)
        (void)close(fd);
    return -1;
}

static bool make_files(struct jail_cell *cell, const char *script)
{
    const str contents[JAIL_FD_INFO] = {
        [JAIL_FD_FILTER] = buf_str(&cell->jail->filter),
        [JAIL_FD_SCRIPT] = str_from_c(script),
        [JAIL_FD_PASSWD] = STR("root:x:0:0::/:/usr/sbin/nologin\n"
                               "sandbox:x:1000:1000::" JAIL_WORK_DIRECTORY ":/bin/sh\n"
                               "nobody:x:65534:65534::/:/usr/sbin/nologin\n"),
        [JAIL_FD_GROUP] = STR("root:x:0:\nsandbox:x:1000:\nnogroup:x:65534:\n"),
        [JAIL_FD_HOSTS] = STR("127.0.0.1 localhost sandbox\n::1 localhost\n"),
    };

    for (size_t i = 0; i < JAIL_FD_INFO; i++) {
        cell->fds[i] = make_file(contents[i]);
        if (cell->fds[i] == -1)
            return false;
    }
    return true;
}

static bool make_info(struct jail_cell *cell)
{
    int ends[2];

    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) == -1)
        return false;
    cell->info_fd = ends[0];
    cell->fds[JAIL_FD_INFO] = ends[1];
    return true;
}

/* ---- one sandbox */

static void close_fds(int *fds, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (fds[i] != -1)
            (void)close(fds[i]);
        fds[i] = -1;
    }
}

static void forget_descriptors(struct jail_cell *cell)
{
    for (size_t i = 0; i < CHILD_MAX_EXTRA_FDS; i++)
        cell->fds[i] = -1;
    for (size_t i = 0; i < JAIL_MAX_JOIN_FDS; i++)
        cell->join_fds[i] = -1;
    cell->info_fd = cell->init_fd = -1;
}

/* Each cell takes the next user of the range. */
static void plan_ground(struct jail_cell *cell)
{
    struct jail *jail = cell->jail;
    const struct jail_ground_limits limits = ground_limits(jail);

    jail_ground_plan(&jail->user, &limits, &cell->ground);
    if (jail->users_fd == -1)
        return;
    cell->ground.userns_fd = JAIL_FIRST_FD + JAIL_FD_USERS;
    cell->ground.id += atomic_fetch_add(&jail->n_cells, 1) % jail->n_users;
    cell->fds[JAIL_FD_USERS] = fcntl(jail->users_fd, F_DUPFD_CLOEXEC, 0);
    cell->command.n_extra_fds++;
}

static int join_group(struct jail_cell *cell, const struct jail_cell_conf *conf, struct err *reterr)
{
    const struct jail_conf *limits = &cell->jail->conf;
    const struct jail_group_limits of_group = {.memory_bytes = conf->memory_bytes,
                                               .max_processes = limits->max_processes,
                                               .cpu_percent = limits->cpu_percent};

    if (cell->jail->groups == NULL)
        return 0;
    return jail_group_open(cell->jail->groups, conf->name, &of_group, cell->group, cell->join_fds,
                           &cell->command.n_join_fds, reterr);
}

static int fill_cell(struct jail_cell *cell, const struct jail_cell_conf *conf, struct err *reterr)
{
    static const char *const env[] = {NULL}; /* of bwrap, which makes that of the program */

    if (!make_files(cell, conf->script) || !make_info(cell)) {
        err_set(reterr, ERR_INTERNAL, "files for a sandbox: %s", strerror(errno));
        return -1;
    }
    cell->command = (struct child_command){
        .argv = jail_command_line(cell->jail, conf, &cell->arena),
        .env = env,
        .cwd = "/",
        .extra_fds = cell->fds,
        .n_extra_fds = JAIL_FDS,
        .join_fds = cell->join_fds,
        .goes_first = true,
        .dies_with_us = true,
        .uid = cell->jail->user.uid,
        .gid = cell->jail->user.gid,
    };
    if (cell->command.argv == NULL)
        return err_set_no_memory(reterr);
    if (cell->jail->has_ground) {
        cell->command.prepare = jail_ground_prepare;
        cell->command.prepare_arg = &cell->ground;
        plan_ground(cell);
    }
    return join_group(cell, conf, reterr);
}

int jail_cell_open(struct jail *jail, const struct jail_cell_conf *conf, struct jail_cell *ret,
                   struct err *reterr)
{
    *ret = (struct jail_cell){.jail = jail};
    forget_descriptors(ret);
    if (fill_cell(ret, conf, reterr) == 0)
        return 0;
    jail_cell_close(ret);
    return -1;
}

void jail_cell_started(struct jail_cell *cell)
{
    close_fds(cell->fds, CHILD_MAX_EXTRA_FDS);
    close_fds(cell->join_fds, JAIL_MAX_JOIN_FDS);
}

void jail_cell_ready(struct jail_cell *cell, pid_t process)
{
    pid_t init = jail_init_of(cell->info_fd);

    close_fds(&cell->info_fd, 1);
    if (init > 0 && cell->init_fd == -1)
        cell->init_fd = jail_init_open(init, process);
}

void jail_cell_kill(const struct jail_cell *cell)
{
    if (cell->init_fd != -1)
        (void)syscall(SYS_pidfd_send_signal, cell->init_fd, SIGKILL, NULL, 0U);
}

void jail_cell_close(struct jail_cell *cell)
{
    jail_cell_started(cell);
    jail_cell_kill(cell);
    close_fds(&cell->info_fd, 1);
    close_fds(&cell->init_fd, 1);
    if (cell->group[0] != '\0')
        jail_group_close(cell->jail->groups, cell->group);
    cell->group[0] = '\0';
    arena_fini(&cell->arena);
}
