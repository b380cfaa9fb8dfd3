/* upstream_kind.test.mjs -- servers of many kinds in front of which nobody has set a flag: what the
 * gateway finds out, that the first request already goes by it, and servers that do not want to be
 * found out.
 *
 * What the scripted servers say about themselves is as real ones do: tests/data/upstream_kinds has
 * recordings of llama.cpp; the others are documented where they are written. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import test, { describe } from 'node:test';
import { ask, get, open } from '../lib/client.mjs';
import { BINARY, ENVIRONMENT, ROOT, startDaemon } from '../lib/daemon.mjs';
import { folder } from '../lib/folder.mjs';
import { ABOUT_TIME } from '../lib/patience.mjs';
import { HANG, chunk, frames, json, startUpstream, stream, textStream } from '../lib/upstream.mjs';

const recorded = (name) => readFileSync(join(ROOT, 'tests/data/upstream_kinds', name), 'utf8');
const pause = (ms) => new Promise((done) => setTimeout(done, ms));
/* No server is asked more often than every second: what is to be asked again has to wait so long. */
const untilAskedAgain = () => pause(1100);
/* What is asked after an answer, perhaps wrongly, needs a moment. */
const probesToo = () => pause(200);
const tool = (name) => ({ type: 'function', name });
const CHOSEN = { model: 'tiny', input: 'Hi', tools: [tool('a'), tool('b')], tool_choice: tool('b') };
const QUIET = { model: 'tiny', input: 'Hi', reasoning: { effort: 'none' } };
const thought = (text) => ({ type: 'reasoning', content: [{ type: 'reasoning_text', text }] });

/* ---- servers: from a path to an answer */

const models = (owned_by, more = {}) => json(200, { object: 'list', data: [{ id: 'tiny', object: 'model', created: 1, owned_by, ...more }] });
const of = (paths, missing, headers = {}) => ({ path }) => {
    const answer = paths[path] ?? missing;
    return { ...answer, headers: { ...answer.headers, ...headers } };
};

const LLAMA_CPP = of({
    '/v1/models': json(200, recorded('llama_cpp_models.json')),
    '/props': json(200, recorded('llama_cpp_props.json')),
}, json(404, recorded('llama_cpp_not_found.json')), { server: 'llama.cpp' });

/* Starlette answers {"detail":"Not Found"} to other paths, uvicorn names itself. */
const FASTAPI = json(404, { detail: 'Not Found' });
const UVICORN = { server: 'uvicorn' };

/* vLLM, documentation of its OpenAI server: owned_by, root and max_model_len of a model; /version. */
const VLLM = of({
    '/v1/models': models('vllm', { root: 'Qwen/Qwen3-8B', parent: null, max_model_len: 40960 }),
    '/version': json(200, { version: '0.11.0' }),
}, FASTAPI, UVICORN);

/* SGLang, documentation of its native API. */
const SGLANG = of({
    '/v1/models': models('sglang', { root: '/models/qwen', max_model_len: 32768 }),
    '/get_server_info': json(200, { model_path: '/models/qwen', version: '0.5.3', internal_states: [{}] }),
}, FASTAPI, UVICORN);

/* Ollama, documentation of its API; gin's words for a path that it has not. */
const OLLAMA = of({
    '/v1/models': models('library'),
    '/api/version': json(200, { version: '0.12.3' }),
    '/api/ps': json(200, { models: [] }),
}, { status: 404, headers: { 'content-type': 'text/plain' }, pieces: ['404 page not found'] });

/* LM Studio, issues 618 and 2085 of lmstudio-bug-tracker: status 200 for what it has not. */
const lmstudio = (owner) => ({ path }) => path === '/v1/models' ? models(owner) : path === '/api/v0/models' ? json(200, { object: 'list', data: [] })
    : json(200, { error: `Unexpected endpoint or method. (GET ${path})` }, { 'x-powered-by': 'Express' });

/* A proxy of its own kind, LiteLLM: all models are OpenAI's. */
const PROXY = of({ '/v1/models': models('openai') }, FASTAPI, UVICORN);

/* ---- gateways */

async function meet(t, probed, ...args) {
    const up = await startUpstream();
    up.probed = probed;
    t.after(() => up.close());
    const daemon = await startDaemon({ upstream: up.url, args });
    t.after(() => daemon.stop());
    return { up, daemon };
}

