"""runner.py -- runs the code of strangers inside a sandbox, and tells what came of it.

It is two processes. The first, this one as it was started, speaks PROTOCOL.md with the
gateway and never runs foreign code (class Gateway). The second, its child, is the Python
session of a container: variables, imports and threads of user code live there (class
Session). So whatever the code does, be it a loop in C that never lets go of the
interpreter's lock, closed descriptors or a crash, files can still be listed, output is
still read, and an interrupt is still sent.

    gateway <-- lines of JSON --> Gateway <-- channel: lines of JSON --> Session
                                     ^------- output: stdout and stderr ----|

The session's standard output and error are one pipe, so that the output of subprocesses
and of C code is there too, in order. A session knows nothing of the gateway's pipes.

Python 3.9 or newer, nothing but the standard library, ASCII only (the gateway holds this
file as a C string).
"""

import ast
import base64
import codecs
import contextlib
import fcntl
import io
import itertools
import json
import linecache
import os
import resource
import selectors
import signal
import socket
import stat
import sys
import traceback
import types
import warnings

OPEN_FILES = 1024  # of a process
WAITING_SIGNALS = 128  # of all processes of a user; timers count as well
LOCKED_BYTES = 1 << 20  # of memory, of a process
PRIORITY = 10  # of code: less than of this program, which has to answer meanwhile
PIPE_BYTES = 1 << 20  # a pipe holds no more, so that one read empties it
MAX_FRAMES = 50  # of a traceback, the last ones
MAX_ENTRIES = 20000  # of the work directory that are looked at
MAX_FILES = 1000  # of those that are told
MAX_PATH_BYTES = 512  # of the path of one of those
MAX_IMAGES = 10  # that a run hands over; together they are at most ...
IMAGES_BYTES = 4  # ... so many times as large as one may be


def hide(is_hidden):
    """Keeps other processes of the sandbox from this one's memory and descriptors, or no longer.
    What code could write to is safe without, so that it may fail."""
    PR_SET_DUMPABLE = 4
    with contextlib.suppress(ImportError, AttributeError, OSError):
        import ctypes

        ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, int(not is_hidden), 0, 0, 0)


def to_line(message):
    return json.dumps(message).encode("ascii") + b"\n"


def shortened(whole_bytes, head, tail):
    """The text of whole_bytes, of which only the first and the last are there."""
    if len(head) + len(tail) == whole_bytes:
        return bytes(head + tail).decode("utf-8", "replace")
    # No character is cut in two: a decoder that expects more leaves out the beginning of one.
    before = codecs.getincrementaldecoder("utf-8")("replace").decode(bytes(head))
    after = bytes(tail).lstrip(bytes(range(0x80, 0xC0))).decode("utf-8", "replace")
    left_out = whole_bytes - len(head) - len(tail)
    return f"{before}\n[... {left_out} bytes left out ...]\n{after}"


def shorten(text, max_bytes):
    """Valid UTF-8 of hardly more than max_bytes: lone surrogates become escapes."""
    encoded = text.encode("utf-8", "backslashreplace")
    half = max_bytes // 2
    if len(encoded) <= max_bytes:
        return encoded.decode("utf-8")
    return shortened(len(encoded), encoded[:half], encoded[-half:])


class Logs:
    """What code prints: the first half of what is allowed, and the last, where errors are."""

    def __init__(self, max_bytes):
        self.half = max_bytes // 2
        self.whole_bytes = 0
        self.head = bytearray()
        self.tail = bytearray()

    def add(self, data):
        self.whole_bytes += len(data)
        room = self.half - len(self.head)
        self.head += data[:room]
        self.tail += data[room:]
        del self.tail[: -self.half]

    def text(self):
        return shortened(self.whole_bytes, self.head, self.tail)


# ---- the session: the process in which user code runs


def foreign(function, *args):
    """Calls what may run user code. Only below this frame does an interrupt arrive."""
    return function(*args)


def on_interrupt(_signal, frame):
    """Raises KeyboardInterrupt in user code, and never in ours: before and after, it has no effect."""
    while frame is not None:
        if frame.f_code is foreign.__code__:
            raise KeyboardInterrupt
        frame = frame.f_back


