# Have the gateway read files of this machine by links in the work directory.
os.symlink(SECRET_FILE, "secret.txt")
os.symlink("/etc/passwd", "passwd.txt")
os.symlink(os.path.dirname(SECRET_FILE), "directory")
os.symlink("/proc/self/environ", "environ.txt")
os.symlink(".", "around")
os.makedirs("deep/er")
os.symlink("../../../../../.." + SECRET_FILE, "deep/er/secret.txt")
os.mkfifo("pipe")
tries("a hard link", lambda: os.link("/etc/passwd", "hard.txt") or "made")
tries("the secret", read, "secret.txt")
with open("mine.txt", "w") as f:
    f.write("mine")
held()