/* Returns when the daemon has read the request: its only worker has answered one that came later. */
async function isRead(daemon, call) {
    await once(call.request, 'finish');
    assert.equal((await get(daemon, '/health')).status, 200);
}

async function sent({ up, daemon }, request) {
    const answer = await ask(daemon, request);
    assert.equal(answer.status, 200, answer.text);
    return up.requests.at(-1).body;
}

const choice = (body) => [body.tools?.map((t) => t.function.name).join(), body.tool_choice?.function?.name ?? body.tool_choice];
const FULL = ['a,b', 'b'], STRINGS = ['b', 'required'], AUTO = ['b', 'auto'];
const asked = (up) => up.probes.map((probe) => probe.path).join(' ');

describe('servers that are recognised', { concurrency: false }, () => {
    for (const [kind, by, version, probed, paths, wanted, switches] of [
        ['llama.cpp', 'server_header', 'b9999-d32676d77', LLAMA_CPP, '/v1/models /props', STRINGS, true],
        ['vllm', 'models', '0.11.0', VLLM, '/v1/models /version', FULL, true],
        ['sglang', 'models', '0.5.3', SGLANG, '/v1/models /get_server_info /get_model_info /model_info', FULL, true],
        ['ollama', 'models', '0.12.3', OLLAMA, '/v1/models /api/version /api/ps /api/show', AUTO, false],
        ['lmstudio', 'models', null, lmstudio('organization_owner'), '/v1/models /api/v0/models', STRINGS, false],
        ['lmstudio', 'error', null, lmstudio('someone'), '/v1/models /props /api/v0/models', STRINGS, false],
    ]) {
        test(`${kind}, by ${by}: the first request is right`, async (t) => {
            const slow = async (request) => (await pause(50), probed(request)); /* the first request has to wait for it */
            const g = await meet(t, slow);
            assert.deepEqual(choice(await sent(g, CHOSEN)), wanted);
            const { chat_template_kwargs } = await sent(g, QUIET);
            assert.deepEqual(chat_template_kwargs, switches ? { enable_thinking: false } : undefined);
            const line = `upstream recognised"? kind=${kind.replace('.', '\\.')} by=${by}${version ? ` version=${version.replaceAll('.', '\\.')}` : ''}\n`;
            await g.daemon.logged(new RegExp(line));
            assert.equal(asked(g.up), paths);
            assert.equal(g.daemon.log.match(/upstream recognised/g).length, 1);
            assert.equal(g.up.requests.length, 2);
        });
    }

    test('keys of the operator win', async (t) => {
        const g = await meet(t, LLAMA_CPP, '--tool-choice-support', 'full', '--no-thinking-switch');
        assert.deepEqual(choice(await sent(g, CHOSEN)), FULL);
        assert.equal((await sent(g, QUIET)).chat_template_kwargs, undefined);
    });

    test('a kind that is configured is not looked for; llama.cpp is asked for its template all the same', async (t) => {
        const generic = await meet(t, LLAMA_CPP, '--upstream-kind', 'generic');
        assert.deepEqual(choice(await sent(generic, CHOSEN)), FULL);
        assert.equal(asked(generic.up), '');
        const own = await meet(t, VLLM, '--upstream-kind', 'llama.cpp');
        assert.deepEqual(choice(await sent(own, CHOSEN)), STRINGS);
        assert.equal(asked(own.up), '/v1/models /props');
    });

    test('upstream_probe_timeout 0 asks nothing', async (t) => {
        const g = await meet(t, LLAMA_CPP, '--upstream-probe-timeout', '0');
        assert.deepEqual(choice(await sent(g, CHOSEN)), FULL);
        assert.equal(asked(g.up), '');
    });

    test('all workers know, and ask once', async (t) => {
        const g = await meet(t, async (request) => (await pause(100), LLAMA_CPP(request)), '--workers', '4'); /* slow: all of them have to wait */
        await Promise.all(Array.from({ length: 24 }, () => ask(g.daemon, CHOSEN)));
        for (const { body } of g.up.requests)
            assert.deepEqual(choice(body), STRINGS);
        assert.equal(asked(g.up), '/v1/models /props');
    });

    test("the gateway's key is sent along, a client's never", async (t) => {
        const own = await meet(t, LLAMA_CPP, '--upstream-key', 'sk-own');
        await sent(own, CHOSEN);
        assert.deepEqual(own.up.probes.map((probe) => probe.headers.authorization), ['Bearer sk-own', 'Bearer sk-own']);
        const none = await meet(t, LLAMA_CPP);
        await ask(none.daemon, CHOSEN, { headers: { authorization: 'Bearer sk-client' } });
        assert.deepEqual(none.up.probes.map((probe) => probe.headers.authorization), [undefined, undefined]);
    });
});

