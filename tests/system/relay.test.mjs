/* relay.test.mjs -- /v1/chat/completions, /v1/models and, when configured, all
 * other paths pass through unchanged. */
import assert from 'node:assert/strict';
import { gzipSync } from 'node:zlib';
import test, { after, before, beforeEach, describe } from 'node:test';
import { checkError } from '../lib/check.mjs';
import { ask, get, open } from '../lib/client.mjs';
import { pair, shared, startDaemon } from '../lib/daemon.mjs';
import { bytesOf, namesIn, recordings } from '../lib/data.mjs';
import { CLOSE, HANG, chunk, failure, frames, json, splitEvery, stream, textStream } from '../lib/upstream.mjs';

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

    const rest = '{ "model":"m", "messages":[],\n"x": 1.50 }';
    const nulls = rest.replace('"messages"', '"reasoning" : { "effort":null, "summary": null }, "messages"');
    for (const [how, body, headers] of [['as it is', nulls, {}], ['compressed', gzipSync(nulls), { 'content-encoding': 'gzip' }]]) {
        test(`reasoning of nothing but null is not sent on: ${how}`, async () => {
            await relay(body, { headers });
            const request = await both.up.request(0);
            assert.equal(request.raw.toString(), rest);
            assert.equal(request.headers['content-length'], `${rest.length}`);
            assert.equal(request.headers['content-encoding'], undefined);
        });
    }

    test('other reasoning is sent on, compressed as it came', async () => {
        const body = gzipSync('{"model":"m","reasoning":{"effort":"low","summary":null}}');
        await relay(body, { headers: { 'content-encoding': 'gzip' } });
        const request = await both.up.request(0);
        assert.ok(request.raw.equals(body));
        assert.equal(request.headers['content-encoding'], 'gzip');
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

    for (const path of ['/chat/completions', '//v1/chat/completions', '/v1//chat/completions', '/v1/chat/completions/', '//chat/completions']) {
        test(`${path} is ${PATH} at the upstream`, async () => {
            assert.equal((await relay(REQUEST, { path })).status, 200);
            assert.equal((await both.up.request(0)).path, PATH);
        });
    }

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
        both.up.always(failure(401, 'who are you?'));
        assert.equal((await get(both.daemon, '/v1/models/none')).status, 401);
    });

    /* vLLM answers {"detail":"Not Found"}, llama.cpp "File Not Found", others 405 or 501; a web interface in front of a
     * server answers every path with its page. */
    const page = { status: 200, headers: { 'content-type': 'text/html; charset=utf-8' }, pieces: ['<!doctype html>'] };
    for (const [what, answer] of [['404', json(404, { detail: 'Not Found' })], ['404 with a page', { ...page, status: 404 }], ['405', failure(405, 'no')],
        ['501', failure(501, 'no')], ['a page', page]]) {
        test(`one model is found in the list where its path is ${what}`, async () => {
            both.up.always((request) => request.path === '/v1/models' ? json(200, list) : answer);
            for (const path of ['/v1/models/org/model-7b', '/v1/models/org%2Fmodel-7b', '/models/org/model-7b']) {
                const got = await get(both.daemon, path);
                assert.deepEqual([got.status, got.json, got.headers['content-type']], [200, list.data[0], 'application/json'], path);
            }
            assert.equal((await both.up.request(1)).headers.authorization, 'Bearer upstream-secret');
            const { message } = checkError(await get(both.daemon, '/v1/models/none'), 404, 'model_not_found', 'model');
            assert.equal(message, "The model 'none' does not exist.");
        });
    }

    test('HEAD is as GET without a body, also where the upstream knows no HEAD', async () => {
        both.up.always((request) => request.method !== 'GET' ? failure(405, 'no')
            : request.path === '/v1/models' ? json(200, list) : failure(404, 'no'));
        for (const [path, status] of [['/v1/models', 200], ['/v1/models/org/model-7b', 200], ['/v1/models/none', 404]]) {
            const got = await get(both.daemon, path, { method: 'HEAD' });
            assert.deepEqual([got.status, got.text, got.headers['content-type']], [status, '', 'application/json'], path);
        }
    });

    test('a list that fails is the error', async () => {
        both.up.always((request) => request.path === '/v1/models' ? failure(500, 'oops') : failure(404, 'no'));
        checkError(await get(both.daemon, '/v1/models/m'), 502, 'upstream_error');
        both.up.always((request) => request.path === '/v1/models' ? { before: [CLOSE] } : failure(404, 'no'));
        checkError(await get(both.daemon, '/v1/models/m'), 502, 'upstream_unavailable');
    });
});

