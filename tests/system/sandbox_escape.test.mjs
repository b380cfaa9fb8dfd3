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

const PROCESSES = 16, MEMORY_MB = 128, DISK_MB = 32, OUTPUT_BYTES = 64 * 1024;
const LIMITS = ['--code-processes', PROCESSES, '--code-memory', `${MEMORY_MB}MiB`, '--code-disk', `${DISK_MB}MiB`, '--code-output', `${OUTPUT_BYTES}B`].map(String);
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
    endless_loop: { ends: 'killed', flags: ['--code-timeout', '1s'] },
    huge_output: { ends: 'killed', flags: ['--code-timeout', '1s'] },
};

const attempt = (name) => readFileSync(join(ROOT, 'tests/sandbox/attempts', `${name}.py`), 'utf8');
const prelude = attempt('prelude');
const python = (value) => JSON.stringify(value);

/* What attempts look for. */
const host = {};

const program = (name) => Object.entries({
    SECRET, SECRET_FILE: host.secret, PORT: host.port, ADDRESSES: host.addresses, SOCKET: host.socket, ABSTRACT: host.abstract,
    HOST_PIDS: [process.pid, process.ppid], PROCESSES, MEMORY_MB, DISK_MB,
}).map(([key, value]) => `${key} = ${python(value)}\n`).join('') + prelude + attempt(name);

/* Without the sandbox's own --code-paths, nothing in the command line of bwrap would tell ours from
 * those of other tests. */
function sandbox(args, input) {
    const { pid, status, stdout, stderr } = spawnSync(BINARY, ['sandbox', ...args, '--code-paths', host.mark],
        { input, encoding: 'utf8', env: { ...ENVIRONMENT, ANTIPHON_TEST_SECRET: SECRET }, timeout: patience(60_000), killSignal: 'SIGKILL', maxBuffer: 16 << 20 });
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

const works = (...flags) => spawnSync(BINARY, ['sandbox', 'check', ...flags]).status === 0;
const WITHOUT = ['--code-cgroup', 'off'], WITH = ['--code-cgroup', 'require'];
const noSandbox = !works(...WITHOUT) && 'sandboxes do not work here';
const noGroups = noSandbox || (!works(...WITH) && 'control groups cannot be made here');

describe('outside, attempts succeed', { skip: noSandbox }, () => {
    for (const [name] of Object.entries(ATTEMPTS).filter(([, { outside }]) => outside)) {
        test(name, () => {
            const { stdout, stderr } = spawnSync('python3', ['-'], { input: program(name), encoding: 'utf8', env: { ...process.env, ANTIPHON_TEST_SECRET: SECRET }, timeout: patience(60_000) });
            assert.match(stdout, /^escaped: /m, stderr);
        });
    }
});

function check(name, { ends = 'held', flags = [], files = [] }, groups) {
    const visits = host.visits;
    const { pid, status, stdout, stderr } = sandbox(['run', '-', ...groups, ...LIMITS, ...flags], program(name));
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

for (const [how, groups, skip] of [['with', WITH, noGroups], ['without', WITHOUT, noSandbox]]) {
    describe(`inside, ${how} control groups, they fail`, { skip, concurrency: false }, () => {
        for (const [name, a] of Object.entries(ATTEMPTS)) {
            if (a.only === undefined || a.only === how)
                test(name, () => check(name, a, groups));
        }
    });
}