describe('what else they tell', { concurrency: false }, () => {
    const HISTORY = [thought('t'), { role: 'assistant', content: 'a' }, { role: 'user', content: 'u' }];

    test("the chat template of llama.cpp decides what its model's messages look like", async (t) => {
        /* Words of Mistral's templates. */
        const props = { ...JSON.parse(recorded('llama_cpp_props.json')), chat_template: '{{ raise_exception("Tool call IDs should be alphanumeric strings with length 9!") }}' };
        const g = await meet(t, (request) => request.path === '/props' ? json(200, props) : LLAMA_CPP(request));
        const { messages } = await sent(g, { model: 'tiny', input: [{ role: 'user', content: 'u' },
            { type: 'function_call', call_id: 'call_1', name: 'f', arguments: '{}' },
            { type: 'function_call_output', call_id: 'call_1', output: 'o' }] });
        assert.match(messages[1].tool_calls[0].id, /^[0-9A-Za-z]{9}$/);
    });

    test('the file of the model tells its family when its name does not', async (t) => {
        const props = { ...JSON.parse(recorded('llama_cpp_props.json')), model_path: '/srv/mistralai_Mistral-7B-Instruct-v0.3-Q4_K_M.gguf' };
        const g = await meet(t, (request) => request.path === '/props' ? json(200, props) : LLAMA_CPP(request));
        const { messages } = await sent(g, { model: 'tiny', input: HISTORY });
        assert.equal(messages[0].reasoning_content, undefined); /* Mistral has no place for it */
    });

    test('so does the root of a model in the list', async (t) => {
        const list = json(200, { data: [{ id: 'other', owned_by: 'vllm', root: 'Qwen/Qwen3-8B' }, { id: 'tiny', owned_by: 'vllm', root: 'mistralai/Mistral-7B' }] });
        const g = await meet(t, (request) => request.path === '/v1/models' ? list : VLLM(request));
        assert.equal((await sent(g, { model: 'tiny', input: HISTORY })).messages[0].reasoning_content, undefined);
        assert.equal((await sent(g, { model: 'unheard-of', input: HISTORY })).messages[0].reasoning_content, 't');
    });
});

