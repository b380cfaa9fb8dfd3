# Read what belongs to this machine: by path, through /proc, by climbing.
import glob

FILES = ["/etc/shadow", "/etc/sudoers", "/etc/hostname", "/etc/machine-id", "/root/.bashrc",
         "/root/.ssh/authorized_keys", "/var/lib/dpkg/status", "/boot/config", SECRET_FILE]
for path in FILES:
    tries(path, read, path)
    tries("root of pid 1", read, "/proc/1/root" + path)
    tries("climbing", read, "../" * 20 + path[1:])
    tries("from a directory of the system", read, "/usr/../" + path[1:])
for place in "/home/*", "/root/*", "/var/*", "/sys/*", "/srv/*", "/boot/*", "/media/*", "/run/*", "/oldroot/*", "/newroot/*":
    tries(place, lambda: [p for p in glob.glob(place) if p != "/run/main.py"])
tries("a user of this machine", lambda: [l for l in open("/etc/passwd") if l.split(":")[0] not in ("root", "sandbox", "nobody")])
for link in glob.glob("/proc/[0-9]*/cwd") + glob.glob("/proc/[0-9]*/fd/*"):
    tries(link, read, link + "/.." * 20 + SECRET_FILE)
for fd in range(3, 200):
    tries(f"an open descriptor {fd}", lambda: (p := os.readlink(f"/proc/self/fd/{fd}")).startswith("/") and not p.startswith(("/dev/", "/proc/", "/run/main.py")) and p)
held()
