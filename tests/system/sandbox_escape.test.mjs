/* sandbox_escape.test.mjs -- code that tries to get out of its sandbox, or to use this machine up.
 *
 * tests/sandbox/attempts/ has a program for each way. Each runs with control groups, where they can
 * be made, and without. Those that can do no harm run outside as well, where they have to succeed:
 * so it is known that they would. */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import test, { after, before, describe } from 'node:test';
import { BINARY, ENVIRONMENT, ROOT } from '../lib/daemon.mjs';
import { folder } from '../lib/folder.mjs';
import { patience } from '../lib/patience.mjs';

const PROCESSES = 16, FILES = 2000, MEMORY_MB = 128, DISK_MB = 32, OUTPUT_BYTES = 64 * 1024;
const LIMITS = ['--code-processes', PROCESSES, '--code-files', FILES, '--code-memory', `${MEMORY_MB}MiB`, '--code-disk', `${DISK_MB}MiB`, '--code-output', `${OUTPUT_BYTES}B`].map(String);
const SECRET = 'the-secret-of-this-test';

/* ends: how the program ends, "held" by saying so, "killed", or "either".
 * outside: it can run outside. only: with or without control groups. */
const ATTEMPTS = {
    host_files: { outside: true },
    host_environment: { outside: true },
    host_processes: { outside: true },
    network: { outside: true },
    unix_sockets: { outside: true },
    signals: {},
    ptrace: {},
    hijack: {},
    mount: {},
    setuid: {},
    namespaces: {},
    kernel: {},
    symlinks: { files: ['/mnt/data/mine.txt, 4 bytes'] },
    fork_bomb: {},
    fork_bomb_wild: { ends: 'killed', flags: ['--code-timeout', '3s'] },
    thread_bomb: {},
    memory_bomb: { ends: 'either' },
    memory_of_many: { ends: 'either', only: 'with' },
    memory_without_a_process: { ends: 'either' },
    disk_fill: {},
    empty_files: {},
    quotas: {},
    endless_loop: { ends: 'killed', flags: ['--code-timeout', '1s'] },
    huge_output: { ends: 'killed', flags: ['--code-timeout', '1s'] },
};

const attempt = (name) => readFileSync(join(ROOT, 'tests/sandbox/attempts', `${name}.py`), 'utf8');
const prelude = attempt('prelude');
const python = (value) => JSON.stringify(value);

/* What attempts look for. */
const host = {};

const program = (name, more = {}) => Object.entries({
    SECRET, SECRET_FILE: host.secret, PORT: host.port, ADDRESSES: host.addresses, SOCKET: host.socket, ABSTRACT: host.abstract,
    HOST_PIDS: [process.pid, process.ppid], PROCESSES, FILES, MEMORY_MB, DISK_MB, HOLD_S: 0, ...more,
}).map(([key, value]) => `${key} = ${python(value)}\n`).join('') + prelude + attempt(name);

/* Without the sandbox's own --code-paths, nothing in the command line of bwrap would tell ours from
 * those of other tests. */
function sandbox(args, input, user = {}) {
    const { pid, status, stdout, stderr } = spawnSync(BINARY, ['sandbox', ...args, '--code-paths', host.mark],
        { input, encoding: 'utf8', env: { ...ENVIRONMENT, ANTIPHON_TEST_SECRET: SECRET }, timeout: patience(60_000), killSignal: 'SIGKILL', maxBuffer: 16 << 20, ...user });
    return { pid, status, stdout, stderr };
}

const processesOfOurs = () => readdirSync('/proc').filter((pid) => {
    try {
        return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').includes(host.mark);
    } catch {
        return false; /* it has just ended */
    }
});

const groupsOf = (pid) => spawnSync('find', ['/sys/fs/cgroup', '-name', `antiphon.${pid}.*`, '-not', '-name', '*.gateway'], { encoding: 'utf8' }).stdout;

/* Listens where only programs outside may come. */
const LISTENER = 'import socket, sys\ns = socket.socket(socket.AF_UNIX)\ns.bind("\\0" + sys.argv[1])\ns.listen()\nprint("ready", flush=True)\nsys.stdin.read()';

before(async () => {
    host.cleanup = [];
    const dir = folder({ after: (f) => host.cleanup.push(f) });
    chmodSync(dir, 0o755);
    host.secret = join(dir, 'secret.txt');
    host.mark = join(dir, 'mark');
    host.socket = join(dir, 'socket');
    host.abstract = `antiphon-test-${process.pid}`;
    writeFileSync(host.secret, SECRET);
    mkdirSync(host.mark);
    host.visits = 0;
    const come = (socket) => {
        host.visits++;
        socket.destroy();
    };
    const tcp = net.createServer(come).listen(0, '0.0.0.0'), unix = net.createServer(come).listen(host.socket);
    const abstract = spawn('python3', ['-c', LISTENER, host.abstract]);
    await Promise.all([once(tcp, 'listening'), once(unix, 'listening'), once(abstract.stdout, 'data')]);
    chmodSync(host.socket, 0o777);
    host.port = tcp.address().port;
    host.addresses = Object.values(networkInterfaces()).flat().filter(({ family }) => family === 'IPv4').map(({ address }) => address);
    host.cleanup.unshift(() => tcp.close(), () => unix.close(), () => abstract.stdin.end());
});

