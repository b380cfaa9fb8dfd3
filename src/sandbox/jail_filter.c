/* jail_filter.c -- the program that decides which system calls are made.
 *
 * EPERM tells a program that it may not, ENOSYS that this kernel is too old for it: the latter for
 * calls that libraries try first and have another way for. */
#include "sandbox/jail_filter.h"

#include <asm/termbits.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/prctl.h>
#include <linux/sockios.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <unistd.h>

/* The fate of a call: made, or ended with an errno, 0 among them. */
enum { MADE = -1 };

/* ---- whatever the arguments are */

enum condition { ALWAYS, COUNTED, OWN_USER, OWN_SPACE };

static const struct listed {
    const char *call;
    enum condition condition; /* else it is as if it were not listed */
    int answer;
} listed[] = {
#define ALLOW(name)          {#name, ALWAYS, MADE},
#define WHEN_COUNTED(name)   {#name, COUNTED, MADE},
#define WHEN_OWN_USER(name)  {#name, OWN_USER, MADE},
#define WHEN_OWN_SPACE(name) {#name, OWN_SPACE, MADE},
#define ANSWER(name, answer) {#name, ALWAYS, answer},
#include "sandbox/jail_call.def"
#undef WHEN_OWN_SPACE
#undef ALLOW
#undef WHEN_COUNTED
#undef WHEN_OWN_USER
#undef ANSWER
};

/* ---- depending on arguments */

/* The kernel looks at the lower half of an int only, so the upper one must not matter here. */
#define INT_IS(arg, value)  SCMP_CMP(arg, SCMP_CMP_MASKED_EQ, 0xffffffffU, (uint32_t)(value))
#define HAS_FLAG(arg, flag) SCMP_CMP(arg, SCMP_CMP_MASKED_EQ, flag, flag)
#define HAS_NONE(arg, mask) SCMP_CMP(arg, SCMP_CMP_MASKED_EQ, mask, 0)

#ifdef __s390__
enum { CLONE_FLAGS = 1 };
#else
enum { CLONE_FLAGS = 0 };
#endif

#define NAMESPACES                                                                                 \
    ((uint64_t)CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC |          \
     CLONE_NEWUTS | CLONE_NEWCGROUP)

enum { SOCKET_TYPE = 0xf }; /* the other bits are flags */
enum { LAST_PROTOCOL = 17 /* UDP */ };

#define HAS_TYPE(type) SCMP_A1(SCMP_CMP_MASKED_EQ, SOCKET_TYPE, type)
#define IS_COMMON      SCMP_A2(SCMP_CMP_LE, LAST_PROTOCOL, 0)

struct rule {
    const char *call;
    int answer;
    enum condition condition;
    unsigned n;
    struct scmp_arg_cmp when[3]; /* all of them */
};

