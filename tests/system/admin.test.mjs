/* admin.test.mjs -- listeners for operators (OPERATIONS 6.1, 6.4): who may ask what where, and what becomes
 * of it. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import test, { after, before, describe } from 'node:test';
import { accepted, become } from '../lib/background.mjs';
import { checkError, checkStream, framesOf } from '../lib/check.mjs';
import { ask, get, open, raw } from '../lib/client.mjs';
import { BINARY, ENVIRONMENT, startDaemon } from '../lib/daemon.mjs';
import { folder } from '../lib/folder.mjs';
import { scrape } from '../lib/metrics.mjs';
import { patience } from '../lib/patience.mjs';
import { HANG, chunk, failure, frames, startUpstream, stream } from '../lib/upstream.mjs';

const OWNER = 'sk-of-the-owner-1', OPERATOR = 'sk-of-the-operator-1', PROMPT = 'a-secret-prompt', SECRET = 'sk-of-the-upstream-1';
const bearer = (key) => key && { authorization: `Bearer ${key}` };

/* A file in which the operator's key may administer. */
function keysFile(t) {
    const file = folder(t, 'keys');
    const lines = [['owner', OWNER, ''], ['operator', OPERATOR, ' admin']].map(([name, key, settings]) =>
        spawnSync(BINARY, ['key', 'hash', name], { encoding: 'utf8', input: `${key}\n`, env: ENVIRONMENT }).stdout.trim() + settings);
    writeFileSync(file, `${lines.join('\n')}\n`, { mode: 0o600 });
    return file;
}

/* A daemon with a listener for clients, which it is, and one for operators, `admin`, both on loopback
 * unless the marks say otherwise. */
async function place(t, { listen = ['127.0.0.1:0', '127.0.0.1:0+admin'], args = [], env = {} } = {}) {
    const up = await startUpstream();
    t.after(() => up.close());
    const daemon = await startDaemon({ exact: true, upstream: up.url, env,
        args: ['--listen', listen.join(','), '--workers', '3', '--model', 'test-model', ...args] });
    t.after(() => daemon.stop());
    const [, addresses] = await daemon.logged(/listening address=(\S+)/);
    const at = addresses.split(',').map((address) => ({ origin: `http://127.0.0.1:${address.match(/:(\d+)/)[1]}` }));
    return { up, daemon, at, admin: at.at(-1) };
}

const status = async (admin) => (await get(admin, '/admin/status')).json;
const turns = async (admin) => (await get(admin, '/admin/turns')).json.data;
const cancel = (admin, id) => ask(admin, undefined, { path: `/admin/turns/${id}/cancel` });

/* What has been refused for a reason, and what was asked on a route with that status, until now. */
async function countsOf(admin) {
    const page = await scrape(admin);
    return [(reason) => page.value('antiphon_rejected_total', { reason }), (route, code) => page.value('antiphon_requests_total', { route, status: `${code}` })];
}

/* What is shown, as soon as it is as wanted. */
async function until(look, met) {
    for (const deadline = performance.now() + patience(10_000); ;) {
        const seen = await look();
        if (met(seen))
            return seen;
        assert.ok(performance.now() < deadline, JSON.stringify(seen));
        await new Promise((done) => setTimeout(done, 5));
    }
}

const running = (admin, n) => until(() => turns(admin), (list) => list.length === n && list.every(({ phase }) => phase === 'round' || phase === 'relay'));
const held = (text = 'Slow') => stream([...frames(chunk({ content: text })), HANG]);

/* ---- who may ask what where */

