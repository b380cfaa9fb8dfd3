/* life.test.mjs -- how a gateway ends (OPERATIONS 7.2, 7.3): it says so before it refuses, lets finish
 * what runs, and fails what takes too long.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import net from 'node:net';
import test from 'node:test';
import { checkStream } from '../lib/check.mjs';
import { ask, get, open } from '../lib/client.mjs';
import { startDaemon } from '../lib/daemon.mjs';
import { folder } from '../lib/folder.mjs';
import { ManyStreams } from '../lib/many_streams.mjs';
import { untilReady } from '../lib/ready.mjs';
import { chunk, frames, startUpstream, stream } from '../lib/upstream.mjs';

/* An answer that says a word, and goes on when it is told to. */
function slowAnswer(up) {
    let release;
    const waits = new Promise((done) => (release = done));
    up.next(stream([...frames(chunk({ content: 'Slow' })), waits, ...frames(chunk({}, 'stop'), '[DONE]')]));
    return release;
}

async function place(t, ...args) {
    const up = await startUpstream();
    t.after(() => up.close());
    const daemon = await startDaemon({ upstream: up.url, args: ['--model', 'm', ...args] });
    t.after(() => daemon.child.kill('SIGKILL')); /* it has ended, unless the test failed */
    return { up, daemon };
}

async function isRefused(daemon) {
    const socket = net.connect(daemon.port, daemon.host);
    const refused = await Promise.race([once(socket, 'connect').then(() => false), once(socket, 'error').then(([e]) => e.code === 'ECONNREFUSED')]).catch((e) => e.code === 'ECONNREFUSED');
    socket.destroy();
    return refused;
}

async function untilRefused(daemon) {
    while (!await isRefused(daemon))
        await new Promise((done) => setTimeout(done, 5));
}

test('while drain_delay passes, requests are accepted and /ready says 503; then connections are refused', async (t) => {
    const { up, daemon } = await place(t, '--drain-delay', '3s');
    const release = slowAnswer(up);
    const slow = open(daemon, { input: 'Hi', stream: true });
    await slow.until('"delta":"Slow"');
    daemon.child.kill('SIGTERM');
    assert.deepEqual((await untilReady(daemon, 503)).reasons, ['draining']);
    assert.equal((await ask(daemon, { input: 'Hi' })).status, 200);
    const health = await get(daemon, '/health');
    assert.deepEqual([health.status, health.json.status], [200, 'ok'], 'it lives');
    await untilRefused(daemon);
    release();
    assert.equal(checkStream((await slow.done).text).response.status, 'completed');
    assert.equal((await daemon.exited).code, 0);
});

test('500 streams end whole, and no client that goes elsewhere soon after /ready says so is refused', async (t) => {
    const { up, daemon } = await place(t, '--workers', '2', '--drain-delay', '3s', '--drain-timeout', '10m');
    const many = new ManyStreams(up, 500);
    const streams = many.open(daemon);
    await many.begun(streams);
    let hasHeard = false, n = 0;
    const clients = Array.from({ length: 4 }, async () => {
        for (let more = 5; more > 0; n++, more -= hasHeard)
            assert.equal((await ask(daemon, { input: 'Hi' })).status, 200);
    });
    daemon.child.kill('SIGTERM');
    await untilReady(daemon, 503);
    hasHeard = true; /* the clients hear of it a few requests later */
    await Promise.all(clients);
    await untilRefused(daemon);
    const heard = streams.map((s) => s.bytes.length);
    await Promise.all(streams.map((s, i) => s.until(() => s.bytes.length > heard[i], 60_000)));
    many.finish();
    await many.completed(streams);
    const before = performance.now();
    assert.equal((await daemon.exited).code, 0);
    t.diagnostic(`${n} requests meanwhile; gone ${Math.round(performance.now() - before)} ms after the last stream was read`);
});

test('drain_timeout: what still runs fails, and says why', async (t) => {
    const { up, daemon } = await place(t, '--drain-timeout', '0');
    slowAnswer(up);
    const slow = open(daemon, { input: 'Hi', stream: true });
    await slow.until('"delta":"Slow"');
    daemon.child.kill('SIGTERM');
    const { response, events } = checkStream((await slow.done).text);
    assert.equal(response.status, 'failed');
    assert.deepEqual([response.error.code, response.error.message], ['server_error', 'The gateway is shutting down.']);
    assert.ok(events.some((e) => e.type === 'error'));
    assert.equal((await daemon.exited).code, 0);
    assert.match(daemon.log, / turn id=\S+ .* error=server_is_overloaded message="The gateway is shutting down\." /);
});

