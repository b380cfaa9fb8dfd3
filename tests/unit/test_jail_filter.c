/* test_jail_filter.c -- the filter of system calls, in a process that puts it on itself. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/test.h"
#include "sandbox/jail_filter.h"

struct call {
    const char *name;
    long number;
    unsigned long args[4];
    int error; /* 0: it must work */
};

static const struct jail_filter_conf with_all = {true, true, true},
                                     with_nothing = {false, false, false};

static void put_on(const struct jail_filter_conf *conf)
{
    struct buf program = {.limit = 0};
    struct sock_fprog filter;

    if (jail_filter_write(conf, &program, NULL) == -1)
        _exit(1);
    filter.len = (unsigned short)(program.len / sizeof(struct sock_filter));
    filter.filter = (struct sock_filter *)(void *)program.p;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter) != 0)
        _exit(2);
    buf_fini(&program);
}

/* Returns the errno of the call, made under the filter; 0 when it worked. */
static int error_of(const struct call *c, const struct jail_filter_conf *conf)
{
    siginfo_t ended;
    pid_t pid = fork();

    assert_int_not_equal(pid, -1);
    if (pid == 0) {
        put_on(conf);
        errno = 0;
        (void)syscall(c->number, c->args[0], c->args[1], c->args[2], c->args[3], -1, 0);
        _exit(errno);
    }
    assert_int_equal(waitid(P_PID, (id_t)pid, &ended, WEXITED), 0);
    assert_int_equal(ended.si_code, CLD_EXITED);
    return ended.si_status;
}

static void check(const struct call *calls, size_t n, const struct jail_filter_conf *conf)
{
    size_t n_wrong = 0;

    for (size_t i = 0; i < n; i++) {
        int error = error_of(&calls[i], conf);

        if (error == calls[i].error)
            continue;
        print_error("%s: %s instead of %s\n", calls[i].name, strerrorname_np(error),
                    strerrorname_np(calls[i].error));
        n_wrong++;
    }
    assert_int_equal(n_wrong, 0);
}

/* An argument whose upper half the kernel does not look at. */
#define WITH_MORE(value) ((value) | 1UL << 32)

#define HUGE_MAP (unsigned long)(MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB)

static void what_code_has_no_use_for_is_refused(void **state)
{
    static const struct call calls[] = {
        {"ptrace", SYS_ptrace, {0}, EPERM},
        {"unshare", SYS_unshare, {CLONE_NEWUSER}, EPERM},
        {"clone, user namespace", SYS_clone, {CLONE_NEWUSER | SIGCHLD}, EPERM},
        {"clone, two namespaces", SYS_clone, {CLONE_NEWNS | CLONE_NEWNET | SIGCHLD}, EPERM},
        {"clone3", SYS_clone3, {0}, ENOSYS},
        {"mount", SYS_mount, {0}, EPERM},
        {"keyctl", SYS_keyctl, {0}, EPERM},
        {"bpf", SYS_bpf, {0}, EPERM},
        {"io_uring_setup", SYS_io_uring_setup, {0}, ENOSYS},
        {"init_module", SYS_init_module, {0}, EPERM},
        {"personality", SYS_personality, {0x40000}, EPERM},
        {"TIOCSTI", SYS_ioctl, {0, TIOCSTI, 0}, EPERM},
        {"TIOCSTI and more", SYS_ioctl, {0, WITH_MORE(TIOCSTI), 0}, EPERM},
        {"AF_NETLINK", SYS_socket, {AF_NETLINK, SOCK_RAW, 0}, EAFNOSUPPORT},
        {"AF_NETLINK and more", SYS_socket, {WITH_MORE(AF_NETLINK), SOCK_RAW, 0}, EAFNOSUPPORT},
        {"AF_PACKET", SYS_socket, {AF_PACKET, SOCK_RAW, 0}, EAFNOSUPPORT},
        {"AF_AX25", SYS_socket, {AF_AX25, SOCK_DGRAM, 0}, ENOSYS},
        {"AF_VSOCK", SYS_socket, {AF_VSOCK, SOCK_STREAM, 0}, EAFNOSUPPORT},
        {"SCTP", SYS_socket, {AF_INET, SOCK_STREAM, IPPROTO_SCTP}, ENOSYS},
        {"SCTP by its type", SYS_socket, {AF_INET6, SOCK_SEQPACKET, 0}, ENOSYS},
        {"DCCP", SYS_socket, {AF_INET, (unsigned long)SOCK_DCCP | SOCK_CLOEXEC, 0}, ENOSYS},
        {"a raw socket", SYS_socket, {AF_INET, SOCK_RAW, IPPROTO_ICMP}, EPERM},
        {"a pair of others", SYS_socketpair, {AF_INET, SOCK_STREAM, 0}, ENOSYS},
        {"what is not in the table", SYS_vmsplice, {0}, ENOSYS},
        {"what no kernel has yet", 1000, {0}, ENOSYS},
        {"a system-wide quota", SYS_io_setup, {1}, ENOSYS},
        {"PR_SET_PDEATHSIG", SYS_prctl, {PR_SET_PDEATHSIG, 0}, EPERM},
        {"PR_SET_PDEATHSIG and more", SYS_prctl, {WITH_MORE(PR_SET_PDEATHSIG), 0}, EPERM},
        {"PR_SET_MM", SYS_prctl, {PR_SET_MM, 0}, ENOSYS},
        {"huge pages", SYS_mmap, {0, 1 << 21, PROT_READ, HUGE_MAP}, ENOMEM},
        {"huge pages of a file", SYS_memfd_create, {(unsigned long)"x", MFD_HUGETLB}, ENOSYS},
        {"an unknown ioctl", SYS_ioctl, {0, 0x5000ffff, 0}, ENOSYS},
        {"an attribute of a file", SYS_fsetxattr, {0}, EOPNOTSUPP},
    };

    (void)state;
    check(calls, COUNT_OF(calls), &with_all);
}

