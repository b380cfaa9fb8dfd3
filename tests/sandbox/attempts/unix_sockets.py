# Reach programs of this machine by their UNIX sockets, with a path and without.
import socket


def connect(address):
    with socket.socket(socket.AF_UNIX) as s:
        s.connect(address)
        return address


for address in SOCKET, "\0" + ABSTRACT, "/run/dbus/system_bus_socket", "/run/docker.sock", "/run/systemd/private":
    tries("a socket", connect, address)
tries("a list of sockets", lambda: [l for l in open("/proc/net/unix") if ABSTRACT in l])
held()