static const struct rule rules[] = {
    {"clone", MADE, ALWAYS, 1, {HAS_NONE(CLONE_FLAGS, NAMESPACES)}},
    {"clone", EPERM, ALWAYS, 1, {HAS_FLAG(CLONE_FLAGS, CLONE_NEWUSER)}},
    {"clone", EPERM, ALWAYS, 1, {HAS_FLAG(CLONE_FLAGS, CLONE_NEWNS)}},
    {"clone", EPERM, ALWAYS, 1, {HAS_FLAG(CLONE_FLAGS, CLONE_NEWPID)}},
    {"clone", EPERM, ALWAYS, 1, {HAS_FLAG(CLONE_FLAGS, CLONE_NEWNET)}},
    {"clone", EPERM, ALWAYS, 1, {HAS_FLAG(CLONE_FLAGS, CLONE_NEWIPC)}},
    {"clone", EPERM, ALWAYS, 1, {HAS_FLAG(CLONE_FLAGS, CLONE_NEWUTS)}},
    {"clone", EPERM, ALWAYS, 1, {HAS_FLAG(CLONE_FLAGS, CLONE_NEWCGROUP)}},

#ifdef __s390__ /* its arguments are in memory, where a filter cannot look */
    {"mmap", MADE, ALWAYS, 0, {{0}}},
#elif !defined(__i386__) /* where they are as well, but programs call mmap2 */
    {"mmap", MADE, ALWAYS, 1, {HAS_NONE(3, MAP_HUGETLB)}},
    {"mmap", ENOMEM, ALWAYS, 1, {HAS_FLAG(3, MAP_HUGETLB)}},
#endif
    /* Huge pages are refused: the machine has set them aside for others. */
    {"mmap2", MADE, ALWAYS, 1, {HAS_NONE(3, MAP_HUGETLB)}},
    {"mmap2", ENOMEM, ALWAYS, 1, {HAS_FLAG(3, MAP_HUGETLB)}},
    {"memfd_create", MADE, COUNTED, 1, {HAS_NONE(1, MFD_HUGETLB)}},
    {"shmget", MADE, COUNTED, 1, {HAS_NONE(2, SHM_HUGETLB)}},

    /* msync() does nothing with MS_SYNC, as fsync(); without it some ask whether memory is mapped.
     */
    {"msync", MADE, ALWAYS, 1, {HAS_NONE(2, MS_SYNC)}},
    {"msync", 0, ALWAYS, 1, {HAS_FLAG(2, MS_SYNC)}},

    /* Other ways of execution, some without the protection of memory; asking is fine. */
    {"personality", MADE, ALWAYS, 1, {SCMP_A0(SCMP_CMP_EQ, 0xffffffffU, 0)}},
    {"personality", EPERM, ALWAYS, 1, {SCMP_A0(SCMP_CMP_NE, 0xffffffffU, 0)}},

    /* Only AF_UNIX (1), AF_INET (2) and AF_INET6 (10): netlink, packets, bluetooth, vsock and the
     * like load modules and lead out of the network namespace. */
    {"socketpair", MADE, ALWAYS, 1, {INT_IS(0, AF_UNIX)}},
    {"socket", MADE, ALWAYS, 1, {INT_IS(0, AF_UNIX)}},
    {"socket", MADE, ALWAYS, 3, {INT_IS(0, AF_INET), HAS_TYPE(SOCK_STREAM), IS_COMMON}},
    {"socket", MADE, ALWAYS, 3, {INT_IS(0, AF_INET), HAS_TYPE(SOCK_DGRAM), IS_COMMON}},
    {"socket", MADE, ALWAYS, 3, {INT_IS(0, AF_INET6), HAS_TYPE(SOCK_STREAM), IS_COMMON}},
    {"socket", MADE, ALWAYS, 3, {INT_IS(0, AF_INET6), HAS_TYPE(SOCK_DGRAM), IS_COMMON}},
    {"socket", EPERM, ALWAYS, 2, {INT_IS(0, AF_INET), HAS_TYPE(SOCK_RAW)}},
    {"socket", EPERM, ALWAYS, 2, {INT_IS(0, AF_INET6), HAS_TYPE(SOCK_RAW)}},
    {"socket", EAFNOSUPPORT, ALWAYS, 1, {INT_IS(0, AF_UNSPEC)}},
    {"socket", EAFNOSUPPORT, ALWAYS, 1, {INT_IS(0, AF_NETLINK)}},
    {"socket", EAFNOSUPPORT, ALWAYS, 1, {INT_IS(0, AF_PACKET)}},
    {"socket", EAFNOSUPPORT, ALWAYS, 1, {INT_IS(0, AF_BLUETOOTH)}},
    {"socket", EAFNOSUPPORT, ALWAYS, 1, {INT_IS(0, AF_CAN)}},
    {"socket", EAFNOSUPPORT, ALWAYS, 1, {INT_IS(0, AF_ALG)}},
    {"socket", EAFNOSUPPORT, ALWAYS, 1, {INT_IS(0, AF_VSOCK)}},
};

/* ---- calls that are many in one: those that are made, by one of their arguments */

/* Options about the process itself. PR_SET_PDEATHSIG is not among them: by it a sandbox ends with
 * the gateway. */
static const uint32_t of_prctl[] = {
    PR_SET_NAME,
    PR_GET_NAME,
    PR_GET_PDEATHSIG,
    PR_SET_DUMPABLE,
    PR_GET_DUMPABLE,
    PR_GET_KEEPCAPS,
    PR_GET_SECCOMP,
    PR_CAPBSET_READ,
    PR_GET_SECUREBITS,
    PR_SET_TIMERSLACK,
    PR_GET_TIMERSLACK,
    PR_SET_CHILD_SUBREAPER,
    PR_GET_CHILD_SUBREAPER,
    PR_SET_NO_NEW_PRIVS,
    PR_GET_NO_NEW_PRIVS,
    PR_GET_TID_ADDRESS,
    PR_SET_THP_DISABLE,
    PR_GET_THP_DISABLE,
    PR_SVE_SET_VL,
    PR_SVE_GET_VL,
    PR_GET_SPECULATION_CTRL,
    PR_SET_TAGGED_ADDR_CTRL,
    PR_GET_TAGGED_ADDR_CTRL,
    0x53564d41, /* PR_SET_VMA: names of memory */
};

/* Requests to terminals, pipes, sockets and files. TIOCSTI and TIOCLINUX, which type on the
 * terminal that somebody sits at, are not among them. */
