/* jail_filter.c -- which system calls are refused, and the program that says so.
 *
 * EPERM tells a program that it may not, ENOSYS that this kernel is too old for it: the latter for
 * calls that libraries try first and have another way for. */
#include "sandbox/jail_filter.h"

#include <errno.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

struct refused {
    const char *call;
    int error;
};

/* Whatever their arguments are. */
static const struct refused refused[] = {
    /* Other processes, their memory and their descriptors. */
    {"ptrace", EPERM},
    {"process_vm_readv", EPERM},
    {"process_vm_writev", EPERM},
    {"process_madvise", EPERM},
    {"pidfd_getfd", EPERM},
    {"kcmp", EPERM},

    /* Namespaces, in which a program has rights that it lacks elsewhere. The flags of clone3 are in
     * memory, where a filter cannot look; without it clone is called. */
    {"unshare", EPERM},
    {"setns", EPERM},
    {"clone3", ENOSYS},

    /* File systems. */
    {"mount", EPERM},
    {"umount", EPERM},
    {"umount2", EPERM},
    {"pivot_root", EPERM},
    {"chroot", EPERM},
    {"fsopen", EPERM},
    {"fsconfig", EPERM},
    {"fsmount", EPERM},
    {"fspick", EPERM},
    {"move_mount", EPERM},
    {"open_tree", EPERM},
    {"mount_setattr", EPERM},
    {"quotactl", EPERM},
    {"quotactl_fd", EPERM},

    /* Files past the directories that lead to them. */
    {"name_to_handle_at", EPERM},
    {"open_by_handle_at", EPERM},
    {"fanotify_init", EPERM},

    /* Keys are kept by user, not by namespace. */
    {"add_key", EPERM},
    {"request_key", EPERM},
    {"keyctl", EPERM},

    /* Large and young parts of the kernel, in which mistakes are found again and again. */
    {"bpf", EPERM},
    {"perf_event_open", EPERM},
    {"userfaultfd", ENOSYS},
    {"io_uring_setup", ENOSYS},
    {"io_uring_enter", ENOSYS},
    {"io_uring_register", ENOSYS},

    /* Memory that the machine cannot move or look at, and where memory lies. */
    {"memfd_secret", ENOSYS},
    {"mbind", EPERM},
    {"set_mempolicy", EPERM},
    {"set_mempolicy_home_node", EPERM},
    {"move_pages", EPERM},
    {"migrate_pages", EPERM},

    /* The machine itself. */
    {"init_module", EPERM},
    {"finit_module", EPERM},
    {"delete_module", EPERM},
    {"kexec_load", EPERM},
    {"kexec_file_load", EPERM},
    {"reboot", EPERM},
    {"swapon", EPERM},
    {"swapoff", EPERM},
    {"acct", EPERM},
    {"syslog", EPERM},
    {"settimeofday", EPERM},
    {"stime", EPERM},
    {"clock_settime", EPERM},
    {"clock_settime64", EPERM},
    {"clock_adjtime", EPERM},
    {"clock_adjtime64", EPERM},
    {"adjtimex", EPERM},
    {"sethostname", EPERM},
    {"setdomainname", EPERM},
    {"iopl", EPERM},
    {"ioperm", EPERM},
    {"vhangup", EPERM},

    /* What only programs of long ago call. */
    {"_sysctl", ENOSYS},
    {"sysfs", ENOSYS},
    {"uselib", ENOSYS},
    {"ustat", ENOSYS},
    {"nfsservctl", ENOSYS},
    {"lookup_dcookie", ENOSYS},
    {"modify_ldt", ENOSYS},
    {"vm86", ENOSYS},
    {"vm86old", ENOSYS},
};

/* Memory that stays while no process has it mapped, so that no limit of a process counts it. */
static const struct refused refused_uncounted[] = {
    {"memfd_create", ENOSYS},
    {"shmget", ENOSYS},
};

/* ---- depending on arguments */

/* The kernel looks at the lower half of an int only, so the upper one must not matter here. */
#define INT_IS(arg, value)  SCMP_CMP(arg, SCMP_CMP_MASKED_EQ, 0xffffffffU, value)
#define HAS_FLAG(arg, flag) SCMP_CMP(arg, SCMP_CMP_MASKED_EQ, flag, flag)

#ifdef __s390__
enum { CLONE_FLAGS = 1 };
#else
enum { CLONE_FLAGS = 0 };
#endif

enum { SOCKET_TYPE = 0xf }; /* the other bits are flags */

struct refused_when {
    const char *call;
    int error;
    unsigned n;
    struct scmp_arg_cmp when[2]; /* all of them */
};