describe('the matrix of routes, callers and listeners', { concurrency: false }, () => {
    const LISTENERS = { main: '127.0.0.1:0', metrics: '127.0.0.1:0+metrics', admin: '127.0.0.1:0+admin', remote: '0.0.0.0:0+admin', both: '127.0.0.1:0+metrics+admin' };
    const CALLERS = { nobody: undefined, wrong: 'sk-wrong-key-12345', owner: OWNER, operator: OPERATOR };
    const OF_ALL = [['GET', '/health', 200], ['HEAD', '/ready', 200], ['GET', '/ready', 200]];
    const OF_ADMIN = [
        ['GET', '/admin/status', 200], ['HEAD', '/admin/status', 200], ['GET', '/admin/turns', 200], ['GET', '/admin/upstreams', 200],
        ['GET', '/admin/config', 200], ['GET', '/admin/keys', 200], ['PUT', '/admin/log-level', 400], ['POST', '/admin/turns/resp_1/cancel', 404],
        ['DELETE', '/admin/status', 405], ['POST', '/admin/status', 405], ['GET', '/admin/log-level', 405], ['GET', '/admin/reload', 405], ['OPTIONS', '/admin/turns', 204],
        ['GET', '/admin', 404], ['GET', '/admin/', 404], ['GET', '/admin/nothing', 404], ['GET', '/admin/turns/resp_1', 404],
    ];
    const OF_API = [['GET', '/', 200, 'open'], ['GET', '/v1/models', 200], ['POST', '/v1/responses', 200], ['GET', '/v1/responses/resp_1', 404], ['GET', '/nothing', 404]];
    let all;

    before(async () => {
        const cleaning = [];
        const t = { after: (fn) => cleaning.unshift(fn) };
        all = await place(t, { listen: Object.values(LISTENERS), args: ['--api-keys-file', keysFile(t)] });
        all.up.probed = () => ({ status: 200, headers: { 'content-type': 'application/json' }, pieces: ['{"data":[]}'] });
        all.cleaning = cleaning;
    });
    after(async () => {
        for (const clean of all.cleaning)
            await clean();
    });

    const withKey = (caller, good) => caller === 'owner' || caller === 'operator' ? good : 401;

    function expected(group, listener, caller, [, , good, isOpen]) {
        if (group === 'admin' && listener === 'remote')
            return caller === 'operator' ? good : caller === 'owner' ? 403 : 401;
        if (group === 'admin')
            return listener === 'main' || listener === 'metrics' ? 404 : good;
        if (group === 'api')
            return listener === 'main' ? isOpen ? good : withKey(caller, good) : 404;
        return good;
    }

    for (const [group, routes] of Object.entries({ all: OF_ALL, admin: OF_ADMIN, api: OF_API })) {
        for (const route of routes) {
            test(`${route[0]} ${route[1]}`, async () => {
                const [method, path] = route;
                for (const [i, listener] of Object.keys(LISTENERS).entries()) {
                    for (const [caller, key] of Object.entries(CALLERS)) {
                        const body = method === 'POST' || method === 'PUT' ? { model: 'm', input: 'Hi' } : undefined;
                        const got = await ask(all.at[i], body, { method, path, headers: bearer(key) });
                        assert.equal(got.status, expected(group, listener, caller, route), `${listener}, ${caller}: ${got.text}`);
                        if (got.status >= 400 && method !== 'HEAD')
                            checkError(got, got.status);
                    }
                }
            });
        }
    }

    test('methods that these three do not have: 405 on listeners that are for them', async () => {
        for (const i of [1, 2, 3, 4]) {
            const got = await ask(all.at[i], {}, { path: '/ready' });
            checkError(got, 405, 'method_not_allowed');
            assert.equal(got.headers.allow, 'GET, HEAD, OPTIONS');
        }
    });

    test('what is refused here is counted, as is what is answered', async () => {
        const [, , admin] = all.at;
        const [had, routes] = await countsOf(admin);
        await get(admin, '/admin/nothing');
        await get(admin, '/v1/models');
        await ask(admin, {}, { path: '/ready' });
        await get(admin, '/admin/reload');
        await status(admin);
        await cancel(admin, 'resp_1');
        const [has, asked] = await until(() => countsOf(admin), ([, now]) => now('/admin/turns/{id}/cancel', 404) > routes('/admin/turns/{id}/cancel', 404));
        assert.deepEqual([has('not_found') - had('not_found'), has('method') - had('method')], [2, 2]);
        assert.equal(asked('/admin/turns/{id}/cancel', 404) - routes('/admin/turns/{id}/cancel', 404), 1);
        assert.equal(asked('/admin/status', 200) - routes('/admin/status', 200), 1);
        assert.equal(asked('_other', 404) - routes('_other', 404), 2);
    });

    test('a page is refused whoever it asks for, and so is a name that leads here', async () => {
        for (const headers of [{ origin: 'https://a.example.org' }, { origin: 'null' }, { origin: 'vscode-webview://x' }, { host: 'rebound.example.org' }, { 'sec-fetch-site': 'cross-site' }]) {
            for (const [method, path] of [['GET', '/admin/config'], ['POST', '/admin/turns/resp_1/cancel']])
                checkError(await get(all.at[2], path, { method, headers }), 403, 'origin_not_allowed');
        }
        checkError(await get(all.at[3], '/admin/status', { headers: { origin: 'https://a.example.org', ...bearer(OPERATOR) } }), 403, 'origin_not_allowed');
        assert.equal((await get(all.at[3], '/admin/status', { headers: { host: 'gateway.example.org', ...bearer(OPERATOR) } })).status, 200);
    });

    test('what a proxy passes on is not local: it needs the key', async () => {
        for (const name of ['x-forwarded-for', 'forwarded', 'x-real-ip', 'via']) {
            const headers = { [name]: '192.0.2.1' };
            checkError(await get(all.at[2], '/admin/status', { headers }), 401, 'invalid_api_key');
            checkError(await get(all.at[2], '/admin/status', { headers: { ...headers, ...bearer(OWNER) } }), 403, 'permission_denied');
            assert.equal((await get(all.at[2], '/admin/status', { headers: { ...headers, ...bearer(OPERATOR) } })).status, 200);
        }
    });

    test('nor is what a PROXY header stands before, if it names no client', async (t) => {
        const { admin } = await place(t, { listen: ['127.0.0.1:0', '127.0.0.1:0+admin+proxy'], args: ['--api-keys-file', keysFile(t)] });
        const [, port] = admin.origin.match(/:(\d+)$/);
        for (const header of ['PROXY UNKNOWN\r\n', 'PROXY TCP4 127.0.0.1 127.0.0.1 1 2\r\n', '\r\n\r\n\0\r\nQUIT\n\x20\0\0\0', '\r\n\r\n\0\r\nQUIT\n\x21\0\0\0']) {
            const ask = (more) => raw({ host: '127.0.0.1', port }, `${header}GET /admin/status HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n${more}\r\n`);
            assert.match((await ask('')).toString(), /^HTTP\/1\.1 401 /, JSON.stringify(header));
            assert.match((await ask(`Authorization: Bearer ${OPERATOR}\r\n`)).toString(), /^HTTP\/1\.1 200 /, JSON.stringify(header));
        }
    });

    test('a POST without a length, as curl sends it, is answered', async () => {
        const [, port] = all.at[2].origin.match(/:(\d+)$/);
        const got = await raw({ host: '127.0.0.1', port }, 'POST /admin/turns/resp_1/cancel HTTP/1.1\r\nHost: localhost\r\n\r\n');
        assert.match(got.toString(), /^HTTP\/1\.1 404 /);
    });

    test('no key is ever in the log', () => {
        for (const key of [OWNER, OPERATOR, CALLERS.wrong])
            assert.ok(!all.daemon.log.includes(key));
    });
});

