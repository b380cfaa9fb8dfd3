/* child_spawn.c -- fork(), what the child does before exec, and its report.
 *
 * uv_spawn() of libuv 1.44 does much of this: UV_PROCESS_DETACHED makes a session,
 * signals 1 to 31 and the mask are reset. It is not used because
 *
 *   * it leaves open what some library opened without close-on-exec, or what the
 *     gateway itself inherited;
 *   * it waits for exec on the loop's thread, as long as a directory or program on
 *     a network drive likes, and does not say whether the directory or the program
 *     was missing;
 *   * reaping is its own, and happens before anyone could signal the process group,
 *     whose number is free for others from then on.
 *
 * posix_spawn() has the first, but shares the other two. vfork() would save the
 * copy of the page tables, a few milliseconds for a start, and share the stack.
 *
 * Between fork and exec only async-signal-safe functions may be called, since
 * another thread may have held any lock. All that needs memory, such as the list of
 * places where the program may be, is made before. */
#include "child/child_spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/arena.h"
#include "child/child_keeper.h"

#define DEFAULT_PATH "/usr/local/bin:/usr/bin:/bin"

enum { REPORT_FD = 3, EXIT_NOT_STARTED = 127 };

enum step { STEP_SETUP, STEP_CHDIR, STEP_EXEC };

/* Report of a child that fails; at most PIPE_BUF, so it arrives whole. */
struct report {
    enum step step;
    int error;
};

/* Plan of the child, in the types of execve(). */
struct plan {
    const char **programs; /* paths to try, ends with NULL */
    const struct child_command *command;
    const int *theirs;
    pid_t gateway;
    int keeper_fd; /* or -1 */
};

/* ---- pipes */

void child_spawn_close_pipes(int ends[CHILD_PIPE_COUNT])
{
    for (size_t i = 0; i < CHILD_PIPE_COUNT; i++) {
        if (ends[i] != -1)
            (void)close(ends[i]);
        ends[i] = -1;
    }
}

/* Pipes and not socket pairs: each end has flags of its own, and a program may
 * open /dev/stdout. */
static bool open_pipe(struct child_pipes *pipes, enum child_pipe which)
{
    bool we_write = which == CHILD_PIPE_IN;
    int fds[2];

    if (pipe2(fds, O_CLOEXEC) == -1)
        return false;
    pipes->ours[which] = fds[we_write];
    pipes->theirs[which] = fds[!we_write];
    return fcntl(pipes->ours[which], F_SETFL, O_NONBLOCK) != -1;
}

int child_spawn_open_pipes(struct child_pipes *ret, struct err *reterr)
{
    *ret = (struct child_pipes){{-1, -1, -1, -1}, {-1, -1, -1, -1}};
    for (size_t i = 0; i < CHILD_PIPE_COUNT; i++) {
        if (!open_pipe(ret, (enum child_pipe)i)) {
            err_set(reterr, ERR_INTERNAL, "pipe: %s", strerror(errno));
            child_spawn_close_pipes(ret->ours);
            child_spawn_close_pipes(ret->theirs);
            return -1;
        }
    }
    return 0;
}

/* ---- where the program may be */

str child_env_get(const char *const *env, str name)
{
    for (; env != NULL && *env != NULL; env++) {
        str var = str_from_c(*env);

        if (str_starts_with(var, name) && str_starts_with(str_skip(var, name.len), STR("=")))
            return str_skip(var, name.len + 1);
    }
    return STR_NONE;
}

static bool has_slash(const char *name)
{
    return strchr(name, '/') != NULL;
}

/* "dir/name"; an empty directory is the current one, as everywhere else. */
static const char *join_path(struct arena *a, str dir, str name)
{
    bool bare = dir.len == 0;
    char *path = arena_alloc(a, dir.len + !bare + name.len + 1);

    if (path == NULL)
        return NULL;
    if (!bare) {
        memcpy(path, dir.p, dir.len);
        path[dir.len] = '/';
    }
    memcpy(path + dir.len + !bare, name.p, name.len);
    return path;
}

/* The paths execve() is to try, from the PATH the child will have. Whether they
 * exist is left to the child: it runs in its own directory, and may wait. */
static const char **find_programs(const struct child_command *command, struct arena *a)
{
    const char *name = command->argv[0];
    str path = child_env_get(command->env, STR("PATH"));
    str rest = str_is_none(path) ? STR(DEFAULT_PATH) : path;
    size_t n = 0, most = 2;
    const char **programs;

    for (size_t i = 0; i < rest.len; i++)
        most += rest.p[i] == ':';
    programs = arena_array(a, most, sizeof(*programs));
    if (programs == NULL)
        return NULL;
    if (has_slash(name) || *name == '\0') {
        programs[0] = name;
        return programs;
    }
    for (size_t len; n + 1 < most; rest = str_skip(rest, len + 1)) {
        len = str_find_char(rest, ':');
        programs[n] = join_path(a, str_from(rest.p, len), str_from_c(name));
        if (programs[n++] == NULL)
            return NULL;
    }
    return programs;
}