def set_limits(limits):
    """For this process and all that it will start. What is 0 is not limited."""
    wanted = {
        resource.RLIMIT_AS: limits["memory_bytes"],
        resource.RLIMIT_NPROC: limits["processes"],
        resource.RLIMIT_FSIZE: limits["file_bytes"],
        resource.RLIMIT_NOFILE: OPEN_FILES,
        resource.RLIMIT_SIGPENDING: WAITING_SIGNALS,
        resource.RLIMIT_MEMLOCK: LOCKED_BYTES,
    }
    for which, most in wanted.items():
        hard = resource.getrlimit(which)[1]
        if most > 0:
            most = most if hard == resource.RLIM_INFINITY else min(most, hard)
            resource.setrlimit(which, (most, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def text_stream(fd, mode):
    """A standard stream without a buffer, so that text stays in order with that of others."""
    return io.TextIOWrapper(
        io.FileIO(fd, mode, closefd=False),
        encoding="utf-8",
        errors="backslashreplace" if mode == "w" else "replace",
        write_through=True,
    )


def describe(error):
    """The traceback as Python shows it, without the frames of this file."""
    if isinstance(error, SystemExit):
        return "".join(traceback.format_exception_only(type(error), error))
    trace = error.__traceback__
    while trace is not None and not trace.tb_frame.f_code.co_filename.startswith("<code "):
        trace = trace.tb_next
    told = traceback.TracebackException(type(error), error, trace, limit=-MAX_FRAMES)
    if told.stack and told.stack[-1].name == on_interrupt.__name__:
        told.stack.pop()
    return "".join(told.format())


def draw_figures():
    """The open figures of matplotlib as PNG. Afterwards there are none."""
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is None:
        return []
    try:
        drawn = []
        for number in pyplot.get_fignums():
            file = io.BytesIO()
            pyplot.figure(number).savefig(file, format="png")
            drawn.append(file.getvalue())
        return drawn
    finally:
        pyplot.close("all")


class Session:
    def __init__(self, channel, output, limits):
        self.pid = os.getpid()
        self.channel = channel
        self.output = output  # ours: user code may close descriptors 1 and 2
        self.limits = limits
        self.n_runs = 0
        # A module of this name, so that "if __name__" is true and pickle finds classes in it.
        self.main = types.ModuleType("__main__")
        sys.modules["__main__"] = self.main

    def serve(self):
        self.send({"python": sys.version.split()[0]})
        with self.channel.makefile("r", encoding="ascii") as lines:
            for line in lines:
                self.send(self.run(json.loads(line)["code"]))

    def send(self, message):
        self.channel.sendall(to_line(message))

    def run(self, code):
        outcome = {"value": None, "raised": False}
        images = []
        self.restore_streams()
        try:
            outcome["value"] = foreign(self.execute, code, images)
        except BaseException as error:
            outcome["raised"] = not isinstance(error, SystemExit) or error.code not in (None, 0)
            self.tell(error)
        if os.getpid() != self.pid:
            os._exit(outcome["raised"])  # a child that user code has forked, and not ended
        try:
            images += foreign(draw_figures)
        except BaseException as error:
            self.tell(error)
        outcome["images"] = [base64.b64encode(png).decode("ascii") for png in self.choose(images)]
        return outcome

    def restore_streams(self):
        """Code that runs must be seen, whatever an earlier one did to the streams."""
        signal.signal(signal.SIGINT, on_interrupt)
        os.dup2(self.output, 1)
        os.dup2(self.output, 2)
        sys.stdin = sys.__stdin__ = text_stream(0, "r")
        sys.stdout = sys.__stdout__ = text_stream(1, "w")
        sys.stderr = sys.__stderr__ = text_stream(2, "w")

    def execute(self, code, images):
        """Runs it, and returns the last expression as text, or None."""
        self.send({"started": True})  # from now on an interrupt arrives
        self.n_runs += 1
        name = f"<code {self.n_runs}>"
        linecache.cache[name] = (len(code), None, code.splitlines(True), name)  # for tracebacks
        body = ast.parse(code, name).body
        last = body.pop() if body and isinstance(body[-1], ast.Expr) else None
        exec(compile(ast.Module(body, []), name, "exec"), self.main.__dict__)
        if last is None:
            return None
        value = eval(compile(ast.Expression(last.value), name, "eval"), self.main.__dict__)
        if value is None:
            return None
        images += self.drawn(value)
        return shorten(repr(value), self.limits["output_bytes"])

    @staticmethod
    def drawn(value):
        """The picture that a value is: images of PIL have this method, and others."""
        draw = None if isinstance(value, type) else getattr(value, "_repr_png_", None)
        png = draw() if callable(draw) else None
        return [png] if isinstance(png, bytes) else []

    def choose(self, images):
        most = self.limits["image_bytes"]
        fit = [png for png in images if len(png) <= most]
        if len(fit) < len(images) and most > 0:
            self.say(f"[{len(images) - len(fit)} images of more than {most} bytes left out]\n")
        return fit[:MAX_IMAGES]

    def tell(self, error):
        try:
            text = foreign(describe, error)
        except BaseException:
            text = f"{type(error).__name__}, which cannot be shown\n"
        self.say(text)

    def say(self, text):
        with open(self.output, "w", encoding="utf-8", errors="backslashreplace", closefd=False) as f:
            f.write(text)


def start_session(channel, output, limits, work_directory):
    """What the child does instead of returning. Its streams are not the gateway's."""
    try:
        hide(False)
        os.dup2(os.open(os.devnull, os.O_RDWR), 0)
        os.dup2(output, 1)
        os.dup2(output, 2)
        kept = sorted([2, channel.fileno(), output, OPEN_FILES])
        for low, high in zip(kept, kept[1:]):
            os.closerange(low + 1, high)
        os.environ["MPLBACKEND"] = "Agg"
        warnings.filterwarnings("ignore", "FigureCanvasAgg is non-interactive")  # plt.show()
        with contextlib.suppress(PermissionError):  # the filter of a systemd unit may forbid it
            os.nice(PRIORITY)
        sys.argv = [""]
        sys.path.insert(0, work_directory)
        set_limits(limits)
        Session(channel, output, limits).serve()
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(1)


# ---- the work directory


def list_files(top):
    """path -> stat of the regular files below it. Links are not followed, and what cannot be
    told is left out: a path that is too long, or not UTF-8."""
    files, folders, n_entries = {}, [""], 0
    while folders and n_entries < MAX_ENTRIES and len(files) < MAX_FILES:
        folder = folders.pop()
        try:
            with os.scandir(os.path.join(top, folder)) as scan:
                entries = list(itertools.islice(scan, MAX_ENTRIES - n_entries))
        except OSError:
            continue  # it is gone, or may not be read
        n_entries += len(entries)
        for entry in sorted(entries, key=lambda entry: entry.name):
            path = os.path.join(folder, entry.name)
            try:
                if len(path.encode("utf-8")) > MAX_PATH_BYTES:
                    continue
                found = entry.stat(follow_symlinks=False)
            except (OSError, UnicodeEncodeError):
                continue
            if stat.S_ISDIR(found.st_mode):
                folders.append(path)
            elif stat.S_ISREG(found.st_mode) and len(files) < MAX_FILES:
                files[path] = found
    return files


def open_file(top, path):
    """Its descriptor. No link is followed on the way, and nothing waits for a FIFO's writer."""
    fd = os.open(top, os.O_RDONLY)
    for name in path.split("/"):
        above = fd
        try:
            if name in ("", ".", ".."):
                raise FileNotFoundError(path)
            fd = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=above)
        finally:
            os.close(above)
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise FileNotFoundError(path)
    return fd


def read_file(top, path, max_bytes):
    """Its bytes, or None when there are more."""
    with open(open_file(top, path), "rb") as file:
        if os.fstat(file.fileno()).st_size > max_bytes:
            return None
        data = file.read(max_bytes + 1)
        return data if len(data) <= max_bytes else None


def image_type(data):
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if data.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if data.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
        return "image/webp"
    return None


def read_image(top, path, max_bytes):
    """What a run hands over for an image file, or None if it is none."""
    if not path.lower().endswith((".png", ".jpg", ".jpeg", ".gif", ".webp")):
        return None
    try:
        data = read_file(top, path, max_bytes)
    except OSError:
        return None
    mime = image_type(data or b"")
    return mime and {"mime": mime, "path": path, "base64": base64.b64encode(data).decode("ascii")}


def shown(files):
    return [
        {"path": path, "bytes": found.st_size, "modified_at": int(found.st_mtime)}
        for path, found in sorted(files.items())
    ]


# ---- the way out


def forward(listener, path):
    """Hands each connection on to the gateway's proxy, whose socket is at path."""
    import asyncio

    async def pump(reader, writer):
        try:
            while data := await reader.read(1 << 16):
                writer.write(data)
                await writer.drain()
            writer.write_eof()
        except OSError:
            writer.close()  # one side has left

    async def connect(reader, writer):
        try:
            there_reader, there_writer = await asyncio.open_unix_connection(path)
            await asyncio.gather(pump(reader, there_writer), pump(there_reader, writer))
            there_writer.close()
        except OSError:
            pass  # the gateway's proxy is gone
        writer.close()

    async def serve():
        server = await asyncio.start_server(connect, sock=listener)
        await server.serve_forever()

    asyncio.run(serve())


def start_forwarder(path):
    """A process that forwards, and the environment that makes programs use it."""
    listener = socket.create_server(("127.0.0.1", 0))
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    pid = os.fork()
    if pid == 0:
        try:
            null = os.open(os.devnull, os.O_RDWR)
            for fd in (0, 1, 2):
                os.dup2(null, fd)
            forward(listener, path)
        finally:
            os._exit(1)
    listener.close()
    for name in ("http_proxy", "https_proxy"):
        os.environ[name] = os.environ[name.upper()] = url
    os.environ["no_proxy"] = os.environ["NO_PROXY"] = "localhost,127.0.0.1"
    return pid


# ---- the gateway's side


class Lines:
    """Cuts what a descriptor gives into lines. Reads once whenever it is asked."""

    def __init__(self, fd, max_bytes=None):
        self.fd = fd
        self.max_bytes = max_bytes
        self.rest = bytearray()

    def read(self):
        """The lines that are whole now; None at the end."""
        data = os.read(self.fd, 1 << 16)
        if not data:
            return None
        self.rest += data
        if b"\n" not in data:
            if self.max_bytes is not None and len(self.rest) > self.max_bytes:
                raise ValueError("too long a line")
            return []
        *lines, self.rest = self.rest.split(b"\n")
        return lines


def longest_report(limits):
    """A byte of output may be six of JSON, three bytes of an image are four of base64."""
    return 8 * limits["output_bytes"] + 2 * MAX_IMAGES * limits["image_bytes"] + PIPE_BYTES


class Gateway:
    def __init__(self, limits, work_directory, session_pid, channel, output):
        self.limits = limits
        self.top = work_directory
        self.session_pid = session_pid
        self.channel = channel
        self.output = output
        self.requests = Lines(0)
        self.reports = Lines(channel.fileno(), longest_report(limits))
        self.run_id = None  # of the run that is under way
        self.is_started = False  # it is, and an interrupt arrives
        self.is_interrupted = False  # it is to be, as soon as it has started
        self.logs = Logs(0)
        self.is_ready = False
        self.child_ended = self.watch_children()
        self.known = list_files(self.top)  # what the gateway knows of files

    def serve(self):
        """Until the gateway closes our input, or the session has ended."""
        with selectors.DefaultSelector() as selector:
            selector.register(0, selectors.EVENT_READ, self.on_request)
            selector.register(self.channel, selectors.EVENT_READ, self.on_report)
            selector.register(self.output, selectors.EVENT_READ, self.on_output)
            selector.register(self.child_ended, selectors.EVENT_READ, self.on_child)
            while True:
                for key, _ in selector.select():
                    key.data()

    def send(self, message):
        line = memoryview(to_line(message))
        while line:
            line = line[os.write(1, line) :]

    # -- the session

    @staticmethod
    def watch_children():
        """A descriptor that can be read when a child has ended. The channel does not tell: a
        process that the session has forked may hold it open."""
        there, here = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(here, warn_on_full_buffer=False)
        os.kill(os.getpid(), signal.SIGCHLD)  # it may have ended already
        return there

    def on_child(self):
        """Reaps: as the first process of a sandbox we inherit those that others leave behind."""
        os.read(self.child_ended, PIPE_BYTES)
        try:
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if pid == 0:
                    return
                if pid == self.session_pid:
                    self.end(status)
        except ChildProcessError:
            pass

    def end(self, status):
        self.on_output()
        how = os.waitstatus_to_exitcode(status)
        what = f"exited with status {how}" if how >= 0 else signal.strsignal(-how)
        sys.exit(f"the Python process ended: {what}")

    def on_output(self):
        """Output belongs to the run that is under way; without one it is dropped. What comes
        before the session is ready says why it never will be, and goes into the gateway's log."""
        try:
            data = os.read(self.output, PIPE_BYTES)
        except BlockingIOError:
            return
        if self.run_id is not None:
            self.logs.add(data)
        elif not self.is_ready:
            os.write(2, data)

    def on_report(self):
        """User code can write here, too, if it looks for the descriptor. That ends the sandbox."""
        try:
            lines = self.reports.read()
            if lines is None:  # it has ended, as a rule; then this changes nothing
                os.kill(self.session_pid, signal.SIGKILL)
                self.end(os.waitpid(self.session_pid, 0)[1])
            for line in lines:
                self.take_report(json.loads(line))
        except (ValueError, TypeError, KeyError, OSError) as error:
            sys.exit(f"the Python process broke its connection: {error}")

    def take_report(self, report):
        if "python" in report:
            self.is_ready = True
            self.send({"ready": {"python": report["python"]}})
        elif "started" in report:
            self.is_started = True
            self.interrupt_if_asked()
        elif self.run_id is not None:
            self.end_run(report)

    def interrupt_if_asked(self):
        """Not before it has started: until then the session takes no notice."""
        if self.is_started and self.is_interrupted:
            self.is_interrupted = False
            os.kill(self.session_pid, signal.SIGINT)

    def end_run(self, report):
        self.on_output()  # what was written before the report
        files = list_files(self.top)
        new = {path: found for path, found in files.items() if self.is_new(path, found)}
        answer = {"id": self.run_id, "logs": self.logs.text()}
        answer["value"] = report["value"]
        answer["raised"] = report["raised"]
        answer["images"] = self.images(new, report["images"])
        answer["files"] = shown(new)
        self.known = files
        self.run_id = None
        self.send(answer)

    def is_new(self, path, found):
        known = self.known.get(path)
        return known is None or any(
            getattr(known, name) != getattr(found, name) for name in ("st_mtime_ns", "st_size", "st_ino")
        )

    def images(self, new, figures):
        images, room = [], IMAGES_BYTES * self.limits["image_bytes"] * 4 // 3
        for image in self.candidates(new, figures):
            room -= len(image["base64"])
            if room < 0:
                break
            images.append(image)
            if len(images) == MAX_IMAGES:
                break
        return images

    def candidates(self, new, figures):
        """Image files, and the figures of which there is no file. One by one: there may be more
        than fit into memory."""
        most = self.limits["image_bytes"]
        saved = set()
        for path in sorted(new) if most > 0 else []:
            image = read_image(self.top, path, most)
            if image:
                saved.add(image["base64"])
                yield image
        for figure in figures if most > 0 else []:
            if figure not in saved:
                yield {"mime": "image/png", "path": "", "base64": figure}

    # -- requests

    def on_request(self):
        lines = self.requests.read()
        if lines is None:
            sys.exit(0)
        for line in lines:
            request = json.loads(line)
            getattr(self, "do_" + request["op"])(request)

    def do_run(self, request):
        if self.run_id is not None:
            self.send({"id": request["id"], "error": "busy"})
            return
        self.on_output()
        self.run_id = request["id"]
        self.logs = Logs(self.limits["output_bytes"])
        self.is_started = self.is_interrupted = False
        self.channel.sendall(to_line({"code": request["code"]}))

    def do_interrupt(self, _request):
        self.is_interrupted = self.run_id is not None
        self.interrupt_if_asked()

    def do_files(self, request):
        self.send({"id": request["id"], "files": shown(list_files(self.top))})

    def do_read(self, request):
        answer = {"id": request["id"]}
        try:
            data = read_file(self.top, request["path"], request["max_bytes"])
            if data is None:
                answer["error"] = "too_large"
            else:
                answer["base64"] = base64.b64encode(data).decode("ascii")
        except (OSError, ValueError):
            answer["error"] = "not_found"
        self.send(answer)


def main():
    hide(True)
    limits = json.loads(sys.argv[1])
    work_directory = limits.get("work_directory", "/mnt/data")
    os.chdir(work_directory)
    forwarder_pid = start_forwarder(limits["egress"]) if limits["egress"] else None
    here, there = socket.socketpair()
    output, to_output = os.pipe2(os.O_CLOEXEC)
    session_pid = os.fork()
    if session_pid == 0:
        here.close()
        start_session(there, to_output, limits, work_directory)
    there.close()
    os.close(to_output)
    os.set_blocking(output, False)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        Gateway(limits, work_directory, session_pid, here, output).serve()
    finally:
        for pid in (session_pid, forwarder_pid):
            with contextlib.suppress(ProcessLookupError, TypeError):
                os.kill(pid, signal.SIGKILL)


main()
