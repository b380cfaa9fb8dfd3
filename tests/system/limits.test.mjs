/* limits.test.mjs -- what names and addresses may: models, requests, tokens and how much at a time, on every
 * route, and what clients are told of it (OPERATIONS 5.1 to 5.3). */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import test, { describe } from 'node:test';
import { checkError } from '../lib/check.mjs';
import { ask, get, open } from '../lib/client.mjs';
import { BINARY, ENVIRONMENT, pair } from '../lib/daemon.mjs';
import { folder } from '../lib/folder.mjs';
import { gateway } from '../lib/mcp.mjs';
import { startMcp } from '../lib/mcp_server.mjs';
import { scrape } from '../lib/metrics.mjs';
import { patience } from '../lib/patience.mjs';
import { CLOSE, chunk, failure, frames, json, stream, usageChunk } from '../lib/upstream.mjs';
import { pause, until } from '../lib/upstreams.mjs';
import { webSocket } from '../lib/websocket.mjs';

const CHAT = '/v1/chat/completions', KEY = 'sk-alice', OTHER = 'sk-bob';
const bearer = (key) => ({ authorization: `Bearer ${key}` });

const keyCommand = (args, input = '') =>
    spawnSync(BINARY, ['key', ...args], { encoding: 'utf8', input, timeout: patience(10_000), env: ENVIRONMENT });
const lineOf = (name, key, ...settings) => keyCommand(['hash', name, ...settings], `${key}\n`).stdout;

/* A gateway whose alice has these settings, and bob none. */
async function limited(t, settings, { args = [], more = '' } = {}) {
    const path = folder(t, 'keys');
    const write = (now) => writeFileSync(path, lineOf('alice', KEY, ...now) + lineOf('bob', OTHER) + more, { mode: 0o600 });
    write(settings);
    const { up, daemon } = await pair(t, '--api-keys-file', path, ...args);
    let n = 0;
    return {
        up, daemon, path,
        async reload(now) {
            write(now);
            daemon.child.kill('SIGHUP');
            n++;
            await until(() => daemon.log.split(' reload part=keys result=ok').length > n);
        },
    };
}

const answer = (input = 5, output = 2) => stream(frames(chunk({ content: 'Hi' }), chunk({}, 'stop'), usageChunk(input, output), '[DONE]'));
const completion = (prompt_tokens, completion_tokens) => json(200, {
    id: 'c', object: 'chat.completion', created: 1, model: 'm',
    choices: [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }],
    usage: { prompt_tokens, completion_tokens, total_tokens: prompt_tokens + completion_tokens },
});

/* All ways to ask a model: how one is sent, and what the upstream says. */
const routes = [
    ['/v1/responses', { input: 'Hi' }, answer],
    ['/v1/responses', { input: 'Hi', stream: true }, answer],
    ['/v1/responses/compact', { input: 'Hi' }, answer],
    [CHAT, { messages: [{ role: 'user', content: 'Hi' }] }, completion],
    [CHAT, { messages: [{ role: 'user', content: 'Hi' }], stream: true }, answer],
    ['/v1/completions', { prompt: 'Hi' }, completion],
    ['/v1/embeddings', { input: 'Hi' }, completion],
];
const TOLD = ['/v1/responses', CHAT, '/v1/completions', '/v1/embeddings'];
const nameOf = (path, body) => `${path}${body.stream ? ', streamed' : ''}`;

/* Asks as alice, or as whoever has the key. */
const send = (g, path, body, key = KEY, options = {}) =>
    ask(g.daemon, { model: 'm', ...body }, { path, ...options, headers: { ...bearer(key), ...options.headers } });

const HEADERS = ['limit', 'remaining', 'reset'].flatMap((what) => ['requests', 'tokens'].map((of) => `x-ratelimit-${what}-${of}`));
const DURATION = /^(?:(?:(\d+)h)?(?:(\d+)m))?(?:(\d+(?:\.\d+)?)s)?(?:(\d+)ms)?$/;

function durationMs(text) {
    const found = text.match(DURATION);
    assert.ok(found && text !== '', `no duration: ${text}`);
    const [h, m, s, ms] = found.slice(1).map((part) => Number(part ?? 0));
    return ((h * 60 + m) * 60 + s) * 1000 + ms;
}