static const struct refused_when refused_when[] = {
    {"clone", EPERM, 1, {HAS_FLAG(CLONE_FLAGS, CLONE_NEWUSER)}},
    {"clone", EPERM, 1, {HAS_FLAG(CLONE_FLAGS, CLONE_NEWNS)}},
    {"clone", EPERM, 1, {HAS_FLAG(CLONE_FLAGS, CLONE_NEWPID)}},
    {"clone", EPERM, 1, {HAS_FLAG(CLONE_FLAGS, CLONE_NEWNET)}},
    {"clone", EPERM, 1, {HAS_FLAG(CLONE_FLAGS, CLONE_NEWIPC)}},
    {"clone", EPERM, 1, {HAS_FLAG(CLONE_FLAGS, CLONE_NEWUTS)}},
    {"clone", EPERM, 1, {HAS_FLAG(CLONE_FLAGS, CLONE_NEWCGROUP)}},

    /* Typing on the terminal that somebody sits at. */
    {"ioctl", EPERM, 1, {INT_IS(1, TIOCSTI)}},
    {"ioctl", EPERM, 1, {INT_IS(1, TIOCLINUX)}},

    /* Other ways of execution, some without the protection of memory; asking is fine. */
    {"personality", EPERM, 1, {SCMP_A0(SCMP_CMP_NE, 0xffffffffU, 0)}},

    /* Only AF_UNIX (1), AF_INET (2) and AF_INET6 (10): netlink, packets, bluetooth, vsock and the
     * like load modules and lead out of the network namespace. */
    {"socket", EAFNOSUPPORT, 1, {SCMP_A0(SCMP_CMP_EQ, AF_UNSPEC, 0)}},
    {"socket", EAFNOSUPPORT, 1, {SCMP_A0(SCMP_CMP_EQ, AF_AX25, 0)}},
    {"socket", EAFNOSUPPORT, 1, {SCMP_A0(SCMP_CMP_EQ, AF_IPX, 0)}},
    {"socket", EAFNOSUPPORT, 1, {SCMP_A0(SCMP_CMP_EQ, AF_APPLETALK, 0)}},
    {"socket", EAFNOSUPPORT, 1, {SCMP_A0(SCMP_CMP_EQ, AF_NETROM, 0)}},
    {"socket", EAFNOSUPPORT, 1, {SCMP_A0(SCMP_CMP_EQ, AF_BRIDGE, 0)}},
    {"socket", EAFNOSUPPORT, 1, {SCMP_A0(SCMP_CMP_EQ, AF_ATMPVC, 0)}},
    {"socket", EAFNOSUPPORT, 1, {SCMP_A0(SCMP_CMP_EQ, AF_X25, 0)}},
    {"socket", EAFNOSUPPORT, 1, {SCMP_A0(SCMP_CMP_GT, AF_INET6, 0)}},

    /* TCP and UDP, not SCTP, DCCP and others, which are modules as well. */
    {"socket", EPROTONOSUPPORT, 1, {SCMP_A2(SCMP_CMP_GT, 17, 0)}},
    {"socket", EPROTONOSUPPORT, 1, {SCMP_A1(SCMP_CMP_MASKED_EQ, SOCKET_TYPE, SOCK_DCCP)}},
    {"socket",
     EPROTONOSUPPORT,
     2,
     {SCMP_A0(SCMP_CMP_EQ, AF_INET, 0), SCMP_A1(SCMP_CMP_MASKED_EQ, SOCKET_TYPE, SOCK_SEQPACKET)}},
    {"socket",
     EPROTONOSUPPORT,
     2,
     {SCMP_A0(SCMP_CMP_EQ, AF_INET6, 0), SCMP_A1(SCMP_CMP_MASKED_EQ, SOCKET_TYPE, SOCK_SEQPACKET)}},
};

/* ---- the program */

/* Returns 0 or a negative errno. Calls that this processor or library does not know are no concern:
 * the former do not exist, the latter are younger than the table. */
static int refuse(scmp_filter_ctx filter, const char *call, int error, unsigned n,
                  const struct scmp_arg_cmp *when)
{
    int number = seccomp_syscall_resolve_name(call);

    if (number == __NR_SCMP_ERROR)
        return 0;
    return seccomp_rule_add_array(filter, SCMP_ACT_ERRNO((uint32_t)error), number, n, when);
}

static int refuse_all(scmp_filter_ctx filter, const struct refused *list, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        int rc = refuse(filter, list[i].call, list[i].error, 0, NULL);

        if (rc != 0)
            return rc;
    }
    return 0;
}

static int add_rules(scmp_filter_ctx filter, bool counts_memory)
{
    int rc = refuse_all(filter, refused, sizeof(refused) / sizeof(refused[0]));

    if (rc == 0 && !counts_memory)
        rc = refuse_all(filter, refused_uncounted,
                        sizeof(refused_uncounted) / sizeof(refused_uncounted[0]));
    for (size_t i = 0; rc == 0 && i < sizeof(refused_when) / sizeof(refused_when[0]); i++) {
        const struct refused_when *r = &refused_when[i];

        rc = refuse(filter, r->call, r->error, r->n, r->when);
    }
    return rc;
}

/* The library writes to a descriptor only. */
static int export(scmp_filter_ctx filter, struct buf *out)
{
    int fd = memfd_create("filter", MFD_CLOEXEC);
    int rc = fd == -1 ? -errno : seccomp_export_bpf(filter, fd);
    off_t bytes = rc == 0 ? lseek(fd, 0, SEEK_CUR) : 0;
    char *room = buf_reserve(out, (size_t)bytes);

    if (rc == 0 && (room == NULL || pread(fd, room, (size_t)bytes, 0) != bytes))
        rc = -ENOMEM;
    if (rc == 0)
        out->len += (size_t)bytes;
    if (fd != -1)
        (void)close(fd);
    return rc;
}

int jail_filter_write(bool counts_memory, struct buf *out, struct err *reterr)
{
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
    int rc = filter == NULL ? -ENOMEM : 0;

    /* Code for another processor, as i386 on x86-64, has call numbers of its own: it ends. */
    if (rc == 0)
        rc = seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
    if (rc == 0)
        rc = add_rules(filter, counts_memory);
    if (rc == 0)
        rc = export(filter, out);
    if (filter != NULL)
        seccomp_release(filter);
    if (rc != 0)
        err_set(reterr, ERR_INTERNAL, "the filter of system calls: %s", strerror(-rc));
    return rc == 0 ? 0 : -1;
}
