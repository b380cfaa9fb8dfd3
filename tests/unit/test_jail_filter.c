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
    unsigned long args[3];
    int error; /* 0: it must work */
};

static void put_on(bool counts_memory)
{
    struct buf program = {.limit = 0};
    struct sock_fprog filter;

    if (jail_filter_write(counts_memory, &program, NULL) == -1)
        _exit(1);
    filter.len = (unsigned short)(program.len / sizeof(struct sock_filter));
    filter.filter = (struct sock_filter *)(void *)program.p;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter) != 0)
        _exit(2);
    buf_fini(&program);
}

/* Returns the errno of the call, made under the filter; 0 when it worked. */
static int error_of(const struct call *c, bool counts_memory)
{
    siginfo_t ended;
    pid_t pid = fork();

    assert_int_not_equal(pid, -1);
    if (pid == 0) {
        put_on(counts_memory);
        errno = 0;
        (void)syscall(c->number, c->args[0], c->args[1], c->args[2], 0, 0, 0);
        _exit(errno);
    }
    assert_int_equal(waitid(P_PID, (id_t)pid, &ended, WEXITED), 0);
    assert_int_equal(ended.si_code, CLD_EXITED);
    return ended.si_status;
}

static void check(const struct call *calls, size_t n, bool counts_memory)
{
    size_t n_wrong = 0;

    for (size_t i = 0; i < n; i++) {
        int error = error_of(&calls[i], counts_memory);

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
        {"AF_AX25", SYS_socket, {AF_AX25, SOCK_DGRAM, 0}, EAFNOSUPPORT},
        {"AF_VSOCK", SYS_socket, {AF_VSOCK, SOCK_STREAM, 0}, EAFNOSUPPORT},
        {"SCTP", SYS_socket, {AF_INET, SOCK_STREAM, IPPROTO_SCTP}, EPROTONOSUPPORT},
        {"SCTP by its type", SYS_socket, {AF_INET6, SOCK_SEQPACKET, 0}, EPROTONOSUPPORT},
        {"DCCP",
         SYS_socket,
         {AF_INET, (unsigned long)SOCK_DCCP | SOCK_CLOEXEC, 0},
         EPROTONOSUPPORT},
    };

    (void)state;
    check(calls, COUNT_OF(calls), true);
}

static void what_programs_need_is_not(void **state)
{
    static const struct call calls[] = {
        {"clone as fork does", SYS_clone, {SIGCHLD}, 0},
        {"asking for the personality", SYS_personality, {0xffffffff}, 0},
        {"TCP", SYS_socket, {AF_INET, SOCK_STREAM | SOCK_CLOEXEC, IPPROTO_TCP}, 0},
        {"UDP", SYS_socket, {AF_INET, SOCK_DGRAM, 0}, 0},
        {"AF_UNIX", SYS_socket, {AF_UNIX, SOCK_SEQPACKET, 0}, 0},
        {"memfd_create", SYS_memfd_create, {(unsigned long)"x", 0}, 0},
        {"shmget of nothing", SYS_shmget, {0}, EINVAL},
    };

    (void)state;
    check(calls, COUNT_OF(calls), true);
}

static void memory_that_nothing_counts_is_refused(void **state)
{
    static const struct call calls[] = {
        {"memfd_create", SYS_memfd_create, {(unsigned long)"x", 0}, ENOSYS},
        {"shmget", SYS_shmget, {0}, ENOSYS},
    };

    (void)state;
    check(calls, COUNT_OF(calls), false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_code_has_no_use_for_is_refused),
        cmocka_unit_test(what_programs_need_is_not),
        cmocka_unit_test(memory_that_nothing_counts_is_refused),
    };

    return cmocka_run_group_tests_name("jail_filter", tests, NULL, NULL);
}