/* What an answer tells of one kind; undefined when it tells nothing of it. */
function told(got, of) {
    const values = ['limit', 'remaining', 'reset'].map((what) => got.headers[`x-ratelimit-${what}-${of}`]);
    if (values.every((value) => value === undefined))
        return undefined;
    assert.match(values[0], /^\d+$/);
    assert.match(values[1], /^\d+$/);
    return { limit: Number(values[0]), left: Number(values[1]), fullMs: durationMs(values[2]) };
}

function checkRefused(got, what, limit) {
    const error = checkError(got, 429, 'rate_limit_exceeded', null);
    assert.equal(error.type, 'rate_limit_error');
    const [, wait] = error.message.match(new RegExp(`^Rate limit reached for ${what}: limit ${limit}\\. Please try again in ([0-9.]+m?s)\\.$`)) ?? assert.fail(error.message);
    const after = Number(got.headers['retry-after']);
    assert.ok(Number.isInteger(after) && after >= 1 && after * 1000 >= durationMs(wait), `${after} for ${wait}`);
    return after;
}

describe('requests in a minute', () => {
    for (const [path, body, said] of routes) {
        test(`${nameOf(path, body)}: as many as the limit, and then 429 with the time to wait`, async (t) => {
            const g = await limited(t, ['--rpm', '2']);
            g.up.next(said(), said(), said());
            for (const left of [1, 0]) {
                const got = await send(g, path, body);
                assert.equal(got.status, 200, got.text);
                if (TOLD.includes(path))
                    assert.deepEqual([told(got, 'requests').limit, told(got, 'requests').left], [2, left]);
                assert.equal(told(got, 'tokens'), undefined);
            }
            const refused = await send(g, path, body);
            assert.ok(checkRefused(refused, 'requests', '2 per minute') <= 30);
            if (TOLD.includes(path))
                assert.equal(told(refused, 'requests').left, 0);
            else
                assert.equal(told(refused, 'requests'), undefined);
            const other = await send(g, path, body, OTHER);
            assert.equal(other.status, 200, 'another name has its own');
            for (const name of HEADERS)
                assert.equal(other.headers[name], undefined, 'who has no limit is told none');
            assert.equal(g.up.requests.length, 3);
        });
    }

    test('are the name\'s, whichever of its keys comes, and in whatever way', async (t) => {
        const g = await limited(t, ['--rpm', '3'], { more: lineOf('alice', 'sk-alice-2') });
        g.up.next(answer(), completion(1, 1), answer());
        assert.equal((await send(g, '/v1/responses', { input: 'Hi' })).status, 200);
        assert.equal((await send(g, CHAT, { messages: [] }, 'sk-alice-2')).status, 200);
        const ws = await webSocket(t, g.daemon, { headers: bearer(KEY) });
        assert.equal((await ws.respond({ input: 'Hi' })).status, 'completed');
        const refused = await ws.refused({ input: 'Hi' });
        assert.deepEqual([refused.status, refused.error.code], [429, 'rate_limit_exceeded']);
        assert.match(refused.headers['retry-after'], /^\d+$/);
        checkRefused(await send(g, '/v1/embeddings', { input: 'Hi' }, 'sk-alice-2'), 'requests', '3 per minute');
    });

    test('a request that is none takes nothing, and is told what there is', async (t) => {
        const g = await limited(t, ['--rpm', '5', '--tpm', '1000']);
        const got = await ask(g.daemon, '{', { headers: bearer(KEY) });
        checkError(got, 400, 'invalid_json');
        assert.deepEqual(told(got, 'requests'), { limit: 5, left: 5, fullMs: 0 });
        assert.deepEqual(told(got, 'tokens'), { limit: 1000, left: 1000, fullMs: 0 });
        const media = await ask(g.daemon, 'x', { headers: { ...bearer(KEY), 'content-type': 'text/plain' } });
        checkError(media, 415);
        assert.equal(told(media, 'requests').left, 5);
        checkError(await ask(g.daemon, { model: 'm', input: 'Hi' }), 401);
        for (const [path, method] of [['/v1/models', 'GET'], ['/v1/responses/resp_x', 'GET'], ['/v1/responses/input_tokens', 'POST'], ['/health', 'GET']]) {
            const other = await ask(g.daemon, method === 'POST' ? { model: 'm', input: 'Hi' } : undefined, { path, method, headers: bearer(KEY) });
            for (const name of HEADERS)
                assert.equal(other.headers[name], undefined, `${path} ${name}`);
        }
        assert.equal(told(await ask(g.daemon, '{', { headers: bearer(KEY) }), 'requests').left, 5);
    });

    test('who obeys Retry-After gets in', async (t) => {
        const g = await limited(t, ['--rpm', '20']); /* one comes back every three seconds */
        g.up.next(...Array.from({ length: 30 }, () => completion(1, 1)));
        const burst = await Promise.all(Array.from({ length: 22 }, () => send(g, CHAT, { messages: [] })));
        const refused = burst.filter(({ status }) => status === 429);
        assert.ok(refused.length >= 1 && refused.length <= 2, `${refused.length} were refused`);
        await pause(1000 * checkRefused(refused[0], 'requests', '20 per minute'));
        assert.equal((await send(g, CHAT, { messages: [] })).status, 200);
    });
});

