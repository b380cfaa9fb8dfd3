# Start threads without end.
import threading

stop = threading.Event()
n = 0
try:
    while n < 4 * PROCESSES:
        threading.Thread(target=stop.wait, daemon=True).start()
        n += 1
except RuntimeError:
    pass
stop.set()
tries("too many threads", lambda: n > PROCESSES and n)
held()
