/* socket_manager.mjs -- a service manager that holds the sockets of a gateway, as systemd does with
 * socket units: a small Python program, since Node cannot pass descriptors by number. */
import { spawn } from 'node:child_process';
import { BINARY, ENVIRONMENT } from './daemon.mjs';
import { patience } from './patience.mjs';

/* Arguments: the sockets as JSON, [name, path or null for a TCP one], and the program with its own. It
 * tells the ports; SIGUSR1 has the program stopped and started again. */
const MANAGE = `
import json, os, signal, socket, sys
wanted = json.loads(sys.argv[1])
sockets = []
for name, path in wanted:
    s = socket.socket(socket.AF_INET if path is None else socket.AF_UNIX)
    s.bind(('127.0.0.1', 0) if path is None else path)
    s.listen(1024)
    sockets.append(s)
print(json.dumps([s.getsockname()[1] if p is None else p for (n, p), s in zip(wanted, sockets)]), flush=True)
again = False
pid = 0
def stop(number, frame):
    global again
    again = number == signal.SIGUSR1
    os.kill(pid, signal.SIGTERM)
signal.signal(signal.SIGUSR1, stop)
signal.signal(signal.SIGTERM, stop)
while True:
    again = False
    copies = [os.dup(s.fileno()) for s in sockets]
    high = [os.dup2(c, 100 + i) for i, c in enumerate(copies)]
    pid = os.fork()
    if pid == 0:
        for i, fd in enumerate(high):
            os.dup2(fd, 3 + i)
        os.closerange(3 + len(high), 200)
        env = dict(os.environ, LISTEN_PID=str(os.getpid()), LISTEN_FDS=str(len(high)))
        if any(name for name, path in wanted):
            env['LISTEN_FDNAMES'] = ':'.join(name for name, path in wanted)
        os.execve(sys.argv[2], sys.argv[2:], env)
    for fd in copies + high:
        os.close(fd)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    print('ended', status, flush=True)
    if not again:
        sys.exit(status)
`;

/* A gateway with these sockets, [[name, path or undefined], ...]; places[i] is the port or path. */
export async function startManaged(t, sockets, ...args) {
    const wanted = JSON.stringify(sockets.map(([name, path]) => [name, path ?? null]));
    const child = spawn('python3', ['-c', MANAGE, wanted, BINARY, 'serve', ...args], {
        stdio: ['ignore', 'pipe', 'pipe'],
        env: { ...ENVIRONMENT, ANTIPHON_STORE: 'memory', ANTIPHON_CODE_INTERPRETER: 'off' },
    });
    const managed = { child, log: '', out: '' };
    child.stdout.setEncoding('utf8').on('data', (text) => (managed.out += text));
    child.stderr.setEncoding('utf8').on('data', (text) => (managed.log += text));
    managed.exited = new Promise((done) => child.on('close', (code) => done(code)));
    t.after(() => child.kill('SIGTERM'));
    managed.until = async (what, pattern, n = 1) => {
        for (const deadline = performance.now() + patience(20_000); ; await new Promise((done) => setTimeout(done, 5))) {
            const found = [...managed[what].matchAll(pattern)];
            if (found.length >= n)
                return found.at(-1);
            if (performance.now() > deadline || child.exitCode !== null)
                throw new Error(`${pattern} did not come:\n${managed.out}\n${managed.log}`);
        }
    };
    managed.places = JSON.parse((await managed.until('out', /\[.*\]/g))[0]);
    return managed;
}