describe('servers that do not tell', { concurrency: false }, () => {
    const page = { status: 200, headers: { 'content-type': 'text/html' }, pieces: ['<!DOCTYPE html><title>vllm llama.cpp</title>'] };
    const elsewhere = { status: 302, headers: { location: '/v1/models' }, pieces: [] };
    const endless = { status: 200, headers: { 'content-type': 'application/json' }, pieces: ['[', ...Array(128).fill('"llamacpp",'.repeat(4096)), HANG] };

    for (const [what, probed] of [
        ['a page for people', () => page],
        ['redirects', () => elsewhere],
        ['401', () => json(401, { error: { message: 'No key', type: 'invalid_request_error' } })],
        ['500', () => json(500, {})],
        ['an empty answer', () => ({ status: 200, pieces: [] })],
        ['a proxy for many', PROXY],
    ]) {
        test(`${what}: generic, and everything is answered`, async (t) => {
            const g = await meet(t, probed);
            assert.deepEqual(choice(await sent(g, CHOSEN)), FULL);
            assert.doesNotMatch(g.daemon.log, /upstream recognised/);
            await g.daemon.logged(/upstream not recognised"? kind=generic why=unknown_server\n/);
        });
    }

    test('401 with a Server header: by that', async (t) => {
        const g = await meet(t, () => json(401, { error: { code: 401, message: 'Invalid API Key', type: 'authentication_error' } }, { server: 'llama.cpp' }));
        assert.deepEqual(choice(await sent(g, CHOSEN)), STRINGS);
    });

    test('an answer without end is left, and the next path asked', async (t) => {
        const g = await meet(t, (request) => request.path === '/v1/models' ? endless : VLLM(request), '--upstream-probe-timeout', '20s');
        assert.deepEqual(choice(await sent(g, QUIET)), [undefined, undefined]);
        assert.equal(asked(g.up), '/v1/models /props /version');
        await g.daemon.logged(/upstream recognised"? kind=vllm by=version version=0\.11\.0/);
    });

    test('hanging on /props: what is known counts, and nobody waits longer than upstream_probe_timeout', { skip: ABOUT_TIME }, async (t) => {
        const g = await meet(t, (request) => request.path === '/props' ? { before: [HANG] } : LLAMA_CPP(request), '--upstream-probe-timeout', '2s');
        const before = performance.now();
        assert.deepEqual(choice(await sent(g, CHOSEN)), STRINGS);
        const first = performance.now() - before;
        assert.ok(first < 3500, `${first} ms`);
        const again = performance.now();
        assert.deepEqual(choice(await sent(g, CHOSEN)), STRINGS);
        assert.ok(performance.now() - again < 1500, 'the second waits for nothing');
    });

    test('hanging on everything: the first turn goes on without, the next at once', { skip: ABOUT_TIME }, async (t) => {
        const g = await meet(t, () => ({ before: [HANG] }), '--upstream-probe-timeout', '2s');
        assert.deepEqual(choice(await sent(g, CHOSEN)), FULL);
        const again = performance.now();
        assert.deepEqual(choice(await sent(g, CHOSEN)), FULL);
        assert.ok(performance.now() - again < 1500, 'nobody waits again');
        await g.daemon.logged(/upstream not recognised"? kind=generic why=no_answer\n/);
    });

    test('a client that leaves while its turn waits', async (t) => {
        const g = await meet(t, () => ({ before: [HANG] }), '--upstream-probe-timeout', '500ms', '--workers', '1');
        const left = open(g.daemon, CHOSEN);
        await isRead(g.daemon, left);
        left.request.destroy();
        await g.daemon.logged(/ turn route=\/v1\/responses status=client_gone/); /* of no model: it has not been read */
        assert.equal((await ask(g.daemon, CHOSEN)).status, 200);
        assert.equal(g.up.requests.length, 1);
    });

    test('the daemon ends while a turn waits', async (t) => {
        const g = await meet(t, () => ({ before: [HANG] }), '--upstream-probe-timeout', '60s', '--drain-timeout', '200ms', '--workers', '1');
        const waiting = open(g.daemon, CHOSEN);
        await isRead(g.daemon, waiting);
        const stopped = g.daemon.stop();
        assert.equal((await waiting.done).status, 503);
        await stopped;
    });
});

describe('what answers say', { concurrency: false }, () => {
    test('a fingerprint: from the second request on', async (t) => {
        const g = await meet(t, PROXY);
        g.up.always(stream(frames(...[chunk({ content: 'Hi' }), chunk({}, 'stop')].map((c) => ({ ...c, system_fingerprint: 'b7000-0123abcde' })), '[DONE]')));
        assert.deepEqual(choice(await sent(g, CHOSEN)), FULL);
        await g.daemon.logged(/upstream recognised"? kind=llama\.cpp by=fingerprint version=b7000-0123abcde/);
        assert.deepEqual(choice(await sent(g, CHOSEN)), STRINGS);
    });

    test('a Server header of another server: it is asked again', async (t) => {
        const g = await meet(t, VLLM);
        const answer = textStream('Hi');
        g.up.always({ ...answer, headers: { ...answer.headers, server: 'uvicorn' } });
        assert.deepEqual(choice(await sent(g, CHOSEN)), FULL);
        await untilAskedAgain();
        g.up.probed = LLAMA_CPP;
        g.up.always({ ...answer, headers: { ...answer.headers, server: 'llama.cpp' } });
        await sent(g, CHOSEN);
        await g.daemon.logged(/upstream recognised"? kind=llama\.cpp/);
        assert.deepEqual(choice(await sent(g, CHOSEN)), STRINGS);
    });

    /* llama-swap: a proxy that starts servers, whose answers keep the header of what answered. */
    const SWAP = of({
        '/v1/models': json(200, { data: ['a', 'b'].map((id) => ({ id, object: 'model', owned_by: 'llama-swap' })) }),
        '/api/version': json(200, { version: '170', commit: 'abcdef0', build_date: '2026-01-01' }),
    }, json(404, {}));

    test('a proxy that passes on the Server header: by that, and it stays so', async (t) => {
        const g = await meet(t, SWAP);
        const answer = textStream('Hi');
        g.up.always({ ...answer, headers: { ...answer.headers, server: 'llama.cpp' } });
        assert.deepEqual(choice(await sent(g, CHOSEN)), FULL);
        for (let i = 0; i < 2; i++) {
            await untilAskedAgain();
            assert.deepEqual(choice(await sent(g, CHOSEN)), STRINGS);
        }
        assert.equal(asked(g.up), '/v1/models /props /api/version /model/info');
        assert.deepEqual(g.daemon.log.match(/kind=\S+( by=\S+)?/g), ['kind=generic', 'kind=llama.cpp by=server_header']);
    });

    test('a fingerprint from behind a gateway to several models says nothing about the others', async (t) => {
        const g = await meet(t, SWAP);
        g.up.always(stream(frames(...[chunk({ content: 'Hi' }), chunk({}, 'stop')].map((c) => ({ ...c, system_fingerprint: 'b7000-0123abcde' })), '[DONE]')));
        assert.deepEqual(choice(await sent(g, CHOSEN)), FULL);
        assert.deepEqual(choice(await sent(g, CHOSEN)), FULL);
    });

    test('servers that call themselves differently each time are asked more and more rarely', async (t) => {
        let n = 0;
        const g = await meet(t, (request) => ({ ...PROXY(request), headers: { 'content-type': 'application/json', server: `web-${n++}` } }));
        const answer = textStream('Hi');
        for (let i = 0; i < 5; i++) {
            g.up.always({ ...answer, headers: { ...answer.headers, server: `web-${n++}` } });
            await untilAskedAgain();
            await sent(g, CHOSEN);
        }
        await probesToo();
        const times = asked(g.up).split(' ').filter((path) => path === '/v1/models').length;
        assert.ok(times >= 2 && times <= 3, `${times} times`); /* not five, or six */
    });

    test('so is one that never answers some paths', async (t) => {
        const g = await meet(t, (request) => request.path === '/v1/models' ? models('openai') : json(503, {}));
        for (let i = 0; i < 5; i++) {
            await untilAskedAgain();
            await sent(g, CHOSEN);
        }
        const times = asked(g.up).split(' ').filter((path) => path === '/v1/models').length;
        assert.ok(times >= 2 && times <= 4, `${times} times`);
    });

    test('a proxy whose own header means nothing is asked again once', async (t) => {
        const g = await meet(t, VLLM);
        const answer = textStream('Hi');
        g.up.always({ ...answer, headers: { ...answer.headers, server: 'nginx' } });
        for (let i = 0; i < 3; i++) {
            await untilAskedAgain();
            await sent(g, CHOSEN);
        }
        await probesToo();
        assert.equal(asked(g.up), '/v1/models /version /v1/models /version');
    });
});

describe('servers that come and go', { concurrency: false }, () => {
    const socket = (t) => folder(t, 'up.sock');

    async function at(t, path, probed) {
        const up = await startUpstream(path);
        up.probed = probed;
        t.after(() => up.close().catch(() => {}));
        return up;
    }

    test('one that is started after the gateway is recognised by its first request', async (t) => {
        const path = socket(t);
        const daemon = await startDaemon({ upstream: `unix:${path}` });
        t.after(() => daemon.stop());
        assert.equal((await ask(daemon, CHOSEN)).status, 502);
        await untilAskedAgain();
        const up = await at(t, path, LLAMA_CPP);
        assert.deepEqual(choice(await sent({ up, daemon }, CHOSEN)), STRINGS);
        assert.equal(daemon.log.match(/not recognised"? kind=generic why=unreachable\n/g).length, 1);
    });

    test('one that is known by an answer before it was asked is asked all the same', async (t) => {
        const path = socket(t);
        const daemon = await startDaemon({ upstream: `unix:${path}` });
        t.after(() => daemon.stop());
        await daemon.logged(/why=unreachable/);
        const up = await at(t, path, LLAMA_CPP), answer = textStream('Hi');
        up.always({ ...answer, headers: { ...answer.headers, server: 'llama.cpp' } });
        await sent({ up, daemon }, CHOSEN); /* within the second in which nobody asks again */
        await untilAskedAgain();
        assert.deepEqual(choice(await sent({ up, daemon }, CHOSEN)), STRINGS);
        assert.equal(asked(up), '/v1/models /props');
    });

    test('one whose model is still being loaded is asked again', async (t) => {
        /* llama.cpp says so with 503 until it has loaded. */
        const loading = json(503, { error: { code: 503, message: 'Loading model', type: 'unavailable_error' } }, { server: 'llama.cpp' });
        const g = await meet(t, () => loading, '--loading-wait', '0s');
        g.up.next(loading);
        assert.equal((await ask(g.daemon, CHOSEN)).status, 503);
        await untilAskedAgain();
        g.up.probed = LLAMA_CPP;
        await sent(g, CHOSEN);
        assert.equal(asked(g.up), '/v1/models /props /v1/models /props');
        await g.daemon.logged(/kind=llama\.cpp by=server_header version=b9999-d32676d77/);
    });

    test('one that takes the place of another', async (t) => {
        const path = socket(t);
        const first = await at(t, path, LLAMA_CPP);
        const daemon = await startDaemon({ upstream: `unix:${path}` });
        t.after(() => daemon.stop());
        assert.deepEqual(choice(await sent({ up: first, daemon }, CHOSEN)), STRINGS);
        await first.close();
        assert.equal((await ask(daemon, CHOSEN)).status, 502);
        await untilAskedAgain();
        const second = await at(t, path, VLLM);
        assert.deepEqual(choice(await sent({ up: second, daemon }, CHOSEN)), FULL);
        await daemon.logged(/recognised"? kind=vllm/);
        assert.deepEqual(daemon.log.match(/recognised"? kind=\S+/g).map((line) => line.split('=')[1]), ['llama.cpp', 'vllm']);
    });
});

describe('antiphon serve --check-config', { concurrency: false }, () => {
    async function check(...args) {
        const child = spawn(BINARY, ['serve', '--check-config', ...args], { env: ENVIRONMENT });
        let out = '';
        child.stdout.setEncoding('utf8').on('data', (text) => (out += text));
        const status = await new Promise((done) => child.on('close', done));
        return { status, line: out.match(/^\/\/ kind of the upstream: (.*)$/m)?.[1], out };
    }

    test('says what was found', async (t) => {
        const up = await startUpstream();
        t.after(() => up.close());
        up.probed = LLAMA_CPP;
        assert.deepEqual((await check('--upstream', up.url)).line, 'llama.cpp, recognised by server_header, version b9999-d32676d77, context window 4096');
        assert.equal((await check('--upstream', up.url, '--upstream-kind', 'ollama')).line, 'ollama, as configured, context window 4096');
        up.probed = PROXY;
        assert.match((await check('--upstream', up.url)).line, /^generic: the upstream has answered/);
    });

    test('says when it cannot, and exits with 0', async () => {
        const nobody = await check('--upstream', 'unix:/nowhere/at/all.sock');
        assert.equal(nobody.status, 0);
        assert.match(nobody.line, /could not be reached/);
        assert.equal((await check('--upstream', 'https://api.openai.com')).line, 'openai, recognised by url');
        assert.match((await check('--upstream', 'unix:/nowhere', '--upstream-probe-timeout', '0')).line, /is not asked/);
        assert.equal((await check()).line, undefined);
    });

    test('is still a configuration', async (t) => {
        const path = folder(t, 'shown.json');
        const { out } = await check('--upstream', 'unix:/nowhere', '--no-thinking-switch');
        (await import('node:fs')).writeFileSync(path, out);
        assert.equal((await check('--config', path)).status, 0);
        assert.doesNotMatch(out, /"include_usage"/);
        assert.match(out, /"thinking_switch": "off"/);
    });
});

describe('an answer that was cut off', { concurrency: false }, () => {
    const user = { role: 'user', content: 'Count.' };

    async function goOn(t, probed) {
        const g = await meet(t, probed);
        g.up.next(textStream('One, two', { finish: 'length' }));
        const first = JSON.parse((await ask(g.daemon, { model: 'tiny', input: [user] })).text);
        assert.equal(first.status, 'incomplete');
        const items = await sent(g, { model: 'tiny', input: [user, ...first.output] });
        const kept = await sent(g, { model: 'tiny', previous_response_id: first.id, input: [] });
        const over = await sent(g, { model: 'tiny', input: [user, ...first.output, { role: 'user', content: 'Go on.' }] });
        return { items, kept, over };
    }

    test('vLLM goes on with it, sent back or kept', async (t) => {
        const { items, kept, over } = await goOn(t, VLLM);
        for (const body of [items, kept]) {
            assert.deepEqual(body.messages, [user, { role: 'assistant', content: 'One, two' }]);
            assert.deepEqual([body.add_generation_prompt, body.continue_final_message], [false, true]);
        }
        assert.deepEqual([over.add_generation_prompt, over.continue_final_message], [undefined, undefined]);
    });

    test('others are sent what they were', async (t) => {
        const { items, kept } = await goOn(t, LLAMA_CPP);
        for (const body of [items, kept]) {
            assert.deepEqual(body.messages, [user, { role: 'assistant', content: 'One, two' }]);
            assert.equal('continue_final_message' in body, false);
        }
    });
});

describe('request fields of servers', { concurrency: false }, () => {
    /* What vLLM has beyond the Chat API, in its documentation under "extra parameters". */
    const EXTRAS = { ignore_eos: false, skip_special_tokens: true, cache_salt: 's', priority: 1, mm_processor_kwargs: { a: 1 }, vllm_xargs: { b: 2 }, include_reasoning: true, kv_transfer_params: { c: 3 }, structured_outputs: { regex: 'a+' }, chat_template_kwargs: { d: 4 } };
    const OWN = { client_metadata: { a: 1 }, mirostat: 2 };
    const request = { model: 'tiny', input: 'Hi', ...EXTRAS, ...OWN };

    test('all of them reach vLLM, and what it does not know does not', async (t) => {
        const g = await meet(t, VLLM, '--log-level', 'debug');
        const answer = await ask(g.daemon, request);
        const { body } = g.up.requests[0];
        assert.deepEqual(Object.fromEntries(Object.keys(EXTRAS).map((name) => [name, body[name]])), EXTRAS);
        assert.deepEqual(Object.keys(body).slice(-Object.keys(EXTRAS).length), Object.keys(EXTRAS)); /* in their order */
        assert.equal(body.mirostat, undefined);
        assert.equal(answer.headers['x-antiphon-left-out'], 'client_metadata,mirostat');
        await g.daemon.logged(/ turn .*ignored_fields=2/);
    });

    test('elsewhere what is left out is named, in streams too; names are made safe and are few', async (t) => {
        const g = await meet(t, PROXY, '--log-level', 'debug');
        const many = Object.fromEntries(Array.from({ length: 30 }, (_, i) => [`f${i}`, 1]));
        const streamed = await ask(g.daemon, { ...request, stream: true });
        assert.equal(streamed.headers['x-antiphon-left-out'], 'ignore_eos,skip_special_tokens,cache_salt,priority,mm_processor_kwargs,vllm_xargs,include_reasoning,kv_transfer_params,client_metadata,mirostat');
        const strange = await ask(g.daemon, { model: 'm', input: 'Hi', 'a\r\nset-cookie: b': 1, 'é': 2, ['x'.repeat(100)]: 3, ...many });
        assert.equal(strange.headers['x-antiphon-left-out'], `a??set-cookie??b,??,${'x'.repeat(64)},${Object.keys(many).slice(0, 13).join()},...`);
        assert.equal(strange.headers['set-cookie'], undefined);
    });

    test('no header at other levels, and none when nothing is left out', async (t) => {
        const g = await meet(t, PROXY);
        assert.equal((await ask(g.daemon, request)).headers['x-antiphon-left-out'], undefined);
        const verbose = await meet(t, PROXY, '--log-level', 'debug');
        assert.equal((await ask(verbose.daemon, { model: 'm', input: 'Hi' })).headers['x-antiphon-left-out'], undefined);
    });

    test('pass_fields adds to what the kind takes, or replaces it', async (t) => {
        const more = await meet(t, VLLM, '--pass-fields', 'auto,miro*');
        assert.deepEqual([(await sent(more, request)).mirostat, more.up.requests[0].body.priority], [2, 1]);
        const only = await meet(t, VLLM, '--pass-fields', 'miro*');
        assert.deepEqual([(await sent(only, request)).mirostat, only.up.requests[0].body.priority], [2, undefined]);
    });
});
