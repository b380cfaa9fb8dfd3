# Print without end, on every way out.
import sys
import threading

LINE = b"x" * 65535 + b"\n"


def flood(fd):
    while True:
        os.write(fd, LINE)


for fd in 1, 2:
    threading.Thread(target=flood, args=(fd,), daemon=True).start()
while True:
    sys.stdout.write("y" * 100000)
