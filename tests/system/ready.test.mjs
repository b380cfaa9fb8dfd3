/* ready.test.mjs -- GET /ready (OPERATIONS 7.1): whether a gateway should be given requests, and what
 * happens to requests while its store or its upstream is away.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import net from 'node:net';
import test, { after, before, describe } from 'node:test';
import { Captures, checkError, checkStream } from '../lib/check.mjs';
import { ask, get, open } from '../lib/client.mjs';
import { pair, startDaemon } from '../lib/daemon.mjs';
import { folder } from '../lib/folder.mjs';
import { gateway } from '../lib/mcp.mjs';
import { TOOLS, startMcp } from '../lib/mcp_server.mjs';
import { NO_POSTGRES, startPostgres } from '../lib/postgres.mjs';
import { untilReady } from '../lib/ready.mjs';
import { chunk, frames, startUpstream, stream } from '../lib/upstream.mjs';

const captures = new Captures();

test('a gateway that works is ready, and says so without a key', async (t) => {
    const { daemon } = await pair(t, '--api-key', 'a-secret-key');
    const got = await get(daemon, '/ready');
    assert.equal(got.status, 200);
    assert.equal(got.headers['content-type'], 'application/json');
    assert.equal(got.json.status, 'ready');
    assert.equal((await ask(daemon, undefined, { method: 'HEAD', path: '/ready' })).status, 200);
    checkError(await ask(daemon, {}, { path: '/ready' }), 401, 'invalid_api_key');
    checkError(await ask(daemon, {}, { path: '/ready', headers: { authorization: 'Bearer a-secret-key' } }), 405, 'method_not_allowed');
});

test('the demo is ready', async (t) => {
    const daemon = await startDaemon();
    t.after(() => daemon.stop());
    assert.deepEqual((await get(daemon, '/ready')).json, { status: 'ready', upstream: 'up' });
});

test('a gateway that drains is not ready', async (t) => {
    const up = await startUpstream();
    t.after(() => up.close());
    const daemon = await startDaemon({ upstream: up.url, args: ['--model', 'm', '--workers', '1'] });
    t.after(() => daemon.child.kill('SIGKILL')); /* it has ended, unless the test failed */
    let release;
    up.next(stream([...frames(chunk({ content: 'Slow' })), new Promise((done) => (release = done)), ...frames(chunk({}, 'stop'), '[DONE]')]));
    const slow = open(daemon, { input: 'Hi', stream: true });
    await slow.until('"delta":"Slow"');
    /* Its head has begun before, so it is answered. */
    const late = net.connect(daemon.port, daemon.host).setEncoding('utf8');
    let text = '';
    late.on('data', (part) => (text += part));
    late.write('GET /ready HTTP/1.1\r\nHost: here\r\n');
    await get(daemon, '/health'); /* by now it is read */
    daemon.child.kill('SIGTERM');
    await daemon.logged(/stopping/);
    late.write('Connection: close\r\n\r\n');
    await once(late, 'close');
    assert.match(text, /^HTTP\/1.1 503 [^]*"reasons":\["draining"\]/);
    release();
    assert.equal(checkStream((await slow.done).text).response.status, 'completed');
    assert.equal((await daemon.exited).code, 0);
});

test('a server of tools that is required keeps the gateway from being ready while it is gone', async (t) => {
    const fake = await startMcp({ transport: 'stdio', tools: TOOLS });
    t.after(() => fake.close());
    const g = await gateway(t, { servers: { fake: { ...fake.entry, required: true } } });
    await untilReady(g.daemon, 200);
    await fake.close();
    assert.deepEqual((await untilReady(g.daemon, 503)).reasons, ['mcp:fake']);
});

/* ---- the upstream */

test('an upstream that is away is told, but does not keep the gateway from being ready', async (t) => {
    const { up, daemon } = await pair(t, '--store', `sqlite:${folder(t, 'antiphon.db')}`);
    assert.equal((await ask(daemon, { input: 'Hi' })).status, 200);
    assert.equal((await get(daemon, '/ready')).json.upstream, 'up');
    await up.close();
    checkError(await ask(daemon, { input: 'Hi' }), 502, 'upstream_unavailable');
    const streamed = await ask(daemon, { input: 'Hi', stream: true });
    if (streamed.status === 200)
        assert.equal(checkStream(streamed.text).response.status, 'failed');
    else
        checkError(streamed, 502, 'upstream_unavailable');
    assert.deepEqual((await get(daemon, '/ready')).json, { status: 'ready', upstream: 'down' });
});

