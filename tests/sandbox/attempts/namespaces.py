# Make namespaces, in which one has rights that one lacks outside, or enter others.
import glob
import signal
import subprocess

FLAGS = {"user": 0x10000000, "mount": 0x20000, "pid": 0x20000000, "net": 0x40000000, "ipc": 0x8000000, "uts": 0x4000000, "cgroup": 0x2000000, "time": 0x80}
NUMBERS = {"x86_64": {"clone": 56, "clone3": 435}, "aarch64": {"clone": 220, "clone3": 435}}

for name, flag in FLAGS.items():
    tries(name, call, "unshare", flag)
    tries(name, call, "unshare", flag | FLAGS["user"])
numbers = NUMBERS.get(os.uname().machine, {})


def clone(flag):
    pid = libc.syscall(numbers["clone"], flag | FLAGS["user"] | signal.SIGCHLD, 0, 0, 0, 0)
    if pid == 0:
        os._exit(0)
    if pid == -1:
        raise OSError(ctypes.get_errno(), "clone")
    os.waitpid(pid, 0)
    return pid


if numbers:
    for name, flag in FLAGS.items():
        if name != "time":  # has no flag of clone
            tries("clone " + name, clone, flag)
    tries("clone3", lambda: libc.syscall(numbers["clone3"], None, 64) == -1 and ctypes.get_errno() != 38 and ctypes.get_errno())
for path in glob.glob("/proc/[0-9]*/ns/*"):
    tries(path, lambda: call("setns", os.open(path, os.O_RDONLY), 0))


def run(*command):
    done = subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL, timeout=20)
    return done.returncode == 0 and done.stdout


tries("unshare", run, "unshare", "-Ur", "id")
tries("bwrap", run, "bwrap", "--ro-bind", "/", "/", "id")
tries("nsenter", run, "nsenter", "-t", "1", "-a", "id")
held()
