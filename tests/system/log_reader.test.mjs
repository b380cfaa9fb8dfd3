/* log_reader.test.mjs -- who reads the log may stall, leave or never have been there: requests are
 * answered and signals obeyed all the same, and lines that nobody gets are counted. */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, openSync, readSync, readlinkSync, writeSync } from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import { join } from 'node:path';
import test from 'node:test';
import { BINARY, ENVIRONMENT } from '../lib/daemon.mjs';
import { folder } from '../lib/folder.mjs';
import { IS_SLOW, patience } from '../lib/patience.mjs';
import { startUpstream, textStream } from '../lib/upstream.mjs';

const N = 3000; /* turns, whose lines are several times what a pipe and the queue hold */
const QUEUE = ['--log-queue-size', '64KiB'];
const MODEL = 'a-model-with-a-long-name/'.padEnd(60, 'x');

/* Until it takes connections: between bind() and listen() its socket is there and refuses them. */
async function untilListening(child, path) {
    const connects = () => new Promise((done) => {
        const socket = net.connect(path, () => (socket.destroy(), done(true))).on('error', () => done(false));
    });
    while (!await connects()) {
        assert.equal(child.exitCode ?? child.signalCode, null, 'it ended');
        await new Promise((done) => setTimeout(done, 10));
    }
}

/* A daemon on a Unix socket, since nobody may be there to read of its port. */
async function start(t, { wrap = [], stdio = 'ignore', args = [], env = {} }) {
    const up = await startUpstream();
    t.after(() => up.close());
    up.always(textStream('yes'));
    const socketPath = join(folder(t), 'gateway.sock');
    const [command, ...words] = [...wrap, BINARY, 'serve', '--listen', `unix:${socketPath}`, '--upstream', up.url, '--code-interpreter', 'off', '--store', 'memory', ...args];
    const child = spawn(command, words, { stdio, env: { ...ENVIRONMENT, ...(process.getuid() !== 0 && { ANTIPHON_CORE_DUMPS: 'true' }), ...env } });
    const exited = once(child, 'exit');
    t.after(async () => {
        child.kill('SIGKILL');
        await exited;
    });
    await untilListening(child, socketPath);
    return { child, exited, socketPath };
}

/* Its status; fails when none comes. */
function ask({ socketPath }, agent) {
    return new Promise((done, fail) => {
        const body = JSON.stringify({ model: MODEL, input: 'Hi' });
        const headers = { 'content-type': 'application/json', 'content-length': body.length };
        const request = http.request({ socketPath, agent, path: '/v1/responses', method: 'POST', headers }, (answer) => answer.resume().on('end', () => done(answer.statusCode)));
        request.setTimeout(patience(20_000), () => request.destroy(new Error('no answer')));
        request.on('error', fail).end(body);
    });
}

async function askMany(gateway, n) {
    const agent = new http.Agent({ keepAlive: true, maxSockets: 32 });
    const statuses = await Promise.all(Array.from({ length: n }, () => ask(gateway, agent)));
    agent.destroy();
    assert.ok(statuses.every((status) => status === 200), `${statuses}`);
}

/* SIGTERM has its usual effect. */
async function end({ child, exited }) {
    const late = setTimeout(() => child.kill('SIGKILL'), patience(20_000));
    child.kill('SIGTERM');
    assert.deepEqual(await exited, [0, null]);
    clearTimeout(late);
}

/* A pipe that has both ends open and nobody who reads: a descriptor of it. */
function pipe(t) {
    const path = join(folder(t), 'pipe');
    assert.equal(spawnSync('mkfifo', [path]).status, 0);
    const fd = openSync(path, constants.O_RDWR);
    t.after(() => closeSync(fd));
    return { fd, path };
}

/* Everything that is in the pipe and comes until a line matches. */
async function readUntil(path, pattern) {
    const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const piece = Buffer.alloc(65536);
    let text = '';
    for (const deadline = performance.now() + patience(20_000); !pattern.test(text);) {
        assert.ok(performance.now() < deadline, `no ${pattern} in the last of ${text.slice(-2000)}`);
        try {
            text += piece.toString('utf8', 0, readSync(fd, piece));
        } catch (error) {
            assert.equal(error.code, 'EAGAIN');
            await new Promise((done) => setTimeout(done, 10));
        }
    }
    closeSync(fd);
    return text;
}

const NOT_BLOCKING = ['python3', '-c', 'import os, sys; os.set_blocking(2, False); os.execv(sys.argv[1], sys.argv[1:])'];