/* ---- what is shown */

test('the status counts what runs, and rests at 0', async (t) => {
    const { up, daemon, admin } = await place(t);
    const idle = await status(admin);
    assert.match(idle.version, /^\d+\.\d+\.\d+$/);
    assert.deepEqual([idle.status, idle.workers, idle.turns, idle.streams, idle.upstream_calls], ['serving', 3, 0, 0, 0]);
    assert.deepEqual(idle.queues, { store_read: 0, store_write: 0, background: 0 });
    assert.deepEqual(idle.store, { kind: 'memory', ready: true });
    assert.ok(idle.uptime_s >= 0 && idle.memory.used_bytes > 0);
    up.always(held());
    const all = Array.from({ length: 7 }, (_, i) => open(daemon, { input: PROMPT, stream: i < 4 }));
    await running(admin, 7);
    const busy = await status(admin);
    assert.deepEqual([busy.turns, busy.streams, busy.upstream_calls], [7, 4, 7]);
    assert.ok(busy.connections.active >= 7);
    for (const one of all)
        one.destroy();
    const rest = await until(() => status(admin), ({ turns: n, upstream_calls: calls }) => n === 0 && calls === 0);
    assert.equal(rest.streams, 0);
});

test('background responses that wait are counted', async (t) => {
    const { up, daemon, admin } = await place(t, { args: ['--background-running', '1'] });
    up.always(held());
    for (let i = 0; i < 3; i++)
        await accepted(daemon, { input: PROMPT });
    await until(() => status(admin), ({ queues }) => queues.background === 2);
    const [turn] = await running(admin, 1);
    assert.deepEqual([turn.background, turn.stream], [true, false]);
    for (let left = 2; left >= 0; left--) {
        const [{ id }] = await running(admin, 1);
        assert.equal((await cancel(admin, id)).status, 200);
        assert.equal((await become(daemon, id, 'cancelled')).status, 'cancelled');
    }
    await until(() => status(admin), ({ queues, turns: n }) => queues.background === 0 && n === 0);
});

