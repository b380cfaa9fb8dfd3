# Start processes without end.
import signal

children = []
try:
    while len(children) < 4 * PROCESSES:
        pid = os.fork()
        if pid == 0:
            signal.pause()
            os._exit(0)
        children.append(pid)
except OSError:
    pass
for pid in children:
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
tries("too many processes", lambda: len(children) > PROCESSES and len(children))
held()
