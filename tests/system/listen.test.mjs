/* listen.test.mjs -- several addresses, and Unix sockets among them. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import http from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { describe } from 'node:test';
import { get } from '../lib/client.mjs';
import { BINARY, startDaemon } from '../lib/daemon.mjs';
import { patience } from '../lib/patience.mjs';
import { chunk, frames, startUpstream, stream } from '../lib/upstream.mjs';

function socketPath(t) {
    const dir = mkdtempSync(join(tmpdir(), 'antiphon-listen-'));
    t.after(() => rmSync(dir, { recursive: true }));
    return join(dir, 'antiphon.sock');
}

const listen = (...addresses) => startDaemon({ exact: true, args: ['--workers', '3', '--listen', addresses.join(',')] });

/* A request over a Unix socket: status and JSON. */
const over = (path, body) => new Promise((done, fail) => {
    const request = http.request({ socketPath: path, agent: false, method: body ? 'POST' : 'GET', path: body ? '/v1/responses' : '/health',
        headers: { 'content-type': 'application/json', 'x-request-id': 'over-unix' } }, async (answer) => {
        let text = '';
        for await (const part of answer.setEncoding('utf8'))
            text += part;
        done({ status: answer.statusCode, json: JSON.parse(text) });
    });
    request.on('error', fail);
    request.end(body && JSON.stringify(body));
});

describe('addresses', { concurrency: false }, () => {
    test('each of several is served, port 0 included, and named in the log', async (t) => {
        const path = socketPath(t);
        const daemon = await listen('127.0.0.1:0', `unix:${path}`, 'localhost:0');
        t.after(() => daemon.stop());
        const [, first, second] = await daemon.logged(/listening address=127\.0\.0\.1:(\d+),unix:[^,]*,localhost:(\d+) /);
        assert.notEqual(first, second);
        for (const port of [first, second])
            assert.equal((await get({ origin: `http://127.0.0.1:${port}` }, '/health')).status, 200);
        assert.equal((await over(path)).status, 200);
        await daemon.logged(new RegExp(`curl -N http://127.0.0.1:${first}/`));
        await daemon.logged(new RegExp(`curl -N --unix-socket ${path} http://localhost/`));
    });

    test('a listener with +metrics or +admin serves nothing of the API, and the others no /admin', async (t) => {
        const path = socketPath(t);
        const daemon = await listen('127.0.0.1:0', '127.0.0.1:0+metrics', `unix:${path}+admin`);
        t.after(() => daemon.stop());
        const [, main, metrics] = await daemon.logged(/listening address=127\.0\.0\.1:(\d+),127\.0\.0\.1:(\d+)\+metrics,unix:[^,]*\+admin /);
        const status = async (port, path, headers) => (await get({ origin: `http://127.0.0.1:${port}` }, path, { headers })).status;
        for (const route of ['/health', '/ready'])
            assert.deepEqual([await status(main, route), await status(metrics, route)], [200, 200], route);
        for (const route of ['/', '/v1/models', '/v1/responses/resp_1', '/admin', '/admin/status', '/adminx'])
            assert.equal(await status(metrics, route), 404, route);
        for (const route of ['/admin', '/admin/', '/admin/status'])
            assert.equal(await status(main, route), 404, route);
        assert.equal((await over(path)).status, 200);
        assert.equal((await over(path, { model: 'demo', input: 'Hi' })).status, 404, 'not the API');
        assert.doesNotMatch(daemon.log, new RegExp(`curl -N [^]*${metrics}`), 'nobody is told to send requests there');
    });

    for (const [address, message] of [[':0+admin', /other machines may connect, and no key may administer/], [':0+amdin', /the mark \+amdin is unknown/], ['fd:api', /no socket of this name was passed/]]) {
        test(`${address} ends the start`, () => {
            const { status, stderr } = spawnSync(BINARY, ['serve', '--listen', address], { encoding: 'utf8', timeout: patience(3000) });
            assert.notEqual(status, 0);
            assert.match(stderr, message);
        });
    }

    test('an address that cannot be had ends the start, and leaves no socket file', async (t) => {
        const path = socketPath(t);
        const daemon = await listen('127.0.0.1:0');
        t.after(() => daemon.stop());
        const { status, stderr } = spawnSync(BINARY, ['serve', '--listen', `unix:${path},127.0.0.1:${daemon.port}`], { encoding: 'utf8', timeout: patience(3000) });
        assert.equal(status, 1);
        assert.match(stderr, new RegExp(`listen 127\\.0\\.0\\.1:${daemon.port}: `));
        assert.ok(!existsSync(path));
    });

    test('every worker serves a Unix socket, whose clients have no address', async (t) => {
        const path = socketPath(t);
        const daemon = await listen(`unix:${path}`);
        t.after(() => daemon.stop());
        const all = await Promise.all(Array.from({ length: 30 }, () => over(path, { model: 'demo', input: 'Hi' })));
        assert.ok(all.every((got) => got.status === 200));
        assert.match((await daemon.logged(/^.*turn .*request_id=over-unix.*$/m))[0], / client=unix /);
    });

    test('the file is for owner and group, and gone at the end', async (t) => {
        const path = socketPath(t);
        const daemon = await listen(`unix:${path}`);
        assert.equal(statSync(path).mode & 0o777, 0o660);
        await daemon.stop();
        assert.ok(!existsSync(path));
    });

    test('the file of a dead daemon is replaced, that of a living one is not', async (t) => {
        const path = socketPath(t);
        const dead = await listen(`unix:${path}`);
        dead.child.kill('SIGKILL');
        await dead.exited;
        assert.ok(existsSync(path));
        const daemon = await listen(`unix:${path}`);
        t.after(() => daemon.stop());
        const { status, stderr } = spawnSync(BINARY, ['serve', '--listen', `unix:${path}`], { encoding: 'utf8', timeout: patience(3000) });
        assert.equal(status, 1);
        assert.match(stderr, /another process listens there/);
        assert.equal((await over(path)).status, 200);
    });

    test('after SIGTERM a Unix socket takes no new clients, while old ones are served', async (t) => {
        const path = socketPath(t), up = await startUpstream();
        t.after(() => up.close());
        const daemon = await startDaemon({ exact: true, upstream: up.url, args: ['--listen', `unix:${path}`] });
        let release;
        up.next(stream([new Promise((done) => (release = done)), ...frames(chunk({ content: 'Hi' }, 'stop'), '[DONE]')]));
        const running = over(path, { model: 'm', input: 'Hi' });
        await up.request(0);
        const stopped = daemon.stop();
        await daemon.logged(/stopping/);
        await assert.rejects(over(path), { code: 'ENOENT' });
        release();
        assert.equal((await running).status, 200);
        await stopped;
    });
});