test('turns are shown with what they ask, and nothing of what they say', async (t) => {
    const { up, daemon, admin } = await place(t, { args: ['--api-keys-file', keysFile(t)] });
    up.always(held('a-secret-answer'));
    const one = open(daemon, { input: PROMPT, model: 'm"1\u00e9', stream: true, instructions: PROMPT }, { headers: { ...bearer(OWNER), 'x-request-id': 'req-a' } });
    await one.until('a-secret-answer');
    const two = open(daemon, { messages: [{ role: 'user', content: PROMPT }], stream: true }, { path: '/v1/chat/completions', headers: { ...bearer(OPERATOR), 'x-request-id': 'req-b' } });
    await running(admin, 2);
    const got = await get(admin, '/admin/turns');
    const [turn, relay] = got.json.data.sort((a, b) => a.request_id < b.request_id ? -1 : 1);
    assert.match(turn.id, /^resp_/);
    assert.ok(one.text.includes(turn.id));
    assert.deepEqual({ ...turn, id: null, age_ms: null }, { id: null, request_id: 'req-a', owner: 'owner', model: 'm"1\u00e9', upstream: 'default', phase: 'round', age_ms: null,
        rounds: 0, input_tokens: 0, output_tokens: 1, stream: true, background: false, client: '127.0.0.1' });
    assert.deepEqual([relay.id, relay.owner, relay.model, relay.phase], [null, 'operator', null, 'relay']);
    for (const secret of [PROMPT, 'a-secret-answer', OWNER, OPERATOR])
        assert.ok(!got.text.includes(secret), secret);
    one.destroy();
    two.destroy();
    await until(() => turns(admin), (list) => list.length === 0);
});

/* ---- cancel */

test('a stream that is cancelled ends as one, and its upstream is left at once', async (t) => {
    const { up, daemon, admin } = await place(t);
    up.always(held());
    for (const by of ['id', 'request_id']) {
        const slow = open(daemon, { input: 'Hi', stream: true });
        await slow.until('"delta":"Slow"');
        const [turn] = await running(admin, 1);
        const got = await cancel(admin, turn[by]);
        assert.deepEqual([got.status, got.json], [200, { id: turn[by], cancelled: true }]);
        const { types, response } = checkStream((await slow.done).text);
        assert.deepEqual([response.error.code, types.at(-2), types.at(-1)], ['response_cancelled', 'error', 'response.failed']);
        await up.requests.at(-1).closed;
        assert.equal((await get(daemon, `/v1/responses/${turn.id}`)).json.status, 'cancelled', 'it is stored so');
        await until(() => turns(admin), (list) => list.length === 0);
        checkError(await cancel(admin, turn[by]), 404, 'not_found');
    }
});

test('a request that has no answer yet is an error', async (t) => {
    const { up, daemon, admin } = await place(t);
    up.always(held());
    const slow = open(daemon, { input: 'Hi' });
    const [{ request_id: id }] = await running(admin, 1);
    assert.equal((await cancel(admin, id)).status, 200);
    checkError(await slow.done, 400, 'response_cancelled');
    await up.requests.at(-1).closed;
});

test('what is only passed on ends as well', async (t) => {
    const { up, daemon, admin } = await place(t);
    up.always(held());
    const slow = open(daemon, { messages: [], stream: true }, { path: '/v1/chat/completions' });
    await slow.until('Slow');
    const [{ request_id: id }] = await running(admin, 1);
    assert.equal((await cancel(admin, id)).status, 200);
    await slow.done.catch(() => {});
    assert.ok(!slow.text.includes('[DONE]'), 'it is not taken for whole');
    await up.requests.at(-1).closed;
    await until(() => turns(admin), (list) => list.length === 0);
});