test('a second signal ends it at once, with status 1', async (t) => {
    const { up, daemon } = await place(t, '--drain-delay', '1h');
    slowAnswer(up);
    const slow = open(daemon, { input: 'Hi', stream: true });
    await slow.until('"delta":"Slow"');
    slow.done.catch(() => {}); /* it is broken off */
    daemon.child.kill('SIGTERM');
    await daemon.logged(/draining drain_delay_ms=3600000 drain_timeout_ms=30000/);
    daemon.child.kill('SIGINT');
    assert.deepEqual(await daemon.exited, { code: 1, signal: null });
});

test('idle connections are closed, and answers that come later say that theirs is the last', async (t) => {
    const { up, daemon } = await place(t, '--workers', '1');
    const release = slowAnswer(up);
    const idle = net.connect(daemon.port, daemon.host);
    const late = net.connect(daemon.port, daemon.host).setEncoding('utf8');
    let text = '';
    late.on('data', (part) => (text += part));
    idle.write('GET /health HTTP/1.1\r\nHost: here\r\n\r\n');
    await once(idle, 'data');
    const body = JSON.stringify({ model: 'm', input: 'Hi' });
    late.write(`POST /v1/responses HTTP/1.1\r\nHost: here\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
    while (up.served === 0)
        await new Promise((done) => setTimeout(done, 5));
    const closed = Promise.all([once(idle, 'close'), once(late, 'close')]);
    idle.resume();
    daemon.child.kill('SIGTERM');
    await once(idle, 'close');
    release();
    await closed;
    assert.match(text, /^HTTP\/1.1 200 [^]*\r\nConnection: close\r\n/i);
    assert.equal((await daemon.exited).code, 0);
});

test('a request whose body is still coming is answered', async (t) => {
    const { daemon } = await place(t, '--workers', '1');
    const late = net.connect(daemon.port, daemon.host).setEncoding('utf8');
    let text = '';
    late.on('data', (part) => (text += part));
    const body = JSON.stringify({ model: 'm', input: 'Hi' });
    late.write(`POST /v1/responses HTTP/1.1\r\nHost: here\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`);
    await get(daemon, '/health'); /* by now its head is read */
    daemon.child.kill('SIGTERM');
    await untilRefused(daemon);
    late.write(body);
    await once(late, 'close');
    assert.match(text, /^HTTP\/1.1 200 /);
    assert.equal((await daemon.exited).code, 0);
});

/* A connection that the kernel has made, with a request; and what comes of it. */
async function askBeforehand(where) {
    const socket = net.connect(where);
    let text = '';
    socket.setEncoding('utf8').on('data', (piece) => (text += piece));
    await once(socket, 'connect');
    await new Promise((done) => socket.write('GET /health HTTP/1.1\r\nHost: a\r\n\r\n', done));
    return { answer: once(socket, 'close').then(() => text, (error) => error.code) };
}

for (const kind of ['TCP', 'Unix']) {
    test(`connections that nobody has accepted yet are answered before it ends: ${kind}`, async (t) => {
        const N = 400, path = folder(t, 's');
        const { daemon } = await place(t, '--workers', '1', '--max-connections', '2000', ...kind === 'Unix' ? ['--listen', `unix:${path}`] : []);
        const where = kind === 'Unix' ? { path } : { port: daemon.port, host: daemon.host };
        daemon.child.kill('SIGSTOP');
        const asked = await Promise.all(Array.from({ length: N }, () => askBeforehand(where)));
        daemon.child.kill('SIGTERM');
        daemon.child.kill('SIGCONT');
        const answers = await Promise.all(asked.map((a) => a.answer));
        assert.deepEqual(answers.filter((a) => !a.startsWith('HTTP/1.1 200 ')), []);
        assert.equal((await daemon.exited).code, 0);
    });
}

test('drain_delay is checked', async () => {
    await assert.rejects(startDaemon({ args: ['--drain-delay', '2h'] }), /--drain-delay/);
});
