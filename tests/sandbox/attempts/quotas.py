# Take all of what the kernel counts by user, so that other programs of the same user have none left:
# instances of inotify, watches of epoll, pages of pipes, waiting signals, timers, locked memory. They
# are kept for a while, in which the test looks whether such a program notices.
import resource
import select
import signal
import time

kept = []


def take(what):
    """Until there is no more, or enough to show that there is no end."""
    try:
        for _ in range(400):
            kept.append(what())
    except OSError:
        pass


take(lambda: call("inotify_init1", 0))  # half of the descriptors at most
pipes = []
try:
    while len(pipes) < 150:
        pipes.append(os.pipe())
        os.set_blocking(pipes[-1][1], False)
        os.write(pipes[-1][1], bytes(1 << 16))
except OSError:
    pass


def watch():
    poll = select.epoll()
    kept.append(poll)
    for reader, _ in pipes:
        poll.register(reader)


take(watch)
signal.pthread_sigmask(signal.SIG_BLOCK, range(signal.SIGRTMIN, signal.SIGRTMAX))
info = ctypes.create_string_buffer(128)
ctypes.c_int.from_buffer(info, 8).value = -1  # si_code: SI_QUEUE
NUMBERS = {"x86_64": 129, "aarch64": 138}
queue = NUMBERS.get(os.uname().machine)
n = 0
while queue and n < 100000 and libc.syscall(queue, os.getpid(), signal.SIGRTMIN, info) == 0:
    n += 1
tries("waiting signals", lambda: n > 1000 and n)
limit = (ctypes.c_ulong * 2)(1 << 20, 1 << 20)
tries("limit of signals", call, "setrlimit", int(resource.RLIMIT_SIGPENDING), limit)
held()
time.sleep(HOLD_S)