test('turns of all workers are found, many at once', async (t) => {
    const { up, daemon, admin } = await place(t);
    up.always(held());
    const all = Array.from({ length: 24 }, () => open(daemon, { input: 'Hi', stream: true }));
    await Promise.all(all.map((one) => one.until('"delta":"Slow"')));
    const list = await running(admin, all.length);
    const got = await Promise.all(list.map(({ id }) => cancel(admin, id)));
    assert.ok(got.every(({ status: code }) => code === 200));
    for (const one of all)
        assert.equal(framesOf((await one.done).text).at(-2).event.response.error.code, 'response_cancelled');
});

test('a gateway that ends while it is asked answers or closes, and ends', async (t) => {
    const up = await startUpstream();
    t.after(() => up.close());
    const daemon = await startDaemon({ exact: true, upstream: up.url, args: ['--listen', '127.0.0.1:0+admin', '--workers', '4'] });
    const asked = Array.from({ length: 200 }, (_, i) => get(daemon, ['/admin/status', '/admin/turns', '/admin/upstreams'][i % 3]).then(({ status: code }) => assert.equal(code, 200), () => {}));
    await asked[20];
    await daemon.stop();
    await Promise.all(asked);
});

/* ---- upstreams */

/* Each round is a race between who wants a drain and who does not, of which the last word counts. */
test('a drain that is taken back is, however quickly one follows the other', async (t) => {
    const { daemon, admin } = await place(t, { args: ['--workers', '1'] });
    const headers = { connection: 'close' };
    const wish = (method) => ask(admin, undefined, { method, path: '/admin/drain', headers });
    const isServed = () => get(daemon, '/ready', { headers }).then((got) => got.status === 200, () => false);
    for (let i = 0; i < 800; i++) {
        await Promise.all([wish('POST'), wish('DELETE')]);
        await wish('DELETE');
        let late;
        const never = new Promise((_, fail) => (late = setTimeout(() => fail(new Error(`nobody serves after ${i} rounds`)), patience(10_000))));
        await Promise.race([never, until(isServed, (is) => is)]);
        clearTimeout(late);
    }
});

test('the upstream is shown with what became of its calls', async (t) => {
    const { up, daemon, admin } = await place(t);
    const look = async () => (await get(admin, '/admin/upstreams')).json.data;
    assert.equal((await ask(daemon, { input: 'Hi' })).status, 200);
    let [seen, ...others] = await until(look, ([{ in_flight: n }]) => n === 0); /* the end of its answer may be read after the client has it */
    assert.deepEqual(others, []);
    assert.deepEqual({ ...seen, since: null }, { name: 'default', url: up.url, state: 'up', since: null, in_flight: 0, limit: null, served: 1, failures: 0, last_error: null, models: [] });
    assert.ok(seen.since > 1_700_000_000);
    up.next(held());
    const slow = open(daemon, { input: 'Hi', stream: true });
    await slow.until('Slow');
    assert.equal((await look())[0].in_flight, 1);
    slow.destroy();
    await until(look, ([{ in_flight: n }]) => n === 0);
    up.next(failure(500, 'no'));
    await ask(daemon, { input: 'Hi' });
    await up.close();
    checkError(await ask(daemon, { input: 'Hi' }), 502, 'upstream_unavailable');
    [seen] = await look();
    assert.deepEqual([seen.state, seen.failures], ['down', 1]);
    assert.ok(seen.last_error.at > 1_700_000_000 && seen.last_error.message.length > 0);
});

test('the only upstream may be drained, and is shown as that', async (t) => {
    const { daemon, admin } = await place(t);
    const state = async () => (await get(admin, '/admin/upstreams')).json.data[0].state;
    const act = async (what) => assert.equal((await ask(admin, undefined, { path: `/admin/upstreams/default/${what}` })).status, 204);
    await act('drain');
    assert.equal(await state(), 'drained');
    checkError(await ask(daemon, { input: 'Hi' }), 502, 'upstream_unavailable');
    await act('resume');
    assert.notEqual(await state(), 'drained');
    assert.equal((await ask(daemon, { input: 'Hi' })).status, 200);
});

test('the demo is one as well', async (t) => {
    const daemon = await startDaemon({ exact: true, args: ['--listen', '127.0.0.1:0+admin'] });
    t.after(() => daemon.stop());
    const { json: { data: [demo] } } = await get(daemon, '/admin/upstreams');
    assert.deepEqual([demo.name, demo.state, demo.served], ['demo', 'up', 0]);
});