describe('tokens in a minute', () => {
    for (const [path, body, said] of routes) {
        test(`${nameOf(path, body)}: an estimate is taken, and settled by what was used`, async (t) => {
            const g = await limited(t, ['--tpm', '6000']);
            const bytes = Buffer.byteLength(JSON.stringify({ model: 'm', ...body }));
            g.up.next(said(2500, 500), said(2900, 1000), said());
            const first = await send(g, path, body);
            assert.equal(first.status, 200, first.text);
            if (TOLD.includes(path))
                assert.deepEqual([told(first, 'tokens').limit, told(first, 'tokens').left], [6000, 6000 - Math.ceil(bytes / 4)]);
            const second = await send(g, path, body);
            assert.equal(second.status, 200, second.text);
            if (TOLD.includes(path)) {
                const { left } = told(second, 'tokens');
                assert.ok(left >= 2900 && left <= 3400, `3000 were used, ${left} are left`);
            }
            const third = await send(g, path, body);
            const after = checkRefused(third, 'tokens', '6000 per minute');
            assert.ok(after >= 2 && after <= 11, `waits ${after} s`); /* 100 come back in a second */
            if (TOLD.includes(path))
                assert.equal(told(third, 'tokens').left, 0);
        });
    }

    test('of a body that came compressed its own size counts', async (t) => {
        const g = await limited(t, ['--tpm', '100000']);
        const body = Buffer.from(JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'x'.repeat(40_000) }] }));
        g.up.next(completion(1, 1));
        const got = await ask(g.daemon, gzipSync(body), { path: CHAT, headers: { ...bearer(KEY), 'content-encoding': 'gzip', 'content-type': 'application/json' } });
        assert.equal(told(got, 'tokens').left, 100_000 - Math.ceil(body.length / 4));
    });

    test('of a request that no model was asked for none are used', async (t) => {
        const g = await limited(t, ['--tpm', '1000']);
        checkError(await send(g, '/v1/responses', { input: 'x'.repeat(2000), previous_response_id: 'resp_none' }), 400);
        g.up.next(failure(400, 'no'));
        await send(g, '/v1/responses', { input: 'x'.repeat(2000) });
        g.up.next(failure(500, 'no'));
        await send(g, CHAT, { messages: [{ role: 'user', content: 'x'.repeat(2000) }] });
        const got = await ask(g.daemon, '{', { headers: bearer(KEY) });
        assert.equal(told(got, 'tokens').left, 1000);
    });

    test('a request with more than a minute brings is let in when nothing was used', async (t) => {
        const g = await limited(t, ['--tpm', '100']);
        g.up.next(stream([...frames(chunk({ content: 'x' })), CLOSE]));
        await send(g, '/v1/responses', { input: 'x'.repeat(1000) });
        const refused = await send(g, '/v1/responses', { input: 'Hi' });
        assert.ok(checkRefused(refused, 'tokens', '100 per minute') > 60);
        assert.ok(told(refused, 'tokens').fullMs > 60_000);
    });
});

/* An answer that begins and waits to be let go. */
function held(path, body) {
    let release;
    const later = new Promise((done) => (release = done));
    const pieces = body.stream || path.startsWith('/v1/responses')
        ? [...frames(chunk({ content: 'on ' })), later, ...frames(chunk({ content: 'late' }, 'stop'), '[DONE]')]
        : ['{"object":', later, '"x"}'];
    return [stream(pieces, body.stream || path.startsWith('/v1/responses') ? undefined : { 'content-type': 'application/json' }), release];
}