test('a list of models without end is left', async (t) => {
    const { up, daemon } = await pair(t, '--max-response', '64KiB');
    const endless = (status) => ({ status, headers: { 'content-type': 'application/json' }, pieces: ['[', ...Array(64).fill('"m",'.repeat(1024)), HANG] });
    for (const [status, code] of [[200, 502], [400, 400]]) {
        up.always((request) => request.path === '/v1/models' ? endless(status) : failure(404, 'no'));
        assert.equal((await get(daemon, '/v1/models/m')).status, code);
    }
});

test('an alias is a model as well', async (t) => {
    const { up, daemon } = await pair(t, '--model-alias', 'gpt-4o=qwen3', '--model-alias', 'my/alias=qwen3', '--model-alias', 'lost=nothing');
    const entry = { object: 'model', id: 'qwen3', meta: { id: 1, n_ctx: 4096 } };
    up.always((request) => request.path === '/v1/models' ? json(200, { object: 'list', data: [entry] }) : failure(404, 'no'));
    for (const name of ['gpt-4o', 'my/alias', 'my%2Falias', 'qwen3'])
        assert.deepEqual((await get(daemon, `/v1/models/${name}`)).json, { ...entry, id: decodeURIComponent(name), context_length: 4096, context_window: 4096, max_model_len: 4096 }, name);
    checkError(await get(daemon, '/v1/models/lost'), 404, 'model_not_found');
});

/* LM Studio, whose log says "Returning 200 anyway". */
test('a server that answers every path is asked for its list', async (t) => {
    const { up, daemon } = await pair(t, '--upstream-kind', 'lmstudio');
    const entry = { object: 'model', id: 'qwen3' };
    up.always(({ path }) => json(200, path === '/v1/models' ? { object: 'list', data: [entry] } : { error: `Unexpected endpoint or method. (GET ${path})` }));
    assert.deepEqual((await get(daemon, '/v1/models/qwen3')).json, entry);
    checkError(await get(daemon, '/v1/models/none'), 404, 'model_not_found', 'model');
});

test('a model of the demo', async (t) => {
    const daemon = await startDaemon({});
    t.after(() => daemon.stop());
    assert.equal((await get(daemon, '/v1/models/demo')).json.id, 'demo');
    checkError(await get(daemon, '/v1/models/other'), 404, 'model_not_found', 'model');
});