/* ---- keys */

test('names are shown with what they may and use, and nothing of their keys', async (t) => {
    const file = keysFile(t), HELD = 'sk-of-somebody-1';
    const hash = (name, key) => spawnSync(BINARY, ['key', 'hash', name], { encoding: 'utf8', input: `${key}\n`, env: ENVIRONMENT }).stdout.trim();
    appendFileSync(file, `${hash('held', HELD)} models=test-model,qwen* rpm=2 tpm=60 concurrency=4 weight=3 priority=low expires=2100-01-01\n`);
    appendFileSync(file, `${hash('operator', 'sk-of-the-operator-2')}\n`);
    const { up, daemon, admin } = await place(t, { args: ['--api-keys-file', file, '--limit-rpm', '1000'] });
    const look = async () => (await get(admin, '/admin/keys')).json.data;
    const [owner, operator, fresh, ...others] = await look();
    assert.deepEqual(others, []);
    assert.deepEqual(owner, { name: 'owner', keys: [{ mark: hash('owner', OWNER).split(' ')[1].slice(0, 8), admin: false, expires: null }], models: null, weight: 1, priority: 'normal',
        rpm: 1000, tpm: null, concurrency: null, running: 0, requests_left: 1000, tokens_left: null });
    assert.deepEqual([operator.name, operator.keys.map((key) => key.admin)], ['operator', [true, false]]);
    assert.deepEqual({ ...fresh, keys: null }, { name: 'held', keys: null, models: ['test-model', 'qwen*'], weight: 3, priority: 'low',
        rpm: 2, tpm: 60, concurrency: 4, running: 0, requests_left: 2, tokens_left: 60 });
    assert.equal(fresh.keys[0].expires, Date.UTC(2100, 0, 2) / 1000);

    up.next(held());
    const slow = open(daemon, { input: PROMPT, model: 'test-model', stream: true }, { headers: bearer(HELD) });
    await slow.until('Slow');
    const busy = (await look())[2];
    assert.deepEqual([busy.running, busy.requests_left], [1, 1]); /* it comes back in half a minute */
    assert.ok(busy.tokens_left < 60);
    slow.destroy();
    await until(look, (list) => list[2].running === 0);
    const { text } = await get(admin, '/admin/keys');
    for (const line of readFileSync(file, 'utf8').trim().split('\n'))
        assert.ok(!text.includes(line.split(' ')[1].slice(0, 9)), 'no more than the mark');
    for (const secret of [OWNER, OPERATOR, HELD])
        assert.ok(!text.includes(secret));
});

test('a key without a name is shown by its mark, and no keys are an empty list', async (t) => {
    const nobody = await place(t);
    assert.deepEqual((await get(nobody.admin, '/admin/keys')).json, { data: [] });
    const { admin } = await place(t, { args: ['--api-key', OWNER] });
    const { json: { data: [key, ...others] }, text } = await get(admin, '/admin/keys');
    assert.deepEqual([key.name, others], [null, []]);
    assert.match(key.keys[0].mark, /^[0-9a-f]{8}$/);
    assert.deepEqual([key.running, key.requests_left], [null, null]);
    assert.ok(!text.includes('key-'), 'nor by the owner that its responses are stored under');
});

/* ---- configuration, log */

test('the configuration is that of --check-config, without secrets', async (t) => {
    const args = ['--api-key', OWNER, '--store-max-age', '2h'];
    const env = { ANTIPHON_UPSTREAM_KEY: SECRET, ANTIPHON_ENCRYPTION_KEYS: 'a-secret-of-the-seal-01' };
    const { admin } = await place(t, { args, env });
    const got = await get(admin, '/admin/config');
    assert.equal(got.headers['content-type'], 'text/plain; charset=utf-8');
    assert.match(got.text, /"store_max_age": "2h", \/\/ flag --store-max-age/);
    for (const key of ['upstream_key', 'api_key', 'encryption_keys'])
        assert.match(got.text, new RegExp(`// "${key}": "\\*\\*\\*"`));
    for (const secret of [OWNER, SECRET, 'a-secret-of-the-seal-01'])
        assert.ok(!got.text.includes(secret), secret);
    const shown = spawnSync(BINARY, ['serve', '--check-config', ...args], { encoding: 'utf8', env: { ...ENVIRONMENT, ...env } }).stdout;
    assert.deepEqual(got.text.match(/"[a-z_]+": .*/g).length, shown.slice(0, shown.indexOf('\n}\n')).match(/"[a-z_]+": .*/g).length);
});

