# See processes of this machine. There are bwrap, Python, and what it has started.
pids = [int(p) for p in os.listdir("/proc") if p.isdigit()]
tries("more processes than mine", lambda: len(pids) > 4 and pids)
tries("the gateway", lambda: [p for p in pids if b"antiphon" in read(f"/proc/{p}/comm")])
tries("its name", lambda: os.uname().nodename != "sandbox" and os.uname().nodename)
held()
