# Find a variable of the gateway.
import glob

tries("environ", lambda: [v for v in os.environ.values() if SECRET in v])
for path in glob.glob("/proc/[0-9]*/environ"):
    tries(path, lambda: SECRET.encode() in read(path))
for path in glob.glob("/proc/[0-9]*/cmdline"):
    tries(path, lambda: SECRET.encode() in read(path))
held()