/* ---- the child */

/* The array for execve(), whose type does not say that it only reads. */
static char *const *for_exec(const char *const *list)
{
    union {
        const char *const *in;
        char *const *out;
    } p = {.in = list};

    return p.out;
}

_Noreturn static void exit_with_report(enum step step, int error, int report_fd)
{
    struct report r = {step, error};

    ssize_t written = write(report_fd, &r, sizeof(r));

    (void)written; /* -1: the gateway has gone */
    _exit(EXIT_NOT_STARTED);
}

/* Resets all signals, so that none is ignored or caught. The kernel is asked, since the C library
 * refuses the two that it keeps for itself; and what posix_spawn() has started, as we may have
 * been, ignores those. */
static void reset_signals(void)
{
    enum { MASK_BYTES = (_NSIG - 1) / 8 };
    static const unsigned long standard[8]; /* the kernel's struct sigaction: SIG_DFL is 0 */

    for (int signal = 1; signal <= SIGRTMAX; signal++)
        (void)syscall(SYS_rt_sigaction, signal, standard, NULL, (size_t)MASK_BYTES);
}

/* Descriptors 0, 1, 2 become the pipes, 3 the report, the next what the command wants besides;
 * the rest is closed. What is to move may be in the way, so all are moved out of it before. */
static bool arrange_descriptors(const struct plan *plan)
{
    const int n = CHILD_PIPE_COUNT + (int)plan->command->n_extra_fds;
    int safe[CHILD_PIPE_COUNT + CHILD_MAX_EXTRA_FDS];

    for (int i = 0; i < n; i++) {
        const int fd =
            i < CHILD_PIPE_COUNT ? plan->theirs[i] : plan->command->extra_fds[i - CHILD_PIPE_COUNT];

        safe[i] = fcntl(fd, F_DUPFD_CLOEXEC, n);
        if (safe[i] == -1)
            return false;
    }
    for (int i = 0; i < n; i++) {
        if (dup3(safe[i], i, i == REPORT_FD ? O_CLOEXEC : 0) == -1)
            return false;
    }
    closefrom(n); /* close_range(2), or what does the same on older kernels */
    return true;
}

/* Joins the control groups of the command, before its descriptors are arranged, which closes
 * these. */
static bool join_groups(const struct child_command *command)
{
    for (size_t i = 0; i < command->n_join_fds; i++) {
        ssize_t n;

        do
            n = write(command->join_fds[i], "0", 1);
        while (n == -1 && errno == EINTR);
        if (n != 1)
            return false;
    }
    return true;
}

/* Makes the program the first that the kernel ends when memory runs out. Before the user is
 * changed: others cannot take back what CAP_SYS_RESOURCE has set. The files of who may not be
 * dumped, as the gateway, belong to root; the program may be dumped anyway. */
static void offer_to_go_first(void)
{
    int fd = prctl(PR_SET_DUMPABLE, 1) == -1
                 ? -1
                 : open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    ssize_t written = fd == -1 ? 0 : write(fd, "1000", 4);

    (void)written; /* without it the kernel chooses by size alone */
    if (fd != -1)
        (void)close(fd);
}

/* A process that may do everything becomes one that may do little. */
static bool change_user(const struct child_command *command)
{
    if (command->uid == 0)
        return true;
    return setgroups(0, NULL) == 0 && setresgid(command->gid, command->gid, command->gid) == 0 &&
           setresuid(command->uid, command->uid, command->uid) == 0;
}

static bool is_elsewhere(int error)
{
    return error == ENOENT || error == ENOTDIR || error == ENAMETOOLONG || error == ESTALE ||
           error == ENODEV || error == ETIMEDOUT || error == ELOOP;
}

/* Tries all programs; returns why none could be started. One that may not be run is worth more to
 * know of than those that do not exist. */
static int exec_first(const struct plan *plan)
{
    int error = ENOENT;

    for (const char **program = plan->programs; *program != NULL; program++) {
        (void)execve(*program, for_exec(plan->command->argv), for_exec(plan->command->env));
        if (errno == EACCES)
            error = EACCES;
        else if (!is_elsewhere(errno))
            return errno;
    }
    return error;
}