describe('other paths', { concurrency: false }, () => {
    const all = shared({ before, beforeEach, after }, '--relay', 'all', '--upstream-key', 'upstream-secret');

    for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']) {
        test(`${method} arrives with path, query and body, and its answer comes back`, async () => {
            all.up.next({ status: 201, headers: { 'content-type': 'text/x-vendor', 'x-vendor': 'v' }, pieces: ['odd \xe9', ' bytes'] });
            const body = method === 'GET' || method === 'DELETE' ? undefined : 'any\0thing';
            const got = await ask(all.daemon, body, { method, path: '/v1/files/a%20b/content?x=1&y=%2F', headers: { 'content-type': 'text/x-own' } });
            assert.deepEqual([got.status, got.headers['content-type'], got.headers['x-vendor'], got.text], [201, 'text/x-vendor', 'v', 'odd \xe9 bytes']);
            const request = await all.up.request(0);
            assert.deepEqual([request.method, request.path, request.raw.toString()], [method, '/v1/files/a%20b/content?x=1&y=%2F', body ?? '']);
            assert.equal(request.headers['content-type'], 'text/x-own');
            assert.equal(request.headers.authorization, 'Bearer upstream-secret');
        });
    }

    test('a PUT without a body is one with a length of 0', async () => {
        await ask(all.daemon, '', { method: 'PUT', path: '/v1/x' });
        assert.equal((await all.up.request(0)).headers['content-length'], '0');
    });

    test('HEAD is HEAD at the upstream', async () => {
        all.up.next(json(200, { id: 'x' }, { 'x-vendor': 'v' }));
        const got = await ask(all.daemon, undefined, { method: 'HEAD', path: '/v1/files/x' });
        assert.deepEqual([got.status, got.text, got.headers['x-vendor'], (await all.up.request(0)).method], [200, '', 'v', 'HEAD']);
    });

    for (const [path, wanted] of [['/v1/v1/models', '/v1/models'], ['/v1/v1/v1/x', '/v1/x'], ['/v1/models/v1/x', '/v1/models/v1/x'], ['/v1/v1x', '/v1/v1x']]) {
        test(`${path} is ${wanted} at the upstream`, async () => {
            await get(all.daemon, path);
            assert.equal((await all.up.request(0)).path, wanted);
        });
    }

    test('a path that has one method of ours has the others of the upstream', async () => {
        assert.equal((await get(all.daemon, '/v1/chat/completions?limit=1')).status, 200);
        assert.equal((await all.up.request(0)).path, '/v1/chat/completions?limit=1');
        checkError(await get(all.daemon, '/v1/responses'), 405, 'method_not_allowed');
        assert.equal(all.up.requests.length, 1);
    });

    test("the gateway's own folders are not relayed however they are spelled", async () => {
        for (const path of ['/v1/responses/x', '/v1/%72esponses/x', '/v1/responses%2fx', '/v1/responses%2Fx', '/v1//responses/x', '/v1/%2fmcp/x', '/v1/%6D%63p'])
            checkError(await get(all.daemon, path), 404, 'not_found');
        assert.deepEqual(all.up.requests, []);
        assert.equal((await get(all.daemon, '/v1/%72esponsesx')).status, 200);
    });

    test('what is only relayed is not without its /v1, and loses no slash but that of the base', async () => {
        for (const path of ['/files', '/files/x', '/v1x/files'])
            checkError(await get(all.daemon, path), 404, 'not_found');
        assert.deepEqual(all.up.requests, []);
        for (const [path, wanted] of [['//v1//files/x', '/v1/files/x'], ['/v1/files/a//b/', '/v1/files/a//b/']]) {
            await get(all.daemon, path);
            assert.equal(all.up.requests.at(-1).path, wanted);
        }
    });

    test('OPTIONS and odd methods are answered here', async () => {
        const got = await get(all.daemon, '/v1/files', { method: 'OPTIONS' });
        assert.deepEqual([got.status, got.headers.allow], [204, 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS']);
        checkError(await get(all.daemon, '/v1/files', { method: 'PROPFIND' }), 405, 'method_not_allowed');
        assert.equal(all.up.requests.length, 0);
    });

    test('an answer without a body has none', async () => {
        all.up.next({ status: 204 });
        const got = await ask(all.daemon, undefined, { method: 'DELETE', path: '/v1/files/x' });
        assert.deepEqual([got.status, got.text, got.headers['transfer-encoding']], [204, '', undefined]);
    });

    test('headers of the API are passed on; those of the connection, cookies and other keys are not', async () => {
        const passed = { accept: 'audio/mpeg', 'accept-language': 'de', 'user-agent': 'own/1', 'openai-beta': 'assistants=v2', 'openai-organization': 'org',
            'openai-project': 'p', 'idempotency-key': 'k', 'x-stainless-lang': 'js', range: 'bytes=0-1', traceparent: '00-1-2-03' };
        const kept = { cookie: 'a=b', 'x-api-key': 'secret', 'proxy-authorization': 'secret', te: 'trailers', 'keep-alive': 'timeout=5', 'x-own': '1', 'openai-nominated': '1' };
        await get(all.daemon, '/v1/files', { headers: { ...passed, ...kept, connection: 'close, openai-nominated' } });
        const { headers } = await all.up.request(0);
        for (const [name, value] of Object.entries(passed))
            assert.equal(headers[name], value, name);
        for (const name of Object.keys(kept))
            assert.equal(headers[name], undefined, name);
    });
});

for (const [setting, found] of [['off', []], ['common', ['/v1/completions', '/v1/embeddings']], [undefined, ['/v1/completions', '/v1/embeddings']],
    ['all', ['/v1/completions', '/v1/embeddings', '/v1/audio/speech']]]) {
    test(`relay ${setting ?? 'by default'} adds ${found.length} of the other paths`, async (t) => {
        const { up, daemon } = await pair(t, ...(setting ? ['--relay', setting] : []));
        up.always(json(200, { ok: true }));
        for (const path of ['/v1/completions', '/v1/embeddings', '/v1/audio/speech']) {
            const got = await ask(daemon, REQUEST, { path });
            if (found.includes(path))
                assert.deepEqual(got.json, { ok: true }, path);
            else
                checkError(got, 404, 'not_found');
        }
        for (const path of [PATH, '/v1/responses'])
            assert.notEqual((await ask(daemon, REQUEST, { path })).status, 404, path);
        assert.equal((await get(daemon, '/v1/models')).status, 200);
        assert.deepEqual(up.requests.map((r) => r.path).filter((path) => path !== PATH && path !== '/v1/models'), found);
    });
}

test('the demo model says so when it is asked for more', async (t) => {
    const daemon = await startDaemon({});
    t.after(() => daemon.stop());
    assert.equal(checkError(await ask(daemon, {}, { path: '/v1/embeddings' }), 404, 'not_found').message, 'The demo upstream has no /v1/embeddings.');
});

test('an unreachable upstream is 502 everywhere', async (t) => {
    const daemon = await startDaemon({ upstream: 'http://127.0.0.1:1/v1' });
    t.after(() => daemon.stop());
    checkError(await get(daemon, '/v1/models'), 502, 'upstream_unavailable');
    const { message } = checkError(await ask(daemon, REQUEST, { path: PATH }), 502, 'upstream_unavailable');
    assert.match(message, /^Connection error: The upstream server at 127\.0\.0\.1:1 is not reachable: /);
    await daemon.logged(/ warn relay .* outcome=upstream_unavailable status=502 phase=connecting message="Connection error: /);
});

test("without an own key the client's is passed on, its cookies never", async (t) => {
    const { up, daemon } = await pair(t);
    up.always(textStream('Hello'));
    for (const path of [PATH, '/v1/responses'])
        await ask(daemon, { ...REQUEST, input: 'Hi' }, { path, headers: { authorization: 'Bearer client-secret', cookie: 'a=b' } });
    assert.deepEqual(up.requests.map(({ headers }) => [headers.authorization, headers.cookie]), Array(2).fill(['Bearer client-secret', undefined]));
});

test('an alias is replaced in the body and nothing else is', async (t) => {
    const { up, daemon } = await pair(t, '--model-alias', 'gpt-4o=qwen3', '--relay', 'all');
    const body = '{ "n" : 1,\n"model": "gpt-4\\u006f" , "messages":[{"role":"user","content":"gpt-4o"}], "x":1.50 }';
    const want = body.replace('"gpt-4\\u006f"', '"qwen3"');
    const headers = { 'content-type': 'application/json' };
    up.always(json(200, { ok: true }));
    await ask(daemon, body, { path: PATH, headers });
    await ask(daemon, body, { path: '/v1/embeddings', headers });
    await ask(daemon, gzipSync(body), { path: PATH, headers: { ...headers, 'content-encoding': 'gzip' } });
    for (const r of up.requests) {
        assert.equal(String(r.raw), want);
        assert.equal(r.headers['content-encoding'], undefined);
        assert.equal(Number(r.headers['content-length']), want.length);
    }
});

test('without an alias for it a body passes as it came, whatever it is', async (t) => {
    const { up, daemon } = await pair(t, '--model-alias', 'gpt-4o=qwen3');
    const packed = gzipSync('{"model":"m"}');
    up.always(json(200, { ok: true }));
    for (const body of ['{"model":"m", "x":1}', '{"model":7}', 'no JSON at all', '[]'])
        await ask(daemon, body, { path: PATH, headers: { 'content-type': 'application/json' } });
    await ask(daemon, packed, { path: PATH, headers: { 'content-encoding': 'gzip' } });
    assert.deepEqual(up.requests.slice(0, 4).map((r) => String(r.raw)), ['{"model":"m", "x":1}', '{"model":7}', 'no JSON at all', '[]']);
    assert.ok(up.requests[4].raw.equals(packed));
    assert.equal(up.requests[4].headers['content-encoding'], 'gzip');
});
