# Use memory in many processes, each of which has not too much. One is killed for it, or all are.
import signal

SHARE_MB = 24
children = []
for _ in range(2 * MEMORY_MB // SHARE_MB):
    children.append(os.fork())
    if children[-1] == 0:
        kept = bytearray(SHARE_MB << 20)
        signal.alarm(20)
        signal.signal(signal.SIGALRM, lambda *_: os._exit(0))
        signal.pause()
_, status = os.wait()
tries("all of them", lambda: not os.WIFSIGNALED(status) and f"{2 * MEMORY_MB} MiB")
for pid in children:
    tries("a child", os.kill, pid, signal.SIGKILL)
held()