for (const [what, wrap] of [['', []], [', of a descriptor that does not block', NOT_BLOCKING]]) {
    test(`a reader that stalls stops nobody${what}; lines it has missed are counted`, async (t) => {
        const log = pipe(t);
        const gateway = await start(t, { wrap, stdio: ['ignore', log.fd, log.fd], args: QUEUE });
        await askMany(gateway, N);
        const text = await readUntil(log.path, /log_dropped/);
        await askMany(gateway, 1);
        const dropped = [...text.matchAll(/^\S+ warn log_dropped lines=(\d+) errors=0 warnings=0$/gm)].reduce((sum, [, n]) => sum + Number(n), 0);
        const seen = (text.match(/^\S+ info turn id=resp_.* total_ms=\d/gm) ?? []).length;
        assert.ok(dropped > 0);
        assert.equal(seen + dropped, N, `${seen} lines and ${dropped} dropped ones`);
        assert.match(await readUntil(log.path, / turn id=/), /^\S+ info turn id=resp_/, 'lines go on');
        await end(gateway);
        assert.match(await readUntil(log.path, /stopped/), /stopped\n$/);
    });
}

test('SIGTERM ends it while nobody reads its log, of every level', async (t) => {
    const log = pipe(t);
    const gateway = await start(t, { stdio: ['ignore', log.fd, log.fd], args: ['--log-level', 'debug', ...QUEUE] });
    await askMany(gateway, N);
    await end(gateway);
});

/* It leaves its threads as they are, of which a sanitizer reports where nobody reads. */
const NOT_TIDY = IS_SLOW && 'a checker writes about what it leaves behind, and waits for its reader';

test('a second signal ends it while nobody reads its log', { skip: NOT_TIDY }, async (t) => {
    const log = pipe(t);
    const gateway = await start(t, { stdio: ['ignore', log.fd, log.fd], args: ['--drain-timeout', '1h', ...QUEUE] });
    await askMany(gateway, N);
    const waiting = http.request({ socketPath: gateway.socketPath, path: '/v1/responses', method: 'POST', headers: { 'content-type': 'application/json', 'content-length': 1000 } });
    waiting.on('error', () => {}).write('{"model":"m",');
    await askMany(gateway, 1);
    const late = setTimeout(() => gateway.child.kill('SIGKILL'), patience(20_000));
    gateway.child.kill('SIGTERM');
    gateway.child.kill('SIGINT');
    const [code, signal] = await gateway.exited;
    clearTimeout(late);
    /* Behind the drain the second signal has its usual meaning again. */
    assert.ok(signal === 'SIGINT' || [0, 1].includes(code), `status ${code}, signal ${signal}`);
    waiting.destroy();
});

test('the help of a first start waits for no reader', async (t) => {
    const log = pipe(t);
    const full = openSync(log.path, constants.O_WRONLY | constants.O_NONBLOCK);
    assert.throws(() => {
        while (true)
            writeSync(full, 'x'.repeat(4096));
    }, { code: 'EAGAIN' });
    closeSync(full);
    const socketPath = join(folder(t), 'gateway.sock');
    const child = spawn(BINARY, ['serve', '--listen', `unix:${socketPath}`, '--code-interpreter', 'off', '--store', 'memory'], { stdio: ['ignore', log.fd, log.fd], env: ENVIRONMENT });
    const gateway = { child, exited: once(child, 'exit'), socketPath };
    t.after(() => child.kill('SIGKILL'));
    await untilListening(child, socketPath);
    assert.equal(await ask(gateway), 200);
    await end(gateway);
});

for (const [what, stdio] of [
    ['a full disk', () => ['ignore', openSync('/dev/full', 'w'), openSync('/dev/full', 'w')]],
    ['a pipe whose reader has gone', () => ['ignore', 'pipe', 'pipe']],
]) {
    test(`${what} behind the log disturbs nobody`, async (t) => {
        const gateway = await start(t, { stdio: stdio(), args: ['--log-level', 'debug'] });
        gateway.child.stdout?.destroy();
        gateway.child.stderr?.destroy();
        await askMany(gateway, 100);
        await end(gateway);
    });
}

test('standard streams that were closed are there, and nothing else is in their place', async (t) => {
    const gateway = await start(t, { wrap: ['sh', '-c', 'exec "$@" <&- >&- 2>&-', 'sh'] });
    for (const fd of [0, 1, 2])
        assert.equal(readlinkSync(`/proc/${gateway.child.pid}/fd/${fd}`), '/dev/null');
    await askMany(gateway, 10);
    await end(gateway);
});
