/* slow.test.mjs -- clients that take their time, and what they cost others. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import { join } from 'node:path';
import test, { describe } from 'node:test';
import { checkError } from '../lib/check.mjs';
import { get } from '../lib/client.mjs';
import { ROOT, pair, startDaemon } from '../lib/daemon.mjs';
import { HANG, chunk, frames, stream } from '../lib/upstream.mjs';
import { dial } from '../lib/wire.mjs';

const MIB = 1 << 20;
const HEALTH = 'GET /health HTTP/1.1\r\nHost: x\r\n\r\n';
const pause = (ms) => new Promise((done) => setTimeout(done, ms));
const post = (path, body) => `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
const errorOf = (answer, status, code) => checkError({ ...answer, json: JSON.parse(answer.text) }, status, code);

/* Sends byte after byte until the other side has had enough. */
async function drip(wire, bytes) {
    for (const byte of bytes) {
        if (wire.ended || wire.error)
            return;
        wire.send(byte);
        await pause(20);
    }
}

describe('requests', { concurrency: false }, () => {
    for (const [what, head, rest, args] of [
        ['head that comes byte by byte', 'GET /health HTTP/1.1\r\nHost: x\r\nX: ', 'y'.repeat(500), ['--head-timeout', '300ms']],
        ['head that stops', 'GET /health HTTP/1.1\r\nHo', '', ['--head-timeout', '200ms']],
        ['head of empty lines', '', '\r\n'.repeat(500), ['--head-timeout', '300ms']],
        ['body that stops', post('/v1/responses', '{"model":"m","input":"Hi"}').slice(0, -5), '', ['--body-timeout', '200ms']],
        ['chunk that stops', 'POST /v1/responses HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{"m', '', ['--body-timeout', '200ms']],
    ]) {
        test(`a ${what} is answered with 408 and a FIN`, async (t) => {
            const { daemon } = await pair(t, ...args);
            const wire = await dial(daemon);
            wire.send(head);
            await Promise.all([drip(wire, rest), wire.until(() => wire.ended)]);
            assert.equal(wire.error, undefined);
            assert.equal(wire.answers.length, 1);
            errorOf(wire.answers[0], 408, 'request_timeout');
            wire.socket.destroy();
        });
    }

    test('a body that keeps coming is waited for', async (t) => {
        const { daemon } = await pair(t, '--body-timeout', '2s');
        const wire = await dial(daemon);
        await drip(wire, post('/v1/responses', '{"model":"m","input":"Hi"}'));
        await wire.until(() => wire.answers.length === 1);
        assert.equal(wire.answers[0].status, 200);
        wire.socket.destroy();
    });

    test('an upload that is refused ends in a FIN behind the answer', async (t) => {
        const { daemon } = await pair(t, '--max-body', '1KiB');
        const wire = await dial(daemon);
        wire.send(post('/v1/responses', 'x'.repeat(8 * MIB)));
        await wire.until(() => wire.ended);
        assert.equal(wire.error, undefined);
        errorOf(wire.answers[0], 413, 'request_too_large');
        wire.socket.destroy();
    });
});

/* An upstream that sends as fast as it is read. `sent` is what it got rid of. */
async function flood(t, total) {
    const piece = frames(chunk({ content: 'x'.repeat(64 * 1024) }))[0];
    const up = { sent: 0, gone: null };
    const server = http.createServer((req, res) => {
        if (req.method === 'GET') /* what are you? */
            return void res.writeHead(404).end();
        const pump = () => {
            while (up.sent < total && !res.destroyed) {
                up.sent += piece.length;
                if (!res.write(piece))
                    return void res.once('drain', pump);
            }
            res.end(frames(chunk({}, 'stop'), '[DONE]').join(''));
        };
        up.gone = once(res, 'close', { signal: AbortSignal.timeout(30_000) });
        res.writeHead(200, { 'content-type': 'text/event-stream' });
        req.resume().on('end', pump);
    });
    server.listen({ port: 0, host: '127.0.0.1' });
    await once(server, 'listening');
    t.after(() => (server.closeAllConnections(), server.close()));
    up.url = `http://127.0.0.1:${server.address().port}/v1`;
    return up;
}

/* Until nothing has moved for a while. */
async function stalled(up) {
    for (let before = -1; before !== up.sent || before === 0; await pause(400))
        before = up.sent;
}