describe('requests at a time', () => {
    for (const [path, body, said] of routes) {
        test(`${nameOf(path, body)}: one more waits outside until one has ended`, async (t) => {
            const g = await limited(t, ['--concurrency', '1']);
            const [late, release] = held(path, body);
            g.up.next(late);
            const running = open(g.daemon, { model: 'm', ...body }, { path, headers: bearer(KEY) });
            await until(() => g.up.requests.length > 0);
            const refused = await send(g, path, body);
            assert.equal(checkRefused(refused, 'concurrent requests', '1'), 1);
            release();
            assert.equal((await running.done).status, 200);
            for (let i = 0; i < 10; i++) {
                g.up.next(said());
                const got = await send(g, path, body);
                assert.equal(got.status, 200, got.text);
            }
        });
    }

    test('however a request ends, its place is free', async (t) => {
        const g = await limited(t, ['--concurrency', '1']);
        const free = () => until(async () => (await send(g, '/v1/responses', { input: 'Hi' })).status, (status) => status === 200);
        for (const how of [failure(500, 'no'), failure(400, 'no'), stream([...frames(chunk({ content: 'x' })), CLOSE])]) {
            g.up.next(how);
            await send(g, '/v1/responses', { input: 'Hi' }).catch(() => {});
            await free();
        }
        for (const [path, body] of routes.filter(([, { stream: streams }]) => streams)) {
            const [late, release] = held(path, body);
            g.up.next(late);
            const running = open(g.daemon, { model: 'm', ...body }, { path, headers: bearer(KEY) });
            await running.until('on ');
            running.request.destroy();
            release();
            await pause(50);
            await free();
        }
        checkError(await send(g, '/v1/responses', { input: 'Hi', previous_response_id: 'resp_none' }), 400);
        await free();
    });
});

describe('a background response', () => {
    test('counts when it is accepted, and not again when it runs', async (t) => {
        const g = await limited(t, ['--rpm', '2', '--tpm', '1000', '--concurrency', '1']);
        g.up.next(answer(100, 50));
        const body = { input: 'Hi', background: true };
        const got = await send(g, '/v1/responses', body);
        assert.equal(got.json.status, 'queued', got.text);
        assert.equal(told(got, 'requests').left, 1);
        await until(async () => (await get(g.daemon, `/v1/responses/${got.json.id}`, { headers: bearer(KEY) })).json.status, (status) => status === 'completed');
        const after = await until(() => ask(g.daemon, '{', { headers: bearer(KEY) }), (now) => told(now, 'tokens').left <= 870);
        assert.equal(told(after, 'requests').left, 1);
        const { left } = told(after, 'tokens');
        assert.ok(left >= 850, `150 were used, ${left} are left`);
        g.up.next(answer());
        assert.equal((await send(g, '/v1/responses', { input: 'Hi' })).status, 200, 'its place is free');
    });
});

describe('client addresses, where no keys are asked for', () => {
    test('have the limits of the configuration', async (t) => {
        const { up, daemon } = await pair(t, '--limit-rpm', '2', '--limit-tpm', '5000', '--trusted-proxies', '127.0.0.1');
        up.next(answer(), answer(), answer());
        const from = (address) => ask(daemon, { model: 'm', input: 'Hi' }, { headers: { 'x-forwarded-for': address } });
        const first = await from('192.0.2.1');
        assert.deepEqual([told(first, 'requests').left, told(first, 'tokens').limit], [1, 5000]);
        assert.equal((await from('192.0.2.1')).status, 200);
        checkRefused(await from('192.0.2.1'), 'requests', '2 per minute');
        assert.equal((await from('192.0.2.2')).status, 200);
        up.next(answer(), answer());
        assert.equal((await from('2001:db8::1')).status, 200);
        assert.equal((await from('2001:db8::2')).status, 200);
        checkRefused(await from('2001:db8::3'), 'requests', '2 per minute');
    });

    test('with keys they are the defaults of names without a setting', async (t) => {
        const g = await limited(t, ['--rpm', '0', '--tpm', '77'], { args: ['--limit-rpm', '1', '--limit-concurrency', '5'] });
        g.up.next(...Array.from({ length: 4 }, () => answer(1, 1)));
        assert.equal(told(await send(g, '/v1/responses', { input: 'Hi' }), 'requests'), undefined);
        assert.equal(told(await send(g, '/v1/responses', { input: 'Hi' }), 'tokens').limit, 77);
        assert.equal(told(await send(g, '/v1/responses', { input: 'Hi' }, OTHER), 'requests').limit, 1);
        checkRefused(await send(g, '/v1/responses', { input: 'Hi' }, OTHER), 'requests', '1 per minute');
    });
});

