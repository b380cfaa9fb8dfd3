# Reach anything: the listener of the test on this machine, a resolver, an address of the internet.
import socket

socket.setdefaulttimeout(3)


def connect(family, address):
    with socket.socket(family) as s:
        s.connect(address)
        return address


for address in ADDRESSES:
    tries("TCP", connect, socket.AF_INET6 if ":" in address else socket.AF_INET, (address, PORT))
tries("TCP", connect, socket.AF_INET, ("1.1.1.1", 53))
tries("a name", socket.getaddrinfo, "example.org", 80)


def ask(resolver):
    query = b"\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x07example\x03org\x00\x00\x01\x00\x01"
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.connect((resolver, 53))
        s.send(query)
        return s.recv(512)


for resolver in "1.1.1.1", "127.0.0.53", "127.0.0.11":
    tries("DNS", ask, resolver)
tries("an interface", lambda: [name for _, name in socket.if_nameindex() if name != "lo"])
held()
