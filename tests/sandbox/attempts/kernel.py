# Use parts of the kernel that nobody here has a use for, and change the machine.
import fcntl
import socket
import termios

NUMBERS = {
    "x86_64": {"add_key": 248, "request_key": 249, "keyctl": 250, "bpf": 321, "perf_event_open": 298, "io_uring_setup": 425, "userfaultfd": 323, "init_module": 175, "kexec_load": 246, "fanotify_init": 300},
    "aarch64": {"add_key": 217, "request_key": 218, "keyctl": 219, "bpf": 280, "perf_event_open": 241, "io_uring_setup": 425, "userfaultfd": 282, "init_module": 105, "kexec_load": 104, "fanotify_init": 262},
}
EPERM, ENOSYS = 1, 38


def is_answered(number):
    """The filter refuses the call before its arguments are looked at."""
    return libc.syscall(number, 0, 0, 0, 0, 0) != -1 or ctypes.get_errno() not in (EPERM, ENOSYS)


for name, number in NUMBERS.get(os.uname().machine, {}).items():
    tries(name, is_answered, number)
tries("the name", call, "sethostname", b"mine", 4)
tries("the time", call, "settimeofday", ctypes.create_string_buffer(16), None)
tries("a restart", call, "reboot", 0)
tries("swap", call, "swapon", b"/mnt/data/x", 0)
tries("another personality", call, "personality", 0x40000)
for family in 4, 16, 17, 31, 38, 40, 44:  # IPX, netlink, packets, bluetooth, crypto, vsock, XDP
    tries(f"sockets of family {family}", lambda: socket.socket(family, socket.SOCK_RAW, 0))
tries("raw sockets", lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1))
for path in "/proc/sys/kernel/core_pattern", "/proc/sys/kernel/hostname", "/proc/sysrq-trigger", "/proc/sys/vm/overcommit_memory", "/dev/mem", "/dev/kmsg", "/dev/fuse", "/dev/kvm", "/dev/vda", "/dev/sda":
    tries(path, lambda: open(path, "r+b"))
tries("a cgroup", lambda: os.makedirs("/sys/fs/cgroup/mine") or "made")
for path in "/dev/tty", "/proc/self/fd/0", "/dev/stdin":
    tries("typing", lambda: fcntl.ioctl(os.open(path, os.O_RDWR), termios.TIOCSTI, b"x"))
held()