describe('models', () => {
    const ALLOWED = ['--models', 'qwen3*,gpt-oss-20b'];

    test('that a key may not ask for do not exist, on every route', async (t) => {
        const g = await limited(t, ALLOWED, { args: ['--relay', 'all', '--model-alias', 'fast=qwen3-8b'] });
        const all = [...routes, ['/v1/responses/input_tokens', { input: 'Hi' }], ['/v1/rerank', { query: 'x' }], ['/v1/responses', { input: 'Hi', background: true }]];
        for (const [path, body] of all) {
            for (const model of ['gpt-4', 'fast', 'xqwen3', 'gpt-oss-20b-x', 'a"b\u00e9']) {
                const error = checkError(await send(g, path, { ...body, model }), 404, 'model_not_found', 'model');
                assert.equal(error.message, `The model '${model}' does not exist.`);
            }
        }
        const ws = await webSocket(t, g.daemon, { headers: bearer(KEY) });
        assert.equal((await ws.refused({ input: 'Hi', model: 'gpt-4' })).error.code, 'model_not_found');
        assert.equal(g.up.requests.filter(({ method }) => method === 'POST').length, 0);
        for (const [path, body, said] of routes) {
            g.up.next(said());
            assert.equal((await send(g, path, { ...body, model: 'qwen3-8b' })).status, 200, path);
        }
        g.up.next(answer());
        assert.equal((await send(g, '/v1/responses', { input: 'Hi', model: 'gpt-4' }, OTHER)).status, 200);
    });

    test('of a body that is passed on whatever a server may take for the name counts', async (t) => {
        const g = await limited(t, ALLOWED, { args: ['--relay', 'all'] });
        const bad = [
            '{"model":"qwen3-8b","model":"gpt-4"}',
            '{"model":"gpt-4","model":"qwen3-8b"}',
            '{"model":"qwen3-8b","mod\\u0065l":"gpt-4"}',
            '{"model":"qwen3-8b","Model":"gpt-4"}',
            '{"model":["gpt-4"]}',
            '{"model":null}',
            '{"messages":[]}',
            '{"model":"qwen3-8b"',
            '[{"model":"qwen3-8b"}]',
            `{"pad":"${'x'.repeat(100_000)}","model":"gpt-4"}`,
        ];
        for (const body of bad) {
            for (const path of [CHAT, '/v1/completions', '/v1/embeddings', '/v1/images/generations'])
                checkError(await ask(g.daemon, body, { path, headers: bearer(KEY) }), 404, 'model_not_found', 'model');
        }
        const form = { ...bearer(KEY), 'content-type': 'multipart/form-data; boundary=x' };
        checkError(await ask(g.daemon, '--x\r\n', { path: '/v1/audio/transcriptions', headers: form }), 404, 'model_not_found');
        checkError(await ask(g.daemon, gzipSync('{"model":"gpt-4"}'), { path: CHAT, headers: { ...bearer(KEY), 'content-encoding': 'gzip' } }), 404, 'model_not_found');
        assert.equal(g.up.requests.length, 0);
        g.up.next(completion(1, 1), completion(1, 1));
        assert.equal((await ask(g.daemon, `{"pad":"${'x'.repeat(100_000)}","model":"qwen3"}`, { path: CHAT, headers: bearer(KEY) })).status, 200);
        assert.equal((await ask(g.daemon, gzipSync('{"model":"qwen3"}'), { path: CHAT, headers: { ...bearer(KEY), 'content-encoding': 'gzip' } })).status, 200);
    });

    test('of chat completions with tools the requested name counts, not what an alias makes of it', async (t) => {
        const path = folder(t, 'keys');
        writeFileSync(path, lineOf('alice', KEY, '--models', 'fast', '--concurrency', '1', '--rpm', '50', '--tpm', '1000'), { mode: 0o600 });
        const fake = await startMcp();
        const g = await gateway(t, { servers: { fake }, headers: bearer(KEY), args: ['--api-keys-file', path, '--model-alias', 'fast=big', '--chat-tools', 'all'] });
        const post = (model) => ask(g.daemon, { model, messages: [{ role: 'user', content: 'Hi' }] }, { path: CHAT, headers: bearer(KEY) });
        checkError(await post('big'), 404, 'model_not_found', 'model');
        for (let i = 0; i < 3; i++) {
            g.up.next(completion(100, 20));
            const got = await post('fast');
            assert.equal(got.status, 200, got.text);
            assert.equal(g.up.requests.at(-1).body.model, 'big');
            assert.ok(g.up.requests.at(-1).body.tools.length > 0, 'it is no relay');
            assert.ok(told(got, 'tokens').left >= 1000 - 120 * i - 30 && told(got, 'tokens').left < 1000 - 120 * i + 10, `${told(got, 'tokens').left} after ${i}`);
        }
    });

    for (const extras of ['on', 'off']) {
        test(`only allowed ones are listed and found (models_extras ${extras})`, async (t) => {
            const g = await limited(t, ALLOWED, { args: ['--relay', 'all', ...(extras === 'off' ? ['--no-models-extras'] : []), '--model-alias', 'fast=qwen3-8b', '--model-alias', 'qwen3-fast=secret'] });
            const ids = ['gpt-4', 'qwen3-8b', 'gpt-oss-20b', 'secret'];
            const list = json(200, { object: 'list', data: ids.map((id) => ({ id, object: 'model' })), models: ids.map((name) => ({ name, model: name })), first_id: 'gpt-4' });
            g.up.always(({ path }) => (path.endsWith('/models') ? list : json(200, { id: decodeURIComponent(path.split('/').at(-1)), object: 'model' })));
            const shown = async (key) => (await get(g.daemon, '/v1/models', { headers: bearer(key) }));
            const got = await shown(KEY);
            assert.equal(got.status, 200, got.text);
            const wanted = extras === 'on' ? ['qwen3-8b', 'gpt-oss-20b', 'qwen3-fast'] : ['qwen3-8b', 'gpt-oss-20b'];
            assert.deepEqual(got.json.data.map(({ id }) => id), wanted);
            assert.doesNotMatch(got.text.replaceAll('qwen3-fast', ''), /gpt-4|secret|"fast"/);
            assert.ok((await shown(OTHER)).json.data.length >= 4);
            for (const [path, status] of [['gpt-4', 404], ['fast', 404], ['qwen3-8b', 200], ['gpt%2doss-20b', 200]])
                assert.equal((await get(g.daemon, `/v1/models/${path}`, { headers: bearer(KEY) })).status, status, path);
            const error = checkError(await get(g.daemon, '/v1/models/gpt-4', { headers: bearer(KEY) }), 404, 'model_not_found', 'model');
            assert.equal(error.message, "The model 'gpt-4' does not exist.");
            for (const path of ['/v1/%6dodels', '/v1/v1/models', '/v1//models', '/v1/models/', '/v1/model%73/gpt-4']) {
                const odd = await get(g.daemon, path, { headers: bearer(KEY) });
                assert.doesNotMatch(odd.text, /"gpt-4"|secret"/, path);
            }
            checkError(await get(g.daemon, '/v1/models/gpt-4', { method: 'DELETE', headers: bearer(KEY) }), 404);
        });
    }

    test('a list that cannot be read is not shown in part', async (t) => {
        const g = await limited(t, ALLOWED);
        for (const answerOf of [json(200, { models: 'gpt-4' }), { headers: { 'content-type': 'application/json', 'content-encoding': 'gzip' }, pieces: [gzipSync('{"data":[{"id":"gpt-4"}]}')] }]) {
            g.up.always(answerOf);
            const got = await get(g.daemon, '/v1/models', { headers: bearer(KEY) });
            checkError(got, 502, 'upstream_error');
        }
        const large = await limited(t, ALLOWED, { args: ['--max-line', '1KiB'] });
        large.up.always(json(200, { data: [{ id: 'gpt-4', pad: 'x'.repeat(5000) }] }));
        checkError(await get(large.daemon, '/v1/models', { headers: bearer(KEY) }), 502, 'upstream_error');
        assert.equal((await get(large.daemon, '/v1/models', { headers: bearer(OTHER) })).json.data.length, 1);
    });
});

describe('headers of an upstream', () => {
    const THEIRS = { 'x-ratelimit-limit-requests': '7', 'x-ratelimit-remaining-tokens': '8', 'x-ratelimit-limit-project-tokens': '9' };
    const withTheirs = (said) => ({ ...said, headers: { ...said.headers, ...THEIRS } });

    test('pass on relays, unless the gateway tells its own', async (t) => {
        const g = await limited(t, ['--rpm', '5']);
        g.up.next(withTheirs(completion(1, 1)), withTheirs(completion(1, 1)), withTheirs(answer()));
        const other = await send(g, CHAT, { messages: [] }, OTHER);
        for (const [name, value] of Object.entries(THEIRS))
            assert.equal(other.headers[name], value);
        const got = await send(g, CHAT, { messages: [] });
        assert.equal(got.headers['x-ratelimit-limit-requests'], '5');
        assert.equal(got.headers['x-ratelimit-remaining-tokens'], undefined);
        assert.equal(got.headers['x-ratelimit-limit-project-tokens'], undefined);
        const response = await send(g, '/v1/responses', { input: 'Hi' }, OTHER);
        assert.equal(response.headers['x-ratelimit-limit-requests'], undefined);
    });
});

describe('keys', () => {
    test('that have expired are refused as such, also on a connection that is open', async (t) => {
        const soon = new Date(Date.now() + 2500).toISOString().replace(/\.\d+Z/, 'Z');
        const g = await limited(t, ['--expires', soon], { more: lineOf('old', 'sk-old', '--expires', '2020-02-29'), args: ['--metrics', 'open'] });
        const error = checkError(await send(g, '/v1/responses', { input: 'Hi' }, 'sk-old'), 401, 'invalid_api_key', null);
        assert.equal(error.message, 'The API key has expired.');
        await g.daemon.logged(/ rejected reason=expired /);
        const ws = await webSocket(t, g.daemon, { headers: bearer(KEY) });
        g.up.next(answer());
        await ws.respond({ input: 'Hi' });
        await pause(Math.max(0, Date.parse(soon) - Date.now()) + 50);
        checkError(await send(g, '/v1/responses', { input: 'Hi' }), 401, 'invalid_api_key');
        assert.deepEqual([(await ws.refused({ input: 'Hi' })).status], [401]);
        await ws.until(() => ws.closeCode !== undefined, 'the close');
        assert.equal(ws.closeCode, 1008);
        assert.ok((await scrape(g.daemon)).value('antiphon_rejected_total', { reason: 'expired' }) >= 2);
    });

    test('that are removed close their WebSocket with 1008, after the turn that runs', async (t) => {
        const g = await limited(t, []);
        const ws = await webSocket(t, g.daemon, { headers: bearer(OTHER) });
        const [late, release] = held('/v1/responses', { stream: true });
        g.up.next(late);
        ws.create({ input: 'Hi' });
        await ws.next((m) => m.type === 'response.output_text.delta');
        writeFileSync(g.path, lineOf('alice', KEY), { mode: 0o600 });
        g.daemon.child.kill('SIGHUP');
        await g.daemon.logged(/ reload part=keys result=ok/);
        assert.equal((await ws.refused({ input: 'more' })).error.code, 'invalid_api_key');
        assert.equal(ws.closeCode, undefined);
        release();
        assert.equal((await ws.ends()).type, 'response.completed');
        await ws.until(() => ws.closeCode !== undefined, 'the close');
        assert.equal(ws.closeCode, 1008);
    });

    test('HUP changes what their names may, from the next request on', async (t) => {
        const g = await limited(t, ['--rpm', '1']);
        g.up.next(...Array.from({ length: 8 }, () => answer()));
        const ws = await webSocket(t, g.daemon, { headers: bearer(KEY) });
        assert.equal((await send(g, '/v1/responses', { input: 'Hi' })).status, 200);
        checkRefused(await send(g, '/v1/responses', { input: 'Hi' }), 'requests', '1 per minute');
        await g.reload([]);
        assert.equal((await send(g, '/v1/responses', { input: 'Hi' })).status, 200);
        assert.equal((await ws.respond({ input: 'Hi' })).status, 'completed');
        await g.reload(['--rpm', '3', '--models', 'm']);
        const got = await send(g, '/v1/responses', { input: 'Hi' });
        assert.equal(told(got, 'requests').limit, 3);
        assert.equal((await ws.refused({ input: 'Hi', model: 'other' })).error.code, 'model_not_found');
    });

    test('the configuration\'s limits change with it', async (t) => {
        const config = folder(t, 'config.json');
        const write = (settings) => writeFileSync(config, JSON.stringify(settings), { mode: 0o600 });
        write({ limit_rpm: 1 });
        const { up, daemon } = await pair(t, '--config', config);
        up.next(answer(), answer(), answer());
        assert.equal(told(await ask(daemon, { model: 'm', input: 'Hi' }), 'requests').limit, 1);
        checkRefused(await ask(daemon, { model: 'm', input: 'Hi' }), 'requests', '1 per minute');
        write({});
        daemon.child.kill('SIGHUP');
        await daemon.logged(/ reload part=settings result=ok/);
        await until(async () => told(await ask(daemon, { model: 'm', input: 'Hi' }), 'requests'), (seen) => seen === undefined);
    });
});

test('what is refused is counted, and leaves a line that shows no key', async (t) => {
    const g = await limited(t, ['--rpm', '3', '--tpm', '6000', '--concurrency', '1', '--models', 'm'], { args: ['--metrics', 'open'] });
    const [late, release] = held('/v1/responses', { stream: true });
    const before = (await scrape(g.daemon));
    g.up.next(late);
    await send(g, '/v1/responses', { input: 'Hi', model: 'other' });
    const running = open(g.daemon, { model: 'm', input: 'Hi', stream: true }, { headers: bearer(KEY) });
    await running.until('on ');
    await send(g, '/v1/responses', { input: 'Hi' });
    release();
    await running.done;
    g.up.next(answer(1, 7000), answer());
    await send(g, '/v1/responses', { input: 'Hi' });
    await send(g, '/v1/responses', { input: 'Hi' });
    const page = await scrape(g.daemon);
    for (const reason of ['model', 'concurrency', 'tpm']) {
        assert.equal(page.value('antiphon_rejected_total', { reason }) - before.value('antiphon_rejected_total', { reason }), 1, reason);
        await g.daemon.logged(new RegExp(` info rejected reason=${reason} method=POST path=/v1/responses client=127\\.0\\.0\\.1 request_id=\\S+ error=\\w+ owner=alice`));
    }
    assert.equal(page.value('antiphon_rejected_total', { reason: 'bad_request' }), before.value('antiphon_rejected_total', { reason: 'bad_request' }));
    assert.ok(!g.daemon.log.includes(KEY));
});

test('antiphon key writes settings, and says what is wrong with them without showing it', () => {
    const got = keyCommand(['alice', '--models', 'qwen3*,x', '--rpm', '60', '--tpm=200000', '--concurrency', '4', '--weight', '2', '--priority', 'low', '--expires', '2027-03-31', '--admin']);
    assert.equal(got.status, 0);
    assert.match(got.stdout, /\n {4}alice [0-9a-f]{64} models=qwen3\*,x rpm=60 tpm=200000 concurrency=4 weight=2 priority=low expires=2027-03-31 admin\n$/);
    for (const [args, message] of [
        [['a', '--rpm', 'hush'], /rpm= must be a whole number/],
        [['a', '--expires', 'hush'], /expires= must be a day/],
        [['a', '--rpm', '1', '--rpm', '2'], /rpm is given twice/],
        [['a', 'sk-hush'], /only settings may stand/],
        [['a', '--hush'], /only settings may stand/],
        [['a', '--store', '1GiB'], /not supported yet/],
        [['--rpm', '1'], /usage: /],
    ]) {
        const wrong = keyCommand(args);
        assert.deepEqual([wrong.status, wrong.stdout], [2, ''], args.join(' '));
        assert.match(wrong.stderr, message);
        assert.doesNotMatch(wrong.stderr, /hush/);
    }
    assert.match(keyCommand(['--help']).stdout, /--models NAME,\.\.\.\n/);
});
