# Change what the file system is.
MS_RDONLY, MS_REMOUNT, MS_BIND, MS_MOVE = 1, 32, 4096, 8192
os.makedirs("/tmp/at", exist_ok=True)

for kind in b"tmpfs", b"proc", b"sysfs", b"cgroup2", b"devtmpfs", b"overlay", b"fuse", b"ext4":
    tries(kind, call, "mount", b"none", b"/tmp/at", kind, 0, b"")
for where in b"/", b"/usr", b"/dev", b"/etc/passwd":
    tries("writable again", call, "mount", b"none", where, None, MS_REMOUNT | MS_BIND, None)
tries("bind", call, "mount", b"/proc/1/root", b"/tmp/at", None, MS_BIND, None)
tries("move", call, "mount", b"/mnt/data", b"/tmp/at", None, MS_MOVE, None)
for where in b"/mnt/data", b"/proc", b"/etc/passwd", b"/dev", b"/":
    tries("umount", call, "umount2", where, 2)
tries("chroot", lambda: os.chroot("/tmp") or "changed")
tries("fsopen", lambda: libc.fsopen(b"tmpfs", 0) != -1)
tries("open_tree", lambda: libc.open_tree(-100, b"/", 1) != -1)
tries("a device", lambda: os.mknod("/mnt/data/disk", 0o060666, os.makedev(254, 0)) or "made")
held()
