/* relay.test.mjs -- /v1/chat/completions and /v1/models pass through unchanged. */
import assert from 'node:assert/strict';
import test, { after, before, beforeEach, describe } from 'node:test';
import { checkError } from '../lib/check.mjs';
import { ask, get, open } from '../lib/client.mjs';
import { pair, shared, startDaemon } from '../lib/daemon.mjs';
import { bytesOf, namesIn, recordings } from '../lib/data.mjs';
import { CLOSE, chunk, failure, frames, json, splitEvery, stream, textStream } from '../lib/upstream.mjs';

const PATH = '/v1/chat/completions';
const REQUEST = { model: 'm', messages: [{ role: 'user', content: 'Hi' }], n: 2, vendor_field: [1.50, 'é'] };

describe('chat completions', { concurrency: false }, () => {
    const both = shared({ before, beforeEach, after }, '--upstream-key', 'upstream-secret');
    const relay = (body, options = {}) => ask(both.daemon, body, { path: PATH, ...options });

    for (const name of namesIn('upstream', '.sse')) {
        test(`${name} arrives as it was sent`, async () => {
            const bytes = bytesOf('upstream', name);
            both.up.next(stream(splitEvery(bytes, 50)));
            const got = await relay({ ...REQUEST, stream: true });
            assert.equal(got.status, 200);
            assert.ok(got.bytes.equals(bytes), got.text);
        });
    }

    test('recorded answers and errors arrive as they were sent', async () => {
        for (const { bytes, status, type, name } of recordings('ik-llama').filter((r) => r.path === PATH)) {
            both.up.next({ status, headers: { 'content-type': type }, pieces: [bytes] });
            const got = await relay(REQUEST);
            assert.deepEqual([got.status, got.headers['content-type']], [status, type], name);
            assert.ok(got.bytes.equals(bytes), name);
        }
    });

    test('the request body arrives as it was sent, with our key', async () => {
        const body = '{ "model":"m",\n "messages":[], "x": 1.50, "big": 12345678901234567890 }';
        await relay(body, { headers: { authorization: 'Bearer client-secret' } });
        const request = await both.up.request(0);
        assert.equal(request.raw.toString(), body);
        assert.equal(request.headers.authorization, 'Bearer upstream-secret');
        assert.equal(request.path, PATH);
    });

    for (const status of [400, 401, 404, 429, 500, 503]) {
        test(`status ${status} and its body are kept`, async () => {
            both.up.next(failure(status, 'as it is', {}, { 'retry-after': '3' }));
            const got = await relay(REQUEST);
            assert.equal(got.status, status);
            assert.equal(got.json.error.message, 'as it is');
            assert.equal(got.headers['retry-after'], '3');
            assert.ok(got.headers['x-request-id']);
        });
    }

    test('hop-by-hop headers of the upstream stay where they are', async () => {
        both.up.next(json(200, { ok: true }, { connection: 'close, X-Private', 'keep-alive': 'timeout=1', 'x-private': 'p', 'x-vendor': 'v' }));
        const got = await relay(REQUEST);
        assert.equal(got.json.ok, true);
        assert.notEqual(got.headers['keep-alive'], 'timeout=1');
        assert.equal(got.headers['x-private'], undefined);
        assert.equal(got.headers['x-vendor'], 'v');
    });

    test('a stream is passed on piece by piece', async () => {
        let release;
        both.up.next(stream([...frames(chunk({ content: 'first' })), new Promise((done) => (release = done)), ...frames('[DONE]')]));
        const call = open(both.daemon, { ...REQUEST, stream: true }, { path: PATH });
        await call.until('first');
        assert.ok(!call.text.includes('[DONE]'));
        release();
        assert.match((await call.done).text, /\[DONE\]\n\n$/);
    });

    test('a stream that breaks upstream does not end as if it were whole', async () => {
        both.up.next(stream([...frames(chunk({ content: 'first' })), 50, CLOSE]));
        const call = open(both.daemon, { ...REQUEST, stream: true }, { path: PATH });
        await call.until('first');
        const end = await call.done.then(() => 'whole', () => 'broken');
        assert.ok(end === 'broken' || call.text.includes('error'), call.text);
    });

    test('/chat/completions without /v1 is unknown', async () => {
        checkError(await relay(REQUEST, { path: '/chat/completions' }), 404, 'not_found');
    });

    test('no header is lost, however many there are', async () => {
        const many = Object.fromEntries(Array.from({ length: 80 }, (_, i) => [`x-h${i}`, `${i}`]));
        both.up.next(json(200, { ok: true }, { ...many, 'x-last': 'yes' }));
        assert.equal((await relay(REQUEST)).headers['x-last'], 'yes');
    });
});

describe('models', { concurrency: false }, () => {
    const both = shared({ before, beforeEach, after }, '--upstream-key', 'upstream-secret');
    const list = { object: 'list', data: [{ id: 'org/model-7b', object: 'model', created: 1, owned_by: 'x', extra: { a: 1 } }] };

    test('the list is the upstream\'s', async () => {
        both.up.next(json(200, list));
        const got = await get(both.daemon, '/v1/models');
        assert.deepEqual([got.status, got.json], [200, list]);
        const request = await both.up.request(0);
        assert.deepEqual([request.method, request.path, request.headers.authorization], ['GET', '/v1/models', 'Bearer upstream-secret']);
    });

    test('one model is the upstream\'s, slashes included', async () => {
        both.up.always((request) => request.path === '/v1/models' ? json(200, list) : json(200, list.data[0]));
        for (const name of ['org/model-7b', 'org%2Fmodel-7b']) {
            const got = await get(both.daemon, `/v1/models/${name}`);
            assert.deepEqual([got.status, got.json.id], [200, 'org/model-7b'], name);
        }
    });

    test('errors keep their status', async () => {
        both.up.always(failure(404, 'no such model'));
        assert.equal((await get(both.daemon, '/v1/models/none')).status, 404);
    });
});

test('an unreachable upstream is 502 everywhere', async (t) => {
    const daemon = await startDaemon({ upstream: 'http://127.0.0.1:1/v1' });
    t.after(() => daemon.stop());
    checkError(await get(daemon, '/v1/models'), 502, 'upstream_unavailable');
    checkError(await ask(daemon, REQUEST, { path: PATH }), 502, 'upstream_unavailable');
});

test("without an own key the client's is passed on, its cookies never", async (t) => {
    const { up, daemon } = await pair(t);
    up.always(textStream('Hello'));
    for (const path of [PATH, '/v1/responses'])
        await ask(daemon, { ...REQUEST, input: 'Hi' }, { path, headers: { authorization: 'Bearer client-secret', cookie: 'a=b' } });
    assert.deepEqual(up.requests.map(({ headers }) => [headers.authorization, headers.cookie]), Array(2).fill(['Bearer client-secret', undefined]));
});