/* A client that asks and does not read. */
async function ask(daemon, path) {
    const socket = net.connect(daemon.port, daemon.host);
    socket.on('error', () => {});
    await once(socket, 'connect');
    socket.pause();
    socket.write(post(path, JSON.stringify({ model: 'm', input: 'Hi', messages: [], stream: true })));
    return socket;
}

describe('answers', { concurrency: false }, () => {
    /* The kernel keeps some megabytes on each of the two connections. */
    const TOTAL = 60 * MIB;

    for (const path of ['/v1/responses', '/v1/chat/completions']) {
        test(`${path}: while a client does not read, its upstream is not read, and others are served`, async (t) => {
            const up = await flood(t, TOTAL);
            const daemon = await startDaemon({ upstream: up.url, args: ['--workers', '1'] });
            t.after(() => daemon.stop());
            const socket = await ask(daemon, path);
            await stalled(up);
            assert.ok(up.sent < TOTAL / 2, `${up.sent} bytes were taken off the upstream`);
            assert.equal((await get(daemon, '/health')).status, 200);
            socket.destroy();
            await up.gone;
        });
    }

    test('a client that reads again gets all of it', async (t) => {
        const up = await flood(t, TOTAL);
        const daemon = await startDaemon({ upstream: up.url, args: ['--workers', '1'] });
        t.after(() => daemon.stop());
        const socket = await ask(daemon, '/v1/chat/completions');
        await stalled(up);
        let n = 0, tail = '';
        socket.on('data', (bytes) => {
            n += bytes.length;
            tail = (tail + bytes.subarray(-100).toString('latin1')).slice(-100);
            if (tail.endsWith('\r\n0\r\n\r\n'))
                socket.end();
        });
        socket.resume();
        await once(socket, 'close', { signal: AbortSignal.timeout(30_000) });
        assert.ok(n > up.sent, `${n} bytes`);
        assert.match(tail, /data: \[DONE\]\n\n\r\n0\r\n\r\n$/);
    });

    test('a client that takes nothing for send_timeout is given up, and so is its upstream', async (t) => {
        const up = await flood(t, TOTAL);
        const daemon = await startDaemon({ upstream: up.url, args: ['--send-timeout', '300ms'] });
        t.after(() => daemon.stop());
        const socket = await ask(daemon, '/v1/responses');
        await daemon.logged(/status=client_gone/, 10_000);
        await up.gone;
        assert.ok(up.sent < TOTAL);
        socket.destroy();
    });
});

describe('connections', { concurrency: false }, () => {
    test('one above max_connections is told 503 and when to come back; a place that is free is used', async (t) => {
        const { up, daemon } = await pair(t, '--max-connections', '2', '--workers', '1');
        up.always(stream([...frames(chunk({ content: 'Hi' })), HANG]));
        const busy = [await dial(daemon), await dial(daemon)];
        for (const wire of busy)
            wire.send(HEALTH);
        await Promise.all(busy.map((wire) => wire.until(() => wire.answers.length === 1)));
        const third = await dial(daemon);
        third.send(HEALTH);
        await third.until(() => third.ended);
        assert.equal(third.error, undefined);
        errorOf(third.answers[0], 503, 'server_is_overloaded');
        busy[0].socket.end();
        await busy[0].until(() => busy[0].ended);
        assert.equal((await get(daemon, '/health')).status, 200);
        for (const { socket } of [...busy, third])
            socket.destroy();
    });

    test('an idle connection is kept for at least 90 seconds by default', () => {
        const page = readFileSync(join(ROOT, 'docs/config.md'), 'utf8');
        const [, seconds] = page.match(/### `keep_alive`\n.*?Default: `(\d+)s`/s);
        assert.ok(Number(seconds) >= 90); /* Codex keeps its own for so long */
    });

    test('a connection is used again before keep_alive has passed, and closed with a FIN after it', async (t) => {
        const { daemon } = await pair(t, '--keep-alive', '2s');
        const wire = await dial(daemon);
        wire.send(HEALTH);
        await wire.until(() => wire.answers.length === 1);
        await pause(500); /* idle, but not for as long as keep_alive */
        wire.send(HEALTH);
        await wire.until(() => wire.answers.length === 2);
        assert.deepEqual(wire.answers.map((answer) => answer.status), [200, 200]);
        await wire.until(() => wire.ended);
        assert.equal(wire.error, undefined);
        wire.socket.destroy();
    });
});