after(() => {
    for (const f of host.cleanup ?? [])
        f();
});

const works = (flags, user = {}) => spawnSync(BINARY, ['sandbox', 'check', ...flags], user).status === 0;
const WITHOUT = ['--code-cgroup', 'off'], WITH = ['--code-cgroup', 'require'];
const noSandbox = !works(WITHOUT) && 'sandboxes do not work here';
const noGroups = noSandbox || (!works(WITH) && 'control groups cannot be made here');

describe('outside, attempts succeed', { skip: noSandbox }, () => {
    for (const [name] of Object.entries(ATTEMPTS).filter(([, { outside }]) => outside)) {
        test(name, () => {
            const { stdout, stderr } = spawnSync('python3', ['-'], { input: program(name), encoding: 'utf8', env: { ...process.env, ANTIPHON_TEST_SECRET: SECRET }, timeout: patience(60_000) });
            assert.match(stdout, /^escaped: /m, stderr);
        });
    }
});

function check(name, { ends = 'held', flags = [], files = [] }, groups, user) {
    const visits = host.visits;
    const { pid, status, stdout, stderr } = sandbox(['run', '-', ...groups, ...LIMITS, ...flags], program(name), user);
    assert.doesNotMatch(stdout, /escaped/);
    assert.ok([0, 1].includes(status), stderr);
    if (ends === 'held' || (ends === 'either' && status === 0))
        assert.deepEqual(stdout.trimEnd().split('\n'), ['held', ...files.map((file) => `file: ${file}`)], stderr);
    else
        assert.match(stderr, /^antiphon: /);
    assert.ok(stdout.length < 2 * OUTPUT_BYTES, `${stdout.length} bytes of output`);

    assert.equal(host.visits, visits, 'nobody has come to a listener');
    assert.equal(readFileSync(host.secret, 'utf8'), SECRET);
    assert.deepEqual(processesOfOurs(), []);
    assert.equal(groupsOf(pid), '');
}

/* A user that nobody is, and that has no range of others. */
const ORDINARY = { uid: 12345, gid: 12345 };
const noOrdinary = noSandbox || (process.getuid() !== 0 && 'only root can become another user')
    || (!works(WITHOUT, ORDINARY) && 'another user cannot make a sandbox of this binary');

for (const [how, groups, skip, user, title] of [
    ['with', WITH, noGroups, {}, 'with control groups'],
    ['without', WITHOUT, noSandbox, {}, 'without control groups'],
    ['without', WITHOUT, noOrdinary, ORDINARY, 'of an ordinary user, without control groups'],
]) {
    describe(`inside, ${title}, they fail`, { skip, concurrency: false }, () => {
        for (const [name, a] of Object.entries(ATTEMPTS)) {
            if (a.only === undefined || a.only === how)
                test(name, () => check(name, a, groups, user));
        }
    });
}

/* What a program outside, of the same user, does while code inside has taken what it could. */
const NEIGHBOUR = `import ctypes, os, select, sys, threading
libc = ctypes.CDLL(None, use_errno=True)
sys.stdout.write("ready\\n"); sys.stdout.flush()
while not select.select([0], [], [], 0.05)[0]:
    try:
        reader, writer = os.pipe()
        poll = select.epoll()
        poll.register(reader)
        thread = threading.Thread(target=lambda: None)
        thread.start()
        thread.join()
        watch = libc.inotify_init1(0)
        if watch == -1:
            raise OSError(ctypes.get_errno(), "inotify")
        poll.close()
        for fd in reader, writer, watch:
            os.close(fd)
    except (OSError, RuntimeError) as error:
        print("failed:", repr(error))
`;

for (const [title, user, skip] of [['root', {}, noSandbox], ['an ordinary user', ORDINARY, noOrdinary]]) {
    test(`code that takes what the kernel counts by user leaves ${title} enough`, { skip }, async () => {
        const neighbour = spawn('/usr/bin/env', ['python3', '-c', NEIGHBOUR], { ...user, env: ENVIRONMENT, cwd: '/' });
        let told = '';
        neighbour.stdout.setEncoding('utf8').on('data', (text) => (told += text));
        neighbour.stderr.setEncoding('utf8').on('data', (text) => (told += text));
        await once(neighbour.stdout, 'data');
        const inside = spawn(BINARY, ['sandbox', 'run', '-', ...WITHOUT, '--code-processes', '64', '--code-paths', host.mark], { ...user, env: ENVIRONMENT });
        inside.stdin.end(program('quotas', { HOLD_S: 2 }));
        const [status] = await once(inside, 'close');
        neighbour.stdin.end('end');
        await once(neighbour, 'close');
        assert.equal(status, 0);
        assert.equal(told, 'ready\n');
    });
}
