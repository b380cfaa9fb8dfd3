# What every attempt begins with. The test puts values in front of it, as SECRET = "...".
#
# An attempt calls tries() for each way out that it knows, and held() in the end: so a test sees
# that all of it was tried, and that none was a way.
import ctypes
import os

libc = ctypes.CDLL(None, use_errno=True)


def tries(way, attempt, *args):
    """attempt raises OSError, or returns nothing worth having, or has got out."""
    try:
        got = attempt(*args)
    except OSError:
        return
    if got:
        print(f"escaped: {way}: {got!r}"[:300])


def call(name, *args):
    """A function of the C library that returns -1 with errno set when it fails."""
    result = getattr(libc, name)(*args)
    if result == -1:
        raise OSError(ctypes.get_errno(), name)
    return f"returned {result}"


def read(path):
    with open(path, "rb") as f:
        return f.read(4096)


def held():
    print("held")