/* The child ends with the gateway. Until it is the program it holds all that is open there, the
 * sockets that listen included: one that waits, as for a control group, would keep their ports from
 * the next gateway. */
static void die_with(pid_t gateway)
{
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != gateway)
        _exit(EXIT_NOT_STARTED);
}

/* The signal of die_with() is set anew, since a change of the user has cleared it, or cleared. */
static void settle_death_signal(const struct plan *plan)
{
    if (plan->command->dies_with_us)
        die_with(plan->gateway);
    else
        (void)prctl(PR_SET_PDEATHSIG, 0);
}

/* Runs with all signals blocked until the last moment. */
_Noreturn static void become_program(const struct plan *plan)
{
    sigset_t none;

    die_with(plan->gateway);
    if (!join_groups(plan->command) || setsid() == -1)
        exit_with_report(STEP_SETUP, errno, plan->theirs[CHILD_PIPE_REPORT]);
    child_keeper_announce(plan->keeper_fd);
    if (!arrange_descriptors(plan))
        exit_with_report(STEP_SETUP, errno, plan->theirs[CHILD_PIPE_REPORT]);
    if (plan->command->goes_first)
        offer_to_go_first();
    if (!change_user(plan->command))
        exit_with_report(STEP_SETUP, errno, REPORT_FD);
    if (plan->command->cwd != NULL && chdir(plan->command->cwd) == -1)
        exit_with_report(STEP_CHDIR, errno, REPORT_FD);
    if (plan->command->prepare != NULL) {
        int error = plan->command->prepare(plan->command->prepare_arg);

        if (error != 0)
            exit_with_report(STEP_SETUP, error, REPORT_FD);
    }
    settle_death_signal(plan);
    reset_signals();
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    exit_with_report(STEP_EXEC, exec_first(plan), REPORT_FD);
}

pid_t child_spawn_fork(const struct child_command *command, const struct child_pipes *pipes,
                       struct err *reterr)
{
    struct arena a = {.limit = 0};
    struct plan plan = {find_programs(command, &a), command, pipes->theirs, getpid(),
                        command->ends_with_us ? child_keeper_fd() : -1};
    sigset_t all, before;
    pid_t pid = -1;

    if (plan.programs == NULL) {
        err_set_no_memory(reterr);
        goto out;
    }
    (void)sigfillset(&all); /* no handler of ours may run in the child */
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    pid = fork();
    if (pid == 0)
        become_program(&plan);
    if (pid == -1)
        err_set(reterr, ERR_INTERNAL, "fork: %s", strerror(errno));
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
out:
    arena_fini(&a);
    return pid;
}

/* ---- why it ended */

/* The next step for the operator, where there is a usual one. */
static const char *start_hint(int error, const char *program)
{
    switch (error) {
    case ENOENT:
        return has_slash(program)
                   ? ": is it there, and the program its first line names?"
                   : ": is it on the PATH the server gets, and the program its first line names?";
    case EACCES:
        return ": is it a file that may be executed?";
    case ENOEXEC:
        return ": a script has to start with a #! line";
    default:
        return "";
    }
}

static void describe_failure(const struct child_command *command, const struct report *r,
                             struct buf *out)
{
    if (r->step == STEP_CHDIR) {
        buf_c(out, "cannot enter the directory \"");
        buf_c(out, command->cwd);
    } else {
        buf_c(out, "cannot start \"");
        buf_c(out, command->argv[0]);
    }
    buf_c(out, "\": ");
    buf_c(out, strerror(r->error));
    if (r->step == STEP_EXEC)
        buf_c(out, start_hint(r->error, command->argv[0]));
}

static void describe_signal(int signal, struct buf *out)
{
    const char *name = sigdescr_np(signal);

    buf_c(out, "was ended by signal ");
    buf_int(out, signal);
    buf_c(out, " (");
    buf_c(out, name == NULL ? "unknown" : name);
    buf_c(out, ")");
}

int child_spawn_why_ended(const struct child_command *command, int report_fd, const siginfo_t *died,
                          struct buf *out)
{
    struct report r;
    ssize_t n;

    do
        n = read(report_fd, &r, sizeof(r));
    while (n == -1 && errno == EINTR);
    if (n == (ssize_t)sizeof(r)) {
        describe_failure(command, &r, out);
        return r.error;
    }
    if (died->si_code == CLD_EXITED) {
        buf_c(out, "exited with status ");
        buf_int(out, died->si_status);
    } else if (died->si_code == CLD_KILLED || died->si_code == CLD_DUMPED) {
        describe_signal(died->si_status, out);
    } else {
        buf_c(out, "ended, and someone else has taken its status");
    }
    return 0;
}
