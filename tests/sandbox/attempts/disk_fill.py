# Fill whatever can be written to, and write where nothing should be.
PIECE = bytes(1 << 20)


def fill(directory):
    written = 0
    try:
        with open(directory + "/fill", "wb", buffering=0) as f:
            while written < 4 * DISK_MB:
                f.write(PIECE)
                written += 1
    except OSError:
        pass
    finally:
        if os.path.exists(directory + "/fill"):
            os.unlink(directory + "/fill")
    return written > max(DISK_MB, 64) and f"{written} MiB"


for directory in "/mnt/data", "/tmp", "/dev/shm":
    tries(directory, fill, directory)
for directory in "/", "/mnt", "/etc", "/usr", "/usr/lib", "/usr/local/bin", "/run", "/dev", "/dev/pts", "/proc", "/proc/sys/kernel", "/opt", "/var/tmp", "/home":
    tries(directory, lambda: open(directory + "/mine", "w"))
held()