test('the level of the log is another from now on, or for a while', async (t) => {
    const { admin, daemon } = await place(t);
    const put = (body) => ask(admin, body, { method: 'PUT', path: '/admin/log-level' });
    assert.deepEqual((await put({ level: 'debug' })).json, { level: 'debug' });
    await daemon.logged(/log_level level=debug/);
    assert.equal((await status(admin)).log_level, 'debug');
    assert.deepEqual((await put({ level: 'warn', for: '100ms' })).json, { level: 'warn', for_ms: 100 });
    await until(() => status(admin), ({ log_level: level }) => level === 'debug');
    for (const [body, code, param] of [[{}, 'invalid_value', 'level'], [{ level: 'loud' }, 'invalid_value', 'level'], [{ level: 1 }, 'invalid_value', 'level'],
        [{ level: 'info', for: 'ever' }, 'invalid_value', 'for'], [{ level: 'info', for: '0s' }, 'invalid_value', 'for'], [{ level: 'info', for: '169h' }, 'invalid_value', 'for'],
        [{ level: 'info', since: '1m' }, 'unknown_parameter', null], ['{"level":"info"', 'invalid_json', null], ['[]', 'invalid_json', null], ['', 'invalid_json', null]]) {
        checkError(await put(body), 400, code, param);
        assert.equal((await status(admin)).log_level, 'debug');
    }
});

/* ---- life */

test('a reload answers with its parts, also when one has failed', async (t) => {
    const file = keysFile(t);
    const { daemon, admin } = await place(t, { args: ['--api-keys-file', file] });
    const reload = () => ask(admin, undefined, { path: '/admin/reload' });
    assert.equal((await ask(daemon, { input: 'Hi' }, { headers: bearer('sk-a-new-key-1234') })).status, 401);
    writeFileSync(file, spawnSync(BINARY, ['key', 'hash', 'new'], { encoding: 'utf8', input: 'sk-a-new-key-1234\n', env: ENVIRONMENT }).stdout);
    const got = await reload();
    assert.deepEqual([got.status, got.json], [200, { parts: [{ part: 'keys', result: 'ok' }] }]);
    assert.equal((await ask(daemon, { input: 'Hi' }, { headers: bearer('sk-a-new-key-1234') })).status, 200, 'all workers go by it');
    writeFileSync(file, 'no line of a key\n');
    assert.deepEqual((await status(admin)).reloads, { all: 1, failed: 0 });
    const failed = await reload();
    assert.deepEqual((await status(admin)).reloads, { all: 2, failed: 1 });
    assert.deepEqual([failed.status, failed.json], [409, { parts: [{ part: 'keys', result: 'error' }] }]);
    assert.equal((await ask(daemon, { input: 'Hi' }, { headers: bearer('sk-a-new-key-1234') })).status, 200, 'it stays as it was');
});

test('a drain refuses clients, lets streams end, and can be taken back', async (t) => {
    const { up, daemon, admin } = await place(t);
    let release;
    up.next(stream([...frames(chunk({ content: 'Slow' })), new Promise((done) => (release = done)), ...frames(chunk({}, 'stop'), '[DONE]')]));
    const slow = open(daemon, { input: 'Hi', stream: true });
    await slow.until('"delta":"Slow"');
    assert.deepEqual((await ask(admin, undefined, { path: '/admin/drain' })).json, { status: 'draining' });
    await until(() => get(admin, '/ready').then((got) => got.status), (code) => code === 503);
    assert.equal((await status(admin)).status, 'draining');
    await until(() => get(daemon, '/health').then(() => false, () => true), (isRefused) => isRefused);
    release();
    assert.equal(checkStream((await slow.done).text).response.status, 'completed');
    assert.equal((await get(admin, '/health')).status, 200, 'the process stays');
    assert.deepEqual((await ask(admin, undefined, { method: 'DELETE', path: '/admin/drain' })).json, { status: 'serving' });
    await until(() => get(daemon, '/ready').then((got) => got.status, () => 0), (code) => code === 200);
    assert.equal((await ask(daemon, { input: 'Hi' })).status, 200);
    assert.equal((await status(admin)).status, 'serving');
});