static const uint32_t of_ioctl[] = {
    TCGETS,       TCSETS,     TCSETSW,      TCSETSF,         TCGETS2,           TCSETS2,
    TCSETSW2,     TCSETSF2,   TCGETA,       TCSETA,          TCSETAW,           TCSETAF,
    TCSBRK,       TCSBRKP,    TCXONC,       TCFLSH,          TIOCEXCL,          TIOCNXCL,
    TIOCSCTTY,    TIOCNOTTY,  TIOCGPGRP,    TIOCSPGRP,       TIOCGSID,          TIOCOUTQ,
    TIOCGWINSZ,   TIOCSWINSZ, TIOCMGET,     TIOCGPTN,        TIOCSPTLCK,        TIOCGPTLCK,
    TIOCGPTPEER,  TIOCPKT,    FIONREAD,     FIONBIO,         FIOASYNC,          FIOCLEX,
    FIONCLEX,     FIOQSIZE,   SIOCGIFCONF,  SIOCGIFFLAGS,    SIOCGIFADDR,       SIOCGIFNETMASK,
    SIOCGIFINDEX, SIOCGIFMTU, SIOCGIFNAME,  SIOCGIFBRDADDR,  SIOCGIFHWADDR,     SIOCGSTAMP_OLD,
    SIOCATMARK,   FICLONE,    FICLONERANGE, FS_IOC_GETFLAGS, FS_IOC_GETVERSION,
};

static const uint32_t not_of_ioctl[] = {TIOCSTI, TIOCLINUX};

/* ---- the program */

static bool condition_is_met(enum condition condition, const struct jail_filter_conf *conf)
{
    return condition == ALWAYS || (condition == COUNTED && conf->counts_memory) ||
           (condition == OWN_USER && conf->has_own_user) ||
           (condition == OWN_SPACE && conf->has_own_space);
}

/* Returns 0 or a negative errno. Calls that this processor or library does not know are no concern:
 * the former do not exist, the latter are younger than the table. */
static int add_rule(scmp_filter_ctx filter, const char *call, int answer, unsigned n,
                    const struct scmp_arg_cmp *when)
{
    int number = seccomp_syscall_resolve_name(call);
    uint32_t action = answer == MADE ? SCMP_ACT_ALLOW : SCMP_ACT_ERRNO((uint32_t)answer);

    return number == __NR_SCMP_ERROR ? 0 : seccomp_rule_add_array(filter, action, number, n, when);
}

static int add_values(scmp_filter_ctx filter, const char *call, int answer, unsigned arg,
                      const uint32_t *values, size_t n)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < n; i++) {
        const struct scmp_arg_cmp when = INT_IS(arg, values[i]);

        rc = add_rule(filter, call, answer, 1, &when);
    }
    return rc;
}

static int add_lists(scmp_filter_ctx filter)
{
    static const uint32_t death_signal = PR_SET_PDEATHSIG;
    int rc = add_values(filter, "prctl", MADE, 0, LIST_OF(of_prctl));

    if (rc == 0)
        rc = add_values(filter, "prctl", EPERM, 0, &death_signal, 1);
    if (rc == 0)
        rc = add_values(filter, "ioctl", MADE, 1, LIST_OF(of_ioctl));
    if (rc == 0)
        rc = add_values(filter, "ioctl", EPERM, 1, LIST_OF(not_of_ioctl));
    return rc;
}

static int add_rules(scmp_filter_ctx filter, const struct jail_filter_conf *conf)
{
    int rc = add_lists(filter);

    for (size_t i = 0; rc == 0 && i < COUNT_OF(listed); i++) {
        if (condition_is_met(listed[i].condition, conf))
            rc = add_rule(filter, listed[i].call, listed[i].answer, 0, NULL);
    }
    for (size_t i = 0; rc == 0 && i < COUNT_OF(rules); i++) {
        if (condition_is_met(rules[i].condition, conf))
            rc = add_rule(filter, rules[i].call, rules[i].answer, rules[i].n, rules[i].when);
    }
    return rc;
}

/* The filter goes through a file, since the library writes to a descriptor only. */
static int export_filter(scmp_filter_ctx filter, struct buf *out)
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

int jail_filter_write(const struct jail_filter_conf *conf, struct buf *out, struct err *reterr)
{
    enum { AS_A_TREE = 2 };
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(ENOSYS));
    int rc = filter == NULL ? -ENOMEM : 0;

    /* Code for another processor, as i386 or x32 on x86-64, has its own call numbers: it ends. */
    if (rc == 0)
        rc = seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
    if (rc == 0)
        (void)seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, AS_A_TREE); /* since 2.5 */
    if (rc == 0)
        rc = add_rules(filter, conf);
    if (rc == 0)
        rc = export_filter(filter, out);
    if (filter != NULL)
        seccomp_release(filter);
    if (rc != 0)
        err_set(reterr, ERR_INTERNAL, "the filter of system calls: %s", strerror(-rc));
    return rc == 0 ? 0 : -1;
}