static void what_programs_need_is_not(void **state)
{
    static int pair[2];
    static const struct call calls[] = {
        {"clone as fork does", SYS_clone, {SIGCHLD}, 0},
        {"asking for the personality", SYS_personality, {0xffffffff}, 0},
        {"TCP", SYS_socket, {AF_INET, SOCK_STREAM | SOCK_CLOEXEC, IPPROTO_TCP}, 0},
        {"UDP", SYS_socket, {AF_INET, SOCK_DGRAM, 0}, 0},
        {"AF_UNIX", SYS_socket, {AF_UNIX, SOCK_SEQPACKET, 0}, 0},
        {"memfd_create", SYS_memfd_create, {(unsigned long)"x", 0}, 0},
        {"shmget of nothing", SYS_shmget, {0}, EINVAL},
        {"epoll", SYS_epoll_create1, {0}, 0},
        {"inotify", SYS_inotify_init1, {0}, 0},
        {"its name", SYS_prctl, {PR_SET_NAME, (unsigned long)"x"}, 0},
        {"memory", SYS_mmap, {0, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS}, 0},
        {"a pair", SYS_socketpair, {AF_UNIX, SOCK_STREAM, 0, (unsigned long)pair}, 0},
        {"whether memory is mapped", SYS_msync, {0, 4096, MS_ASYNC}, ENOMEM},
    };

    (void)state;
    check(calls, COUNT_OF(calls), &with_all);
}

/* Descriptor -1 cannot be brought to a disk: whoever tries fails. */
static void nothing_is_brought_to_a_disk(void **state)
{
    static const struct call calls[] = {
        {"sync", SYS_sync, {0}, 0},
        {"syncfs", SYS_syncfs, {-1UL}, 0},
        {"fsync", SYS_fsync, {-1UL}, 0},
        {"fdatasync", SYS_fdatasync, {-1UL}, 0},
        {"msync", SYS_msync, {0, 4096, MS_SYNC}, 0},
        {"readahead", SYS_readahead, {-1UL, 0, 4096}, 0},
    };

    (void)state;
    check(calls, COUNT_OF(calls), &with_all);
}

static void what_is_counted_by_user_takes_an_own_one(void **state)
{
    static const struct call calls[] = {
        {"epoll", SYS_epoll_create1, {0}, ENOSYS},
        {"inotify", SYS_inotify_init1, {0}, ENOSYS},
    };

    (void)state;
    check(calls, COUNT_OF(calls), &with_nothing);
}

#ifdef __x86_64__
/* The numbers of x32 have a bit of their own, and those of i386 another door. */
static void calls_of_another_processor_end_it(void **state)
{
    enum { X32_BIT = 0x40000000 };
    pid_t pid = fork();
    int status;

    (void)state;
    if (pid == 0) {
        put_on(&with_all);
        _exit((int)syscall(X32_BIT | SYS_getpid) * 0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGSYS);
}
#endif

static void memory_that_nothing_counts_is_refused(void **state)
{
    static const struct call calls[] = {
        {"memfd_create", SYS_memfd_create, {(unsigned long)"x", 0}, ENOSYS},
        {"shmget", SYS_shmget, {0}, ENOSYS},
    };

    (void)state;
    check(calls, COUNT_OF(calls), &with_nothing);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_code_has_no_use_for_is_refused),
        cmocka_unit_test(what_programs_need_is_not),
        cmocka_unit_test(memory_that_nothing_counts_is_refused),
        cmocka_unit_test(nothing_is_brought_to_a_disk),
        cmocka_unit_test(what_is_counted_by_user_takes_an_own_one),
#ifdef __x86_64__
        cmocka_unit_test(calls_of_another_processor_end_it),
#endif
    };

    return cmocka_run_group_tests_name("jail_filter", tests, NULL, NULL);
}
