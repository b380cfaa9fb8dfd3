# Use memory that no process has mapped: files without a name, shared segments.
PIECE = bytes(1 << 20)
LIMIT_MB = 4 * MEMORY_MB


def fill_memfd():
    kept, n = [], 0
    while n < LIMIT_MB:
        kept.append(os.memfd_create("x"))
        for _ in range(16):
            os.write(kept[-1], PIECE)
            n += 1
    return f"{n} MiB"


def fill_segments():
    libc.shmat.restype = ctypes.c_void_p
    for n in range(LIMIT_MB // 16):
        segment = libc.shmget(0, 16 << 20, 0o1600)
        if segment == -1:
            raise OSError(ctypes.get_errno(), "shmget")
        at = libc.shmat(segment, None, 0)
        if at in (None, ctypes.c_void_p(-1).value):
            raise OSError(ctypes.get_errno(), "shmat")
        ctypes.memset(at, 1, 16 << 20)
        libc.shmdt(ctypes.c_void_p(at))
    return f"{LIMIT_MB} MiB"


tries("memfd", fill_memfd)
tries("segments", fill_segments)
held()
