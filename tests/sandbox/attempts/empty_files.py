# Make files and directories without content and without end: they have no size.
def fill(directory):
    n = 0
    try:
        while n < 4 * FILES:
            os.close(os.open(f"{directory}/{n}", os.O_CREAT | os.O_WRONLY))
            n += 1
    except OSError:
        pass
    for i in range(n):
        os.unlink(f"{directory}/{i}")
    return n > FILES and f"{n} files"


for directory in "/mnt/data", "/tmp", "/dev/shm":
    tries(directory, fill, directory)
tries("attributes", lambda: [os.setxattr("/mnt/data", f"user.{i}", bytes(1000)) for i in range(100)])
held()