test('each change of its state is told once in the log, with the reason', async (t) => {
    const path = folder(t, 'upstream.sock');
    const states = (log) => [...log.matchAll(/(info|warn) upstream state=(\w+)/g)].map(([, level, state]) => `${level} ${state}`);
    const daemon = await startDaemon({ upstream: `unix:${path}`, args: ['--model', 'm'] });
    t.after(() => daemon.stop());
    for (let i = 0; i < 2; i++)
        checkError(await ask(daemon, { input: 'Hi' }), 502, 'upstream_unavailable');
    const up = await startUpstream(path);
    assert.equal((await ask(daemon, { input: 'Hi' })).status, 200);
    await up.close();
    checkError(await ask(daemon, { input: 'Hi' }), 502, 'upstream_unavailable');
    await daemon.logged(/status=failed [^\n]*\n[^]*state=up[^]*status=failed /);
    assert.deepEqual(states(daemon.log), ['warn down', 'info up', 'warn down']);
    assert.match(daemon.log, /state=down url=unix:\S+ message="nobody answers there[^]*state=down url=unix:\S+ message="Connection error: /);
});

test('nothing half-written is left of a request whose upstream is away, and its conversation is free', async (t) => {
    const { up, daemon } = await pair(t);
    const { json: { id: conversation } } = await ask(daemon, {}, { path: '/v1/conversations' });
    await up.close();
    for (let i = 0; i < 3; i++)
        checkError(await ask(daemon, { input: 'Hi', conversation }), 502, 'upstream_unavailable');
    assert.deepEqual((await get(daemon, `/v1/conversations/${conversation}/items`)).json.data, []);
});

test('ready_needs upstream: it is asked again, though nobody sends requests', async (t) => {
    const path = folder(t, 'upstream.sock');
    const daemon = await startDaemon({ upstream: `unix:${path}`, args: ['--ready-needs', 'store,upstream', '--model', 'm'] });
    t.after(() => daemon.stop());
    assert.deepEqual(await untilReady(daemon, 503), { status: 'not_ready', reasons: ['upstream'], upstream: 'down' });
    const up = await startUpstream(path);
    t.after(() => up.close());
    assert.deepEqual(await untilReady(daemon, 200), { status: 'ready', upstream: 'up' });
});

/* ---- the store */

describe('PostgreSQL', { skip: NO_POSTGRES, concurrency: false }, () => {
    let server;

    before(async () => {
        server = await startPostgres();
    });
    after(() => server?.close());

    async function place(t, ...args) {
        const up = await startUpstream();
        t.after(() => up.close());
        const daemon = await startDaemon({ upstream: up.url, args: ['--model', 'm', '--store', await server.database(), ...args] });
        t.after(() => daemon.child.kill('SIGKILL')); /* it has ended, unless the test failed */
        return { up, daemon };
    }

    for (const [how, leave] of [['stopped', () => server.stop()], ['killed', () => server.kill()]]) {
        test(`a database that is ${how}: not ready, refusals before the model is asked, and all is well by itself`, async (t) => {
            const { up, daemon } = await place(t);
            const first = (await ask(daemon, { input: 'Hi' })).json;
            const { json: { id: conversation } } = await ask(daemon, {}, { path: '/v1/conversations' });
            await leave();
            try {
                assert.deepEqual((await untilReady(daemon, 503)).reasons, ['store'], 'also when nobody stores anything');
                const asked = up.served;
                for (const [i, body] of [{}, { stream: true }, { previous_response_id: first.id }, { store: false, previous_response_id: first.id }, { conversation }, { store: false, conversation }].entries()) {
                    const got = await ask(daemon, { input: 'Hi', ...body });
                    captures.keep(`${how} ${i}.json`, got.bytes, '--kind', 'error');
                    checkError(got, 503, 'server_is_overloaded');
                    assert.equal(got.headers['retry-after'], '1');
                    assert.match(got.json.error.message, /store cannot be reached/);
                }
                for (const path of [`/v1/responses/${first.id}`, `/v1/conversations/${conversation}`])
                    checkError(await get(daemon, path), 503, 'server_is_overloaded');
                checkError(await ask(daemon, {}, { path: '/v1/conversations' }), 503, 'server_is_overloaded');
                assert.equal(up.served, asked, 'the model was not asked in vain');
                assert.equal((await ask(daemon, { input: 'Hi', store: false })).status, 200, 'what needs no store is served');
                assert.equal((await get(daemon, '/health')).status, 200);
            } finally {
                await server.start();
            }
            await untilReady(daemon, 200);
            assert.equal((await ask(daemon, { input: 'Hi', previous_response_id: first.id })).status, 200);
            await daemon.stop();
        });
    }

    test('store_failure=continue goes on while the database is away', async (t) => {
        const { daemon } = await place(t, '--store-failure', 'continue', '--store-timeout', '1s');
        await server.stop();
        try {
            await untilReady(daemon, 503);
            assert.equal((await ask(daemon, { input: 'Hi' })).json.status, 'completed');
        } finally {
            await server.start();
        }
        await daemon.stop();
    });

    test('ready_needs none: an operator who wants no store need not have one', async (t) => {
        const { daemon } = await place(t, '--ready-needs', 'none', '--store-failure', 'continue', '--store-timeout', '1s');
        await server.stop();
        try {
            await daemon.logged(/store_failed/, 20_000);
            assert.equal((await get(daemon, '/ready')).status, 200);
        } finally {
            await server.start();
        }
        await daemon.stop();
    });
});

captures.judge(test);
