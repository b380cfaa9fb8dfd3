/* sandbox_end.test.mjs -- nothing that code has started outlives its container, nor a killed gateway,
 * whose port is free for the next one. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { createServer } from 'node:net';
import test, { describe } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { ask } from '../lib/client.mjs';
import { BINARY, startDaemon } from '../lib/daemon.mjs';
import { folder } from '../lib/folder.mjs';
import { patience } from '../lib/patience.mjs';
import { CODE, noSandbox } from '../lib/sandbox.mjs';
import { callStream, startUpstream, textStream } from '../lib/upstream.mjs';

/* Processes that no session, no signal and no death of a parent ends: they have left all three. One
 * has taken the place of a program of this number of seconds, by which the test knows it. */
const outlive = (seconds) => `
import ctypes, os, signal, sys, time
libc = ctypes.CDLL(None, use_errno=True)
for number in 1, 2, 3, 15:
    signal.signal(number, signal.SIG_IGN)
signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
for pid in 1, os.getppid():
    try: os.kill(pid, signal.SIGSTOP)
    except OSError: pass
for _ in range(3):
    if os.fork() == 0:
        os.setsid()
        libc.prctl(1, 0, 0, 0, 0)
        if os.fork() == 0:
            os.setsid()
            os.execvp("sleep", ["sleep", "${seconds}"])
        os._exit(0)
time.sleep(0.2)
print("started")
`;

const sleepers = (seconds) => readdirSync('/proc').filter((pid) => {
    try {
        return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/cmdline`, 'latin1') === `sleep\0${seconds}\0`;
    } catch {
        return false; /* it has just ended */
    }
});

async function untilSleep(seconds, count) {
    for (const until = Date.now() + patience(10_000); sleepers(seconds).length !== count; await pause(20))
        assert.ok(Date.now() < until, `${sleepers(seconds).length} processes sleep`);
}

/* bwrap that is killed between the start of its child and the word that this waits for leaves it
 * waiting: a process that has not run anything yet. The test ends it, by what only its own show. */
function endStarts(mark) {
    for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
        try {
            if (readFileSync(`/proc/${pid}/cmdline`, 'latin1').split('\0').includes(mark))
                process.kill(Number(pid), 'SIGKILL');
        } catch {
            continue; /* it has just ended */
        }
    }
}

const canListen = (port) => new Promise((done) => {
    const server = createServer().once('error', () => done(false));
    server.listen(port, '127.0.0.1', () => server.close(() => done(true)));
});

/* A process that was being started when its gateway was killed has its descriptors until it is another program. */
async function untilFree(port) {
    for (const until = Date.now() + patience(10_000); !await canListen(port); await pause(20))
        assert.ok(Date.now() < until, `something still listens on port ${port}`);
}

let n = 100_000 + process.pid;

/* A gateway in which such code has run in a container. */
async function start(t, how) {
    const up = await startUpstream(), mark = folder(t);
    chmodSync(mark, 0o755);
    const daemon = await startDaemon({ upstream: up.url, args: ['--code-interpreter', 'require', '--code-paths', mark, ...how.args], user: how.user });
    t.after(() => up.close());
    t.after(() => daemon.child.kill('SIGKILL'));
    t.after(() => endStarts(mark));
    return { up, daemon };
}

async function run({ up, daemon }) {
    const seconds = ++n;
    const { id } = (await ask(daemon, { name: 'x' }, { method: 'POST', path: '/v1/containers' })).json;
    up.next(callStream(['code_interpreter', { code: outlive(seconds) }, 'c1']), textStream('Done.'));
    const { status, json } = await ask(daemon, { model: 'm', input: 'x', tools: [{ ...CODE, container: id }], include: ['code_interpreter_call.outputs'] }, { method: 'POST', path: '/v1/responses' });
    assert.equal(status, 200);
    assert.equal(json.output.find(({ type }) => type === 'code_interpreter_call').outputs[0].logs, 'started\n');
    await untilSleep(seconds, 3); /* one that has just been forked is no `sleep` yet */
    return { id, seconds };
}

const ORDINARY = { uid: 12345, gid: 12345 };
const works = (args, user) => spawnSync(BINARY, ['sandbox', 'check', ...args], user).status === 0;
const isRoot = process.getuid() === 0;

/* A user of this machine who may give away others, with newuidmap. */
function userWithRange() {
    try {
        const [name] = readFileSync('/etc/subuid', 'utf8').split(':');
        const [, , uid, gid] = readFileSync('/etc/passwd', 'utf8').split('\n').map((line) => line.split(':')).find(([user]) => user === name);
        return uid > 0 && spawnSync('newuidmap').error === undefined ? { uid: Number(uid), gid: Number(gid) } : undefined;
    } catch {
        return undefined;
    }
}

const RANGED = userWithRange();
const WAYS = {
    'with control groups': { args: ['--code-cgroup', 'require'], user: {}, skip: noSandbox },
    'without control groups': { args: ['--code-cgroup', 'off'], user: {}, skip: noSandbox },
    'of an ordinary user, without control groups': { args: ['--code-cgroup', 'off'], user: ORDINARY, skip: noSandbox || (!isRoot && 'only root can become another user') },
    'of a user with a range of others': { args: ['--code-cgroup', 'off'], user: RANGED, skip: noSandbox || (!isRoot && 'only root can become another user') || (RANGED === undefined && 'no user has a range in /etc/subuid, or there is no newuidmap') },
};

for (const [title, how] of Object.entries(WAYS)) {
    const skip = how.skip || (!works(how.args, how.user) && 'there is no such sandbox here');
    describe(`code ${title}`, { skip, concurrency: false }, () => {
        test('ends with its container', async (t) => {
            const g = await start(t, how);
            const { id, seconds } = await run(g);
            if (how.user === RANGED) {
                const { uid } = statSync(`/proc/${sleepers(seconds)[0]}`);
                assert.ok(uid !== RANGED.uid && uid >= 1000, 'its user is another than the gateway');
            }
            await ask(g.daemon, undefined, { method: 'DELETE', path: `/v1/containers/${id}` });
            await untilSleep(seconds, 0);
            await g.daemon.stop();
        });

        test('ends with a killed gateway, whose port is free', async (t) => {
            const g = await start(t, how);
            const { seconds } = await run(g);
            for (let i = 0; i < 8; i++) { /* sandboxes that are about to start */
                const { id } = (await ask(g.daemon, { name: 'x' }, { method: 'POST', path: '/v1/containers' })).json;
                g.up.next(callStream(['code_interpreter', { code: '1' }, 'c1']), textStream('Done.'));
                ask(g.daemon, { model: 'm', input: 'x', tools: [{ ...CODE, container: id }] }, { method: 'POST', path: '/v1/responses' }).catch(() => {});
            }
            await pause(10);
            g.daemon.child.kill('SIGKILL');
            await new Promise((done) => g.daemon.child.once('exit', done));
            await untilFree(g.daemon.port);
            const next = await startDaemon({ upstream: g.up.url, exact: true, args: ['--listen', `127.0.0.1:${g.daemon.port}`, ...how.args], user: how.user });
            await untilSleep(seconds, 0);
            await next.stop();
        });
    });
}
