# Take over a process that speaks with the gateway, or that holds the sandbox together: by writing to
# its memory, by its descriptors, by what it was started with, by stopping it.
import glob
import signal
import time

PR_SET_PDEATHSIG = 1
mine = os.getpid()
others = [int(p) for p in os.listdir("/proc") if p.isdigit() and int(p) != mine]
for pid in [*others, mine]:
    tries(f"memory of {pid}", lambda: open(f"/proc/{pid}/mem", "r+b", buffering=0))
    for thread in glob.glob(f"/proc/{pid}/task/*/mem"):
        tries(thread, lambda: open(thread, "r+b", buffering=0))
for pid in others:
    tries(f"memory of {pid} to look at", lambda: open(f"/proc/{pid}/mem", "rb", buffering=0))
    for link in glob.glob(f"/proc/{pid}/fd/*"):
        tries(link, lambda: os.open(link, os.O_WRONLY | os.O_NONBLOCK))
    for name in "oom_score_adj", "comm", "clear_refs", "coredump_filter", "attr/current":
        tries(f"{name} of {pid}", lambda: open(f"/proc/{pid}/{name}", "r+b", buffering=0))
tries("no death with the parent", call, "prctl", PR_SET_PDEATHSIG, 0, 0, 0, 0)
tries("another death with the parent", call, "prctl", PR_SET_PDEATHSIG, signal.SIGUSR1, 0, 0, 0)


def state(pid):
    return open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()[0]


for number in signal.SIGSTOP, signal.SIGTSTP, signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGSEGV:
    os.kill(1, number)
time.sleep(0.1)
tries("pid 1 is stopped", lambda: state(1) in "TtZX" and state(1))
held()
