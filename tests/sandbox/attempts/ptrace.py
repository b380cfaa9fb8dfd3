# Look into other processes, and change them.
PTRACE_ATTACH, PTRACE_SEIZE = 16, 0x4206


class Vector(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("len", ctypes.c_size_t)]


def read_memory(pid):
    page = ctypes.create_string_buffer(64)
    mine = Vector(ctypes.addressof(page), 64)
    maps = open(f"/proc/{pid}/maps").readline()
    theirs = Vector(int(maps.split("-")[0], 16), 64)
    return call("process_vm_readv", pid, ctypes.byref(mine), 1, ctypes.byref(theirs), 1, 0)


child = os.fork()
if child == 0:
    import signal
    signal.pause()
for pid in 1, os.getppid(), child:
    tries("attach", call, "ptrace", PTRACE_ATTACH, pid, 0, 0)
    tries("seize", call, "ptrace", PTRACE_SEIZE, pid, 0, 0)
    tries("process_vm_readv", read_memory, pid)

# Memory of one's own processes can be written to. None may do what the others may not.
for pid in filter(str.isdigit, os.listdir("/proc")):
    for line in open(f"/proc/{pid}/status"):
        name, _, value = line.partition(":")
        tries(f"filter of {pid}", lambda: name == "Seccomp" and int(value) != 2)
        tries(f"rights of {pid}", lambda: name.startswith("Cap") and int(value, 16))
    tries(f"namespace of {pid}", lambda: os.readlink(f"/proc/{pid}/ns/user") != os.readlink("/proc/self/ns/user"))
os.kill(child, 9)
os.waitpid(child, 0)
held()
